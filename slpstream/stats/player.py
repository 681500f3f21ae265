"""What the stats know of one player: the last two post-frame updates and that player's computers."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from slpstream.stats.actions import Actions
from slpstream.stats.combos import Combos
from slpstream.stats.conversions import Conversions
from slpstream.stats.inputs import Inputs
from slpstream.stats.shapes import Combo, Conversion, Stock
from slpstream.stats.stocks import Stocks


class Player:
    """One player index. `post` and `prev` are the post-frame updates of this frame and of the one before."""

    __slots__ = (
        "actions",
        "combos",
        "conversions",
        "hit_by",
        "hit_state",
        "index",
        "inputs",
        "opponents",
        "post",
        "prev",
        "restarted",
        "stocks",
    )

    def __init__(self, index: int, stocks: list[Stock], conversions: list[Conversion], combos: list[Combo]) -> None:
        self.index = index
        self.post: Any = None
        self.prev: Any = None
        self.restarted = False
        """The action began anew, without another state between."""
        self.opponents: list[Player] = []
        self.hit_by: Player | None = None
        """Who did the last hit, while still in the state of it."""
        self.hit_state = -1
        """Their action state in the frame before the last hit."""
        self.stocks = Stocks(index, stocks)
        self.conversions = Conversions(index, conversions)
        self.combos = Combos(index, combos)
        self.actions = Actions(index)
        self.inputs = Inputs()

    def copy(self, stocks: list[Stock], conversions: list[Conversion], combos: list[Combo]) -> Player:
        """An independent player at the same place; `opponents` and `hit_by` are still those of the original."""
        twin = Player.__new__(Player)
        twin.index = self.index
        twin.post = self.post
        twin.prev = self.prev
        twin.restarted = self.restarted
        twin.opponents = self.opponents
        twin.hit_by = self.hit_by
        twin.hit_state = self.hit_state
        twin.stocks = self.stocks.copy(stocks)
        twin.conversions = self.conversions.copy(conversions)
        twin.combos = self.combos.copy(combos)
        twin.actions = self.actions.copy()
        twin.inputs = self.inputs.copy()
        return twin

    @property
    def percent(self) -> float:
        """The last percent that is known."""
        return 0.0 if self.post is None else self.post.percent  # type: ignore[no-any-return]


def is_there(player_frame: Any) -> bool:
    """Whether a player's part of a frame has its post-frame update."""
    return player_frame is not None and player_frame.post is not UNSET
