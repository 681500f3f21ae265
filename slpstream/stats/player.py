"""What the stats know of one player: the last two post-frame updates and that player's computers."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from slpstream.stats.actions import Actions
from slpstream.stats.combos import Combos
from slpstream.stats.conversions import Conversions
from slpstream.stats.forms import Forms
from slpstream.stats.hits import Exchanges
from slpstream.stats.inputs import Inputs
from slpstream.stats.positions import Positions
from slpstream.stats.schema import Combo, Conversion, Stock
from slpstream.stats.stocks import Stocks


class Lists:
    """The lists of a game that the players' computers share, in opening order."""

    __slots__ = ("combos", "conversions", "stocks")

    def __init__(self, stocks: list[Stock], conversions: list[Conversion], combos: list[Combo]) -> None:
        self.stocks = stocks
        self.conversions = conversions
        self.combos = combos

    def copy(self) -> Lists:
        """The same entries in lists of their own."""
        return Lists(list(self.stocks), list(self.conversions), list(self.combos))


class Player:
    """One player index. `post` and `prev` are the post-frame updates of this frame and of the one before."""

    __slots__ = (
        "actions",
        "alive",
        "combos",
        "conversions",
        "exchanges",
        "forms",
        "given_up",
        "hit_by",
        "hit_state",
        "index",
        "inputs",
        "places",
        "post",
        "pre",
        "prev",
        "restarted",
        "self_destructs",
        "stocks",
    )

    def __init__(self, index: int, lists: Lists, edge: float | None) -> None:
        self.index = index
        self.pre: Any = UNSET
        self.post: Any = None
        self.prev: Any = None
        self.restarted = False
        """`action_state_counter` fell: the action began anew."""
        self.alive = False
        """A stock is open."""
        self.hit_by: int | None = None
        """Player index of who did the last hit, while still in the state of it."""
        self.hit_state = -1
        """Their action state in the frame before the last hit."""
        self.self_destructs = self.given_up = 0
        self.stocks = Stocks(index, lists.stocks)
        self.conversions = Conversions(index, lists.conversions)
        self.combos = Combos(index, lists.combos)
        self.actions = Actions(index)
        self.inputs = Inputs()
        self.places = Positions(edge)
        self.exchanges = Exchanges()
        self.forms = Forms()

    def copy(self, lists: Lists) -> Player:
        """An independent player at the same place."""
        twin = Player.__new__(Player)
        for name in _VALUES:
            setattr(twin, name, getattr(self, name))
        for name in _COMPUTERS:
            setattr(twin, name, getattr(self, name).copy())
        twin.stocks = self.stocks.copy(lists.stocks)
        twin.conversions = self.conversions.copy(lists.conversions)
        twin.combos = self.combos.copy(lists.combos)
        return twin

    @property
    def percent(self) -> float:
        """The last percent that is known."""
        return 0.0 if self.post is None else self.post.percent


_ON_LISTS = ("stocks", "conversions", "combos")
_COMPUTERS = ("actions", "inputs", "places", "exchanges", "forms")
_VALUES = tuple(name for name in Player.__slots__ if name not in (*_ON_LISTS, *_COMPUTERS))


def is_there(player_frame: Any) -> bool:
    """Whether a player's part of a frame has its post-frame update."""
    return player_frame is not None and player_frame.post is not UNSET
