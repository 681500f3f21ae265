"""Stocks, which are the lives of a player. A life begins in the first frame in which the player isn't dying, and ends
with its loss.

We use these Post-Frame fields: `action_state_id` (dying is 0x00 to 0x0A), `stocks_remaining` and `percent`. The percent
at the end is the one in the frame before the loss. In modes without stocks, a life ends in the first frame in which the
player is dying.
"""

from __future__ import annotations

from typing import Any

from msgspec import UnsetType
from msgspec.structs import replace

from slpstream.formats.slippi.stats.schema import Stock


class Stocks:
    """The lives of one player. `entries` is the list of the whole game, in the order in which they were opened."""

    __slots__ = ("_position", "entries", "given_up", "index", "open", "self_destructs")

    def __init__(self, index: int, entries: list[Stock]) -> None:
        self.index = index
        self.entries = entries
        self.open: Stock | None = None
        self._position = 0
        self.self_destructs = 0
        """Stocks lost without an open conversion and without a hitter."""
        self.given_up = 0
        """In a crew battle: stocks lost before the first hit."""

    def copy(self, entries: list[Stock]) -> Stocks:
        """Return a copy of this computer that is independent from then on.

        You have to pass a copy of the list as `entries`.
        """
        twin = Stocks(self.index, entries)
        twin.self_destructs, twin.given_up = self.self_destructs, self.given_up
        if self.open is not None:
            twin._position = self._position
            twin.open = entries[self._position] = replace(self.open)
        return twin

    def spawn(self, frame: int, post: Any, count: int | UnsetType) -> Stock:
        """Open a life, in the first frame in which the player isn't dying. `count` is how many stocks are left."""
        self.open = stock = Stock(self.index, frame, current_percent=post.percent, count=count)
        self._position = len(self.entries)
        self.entries.append(stock)
        return stock

    def lose(self, frame: int, post: Any, percent: float) -> Stock | None:
        """Close the open life and return it. `percent` is the one in the frame before."""
        stock = self.open
        if stock is not None:
            stock.end_frame = frame
            stock.end_percent = stock.current_percent = percent
            stock.death_animation = post.action_state_id
            self.open = None
        return stock

    def snapshot_open(self, entries: list[Stock], percent: float) -> None:
        """In a copy of the list, replace the open life by a copy of it that has the current percent of the player."""
        if self.open is not None:
            entries[self._position] = replace(self.open, current_percent=percent)
