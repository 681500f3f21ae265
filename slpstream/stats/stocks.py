"""Stocks: the lives of a player. Opens on the first frame in which the player is not dying, closes with the loss.

From the post-frame update: `action_state_id` (dying is 0x00 to 0x0A), `stocks_remaining`, `percent`. The percent at
the end is that of the frame before the loss.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from slpstream.stats.schema import Stock


class Stocks:
    """The lives of one player; `entries` is the list of the whole game, in opening order."""

    __slots__ = ("_at", "entries", "index", "open")

    def __init__(self, index: int, entries: list[Stock]) -> None:
        self.index = index
        self.entries = entries
        self.open: Stock | None = None
        self._at = 0

    def copy(self, entries: list[Stock]) -> Stocks:
        """An independent computer at the same place, on a copied list."""
        twin = Stocks(self.index, entries)
        if self.open is not None:
            twin._at = self._at
            twin.open = entries[self._at] = replace(self.open)
        return twin

    def spawn(self, frame: int, post: Any) -> Stock:
        """The player is not dying any more: a life begins."""
        self.open = stock = Stock(self.index, frame, current_percent=post.percent, count=post.stocks_remaining)
        self._at = len(self.entries)
        self.entries.append(stock)
        return stock

    def lose(self, frame: int, post: Any, percent: float) -> Stock | None:
        """A stock was lost in this frame; `percent` is that of the frame before."""
        stock = self.open
        if stock is not None:
            stock.end_frame = frame
            stock.end_percent = stock.current_percent = percent
            stock.death_animation = post.action_state_id
            self.open = None
        return stock

    def show(self, shown: list[Stock], percent: float) -> None:
        """Puts the life that still lasts into a copy of the list, as a value."""
        if self.open is not None:
            shown[self._at] = replace(self.open, current_percent=percent)
