"""The state of one player: the last two Post-Frame Updates, and the computers of this player."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from slpstream.formats.slippi.stats.actions import Actions
from slpstream.formats.slippi.stats.combos import Combos
from slpstream.formats.slippi.stats.conversions import Conversions
from slpstream.formats.slippi.stats.forms import Forms
from slpstream.formats.slippi.stats.hits import Hits
from slpstream.formats.slippi.stats.inputs import Inputs
from slpstream.formats.slippi.stats.positions import Positions
from slpstream.formats.slippi.stats.schema import Combo, Conversion, Stock
from slpstream.formats.slippi.stats.stocks import Stocks


class Lists:
    """The lists of a game, which the computers of all players share.

    Entries are in the order in which they were opened.
    """

    __slots__ = ("combos", "conversions", "stocks")

    def __init__(self, stocks: list[Stock], conversions: list[Conversion], combos: list[Combo]) -> None:
        self.stocks = stocks
        self.conversions = conversions
        self.combos = combos

    def copy(self) -> Lists:
        """New lists with the same entries."""
        return Lists(list(self.stocks), list(self.conversions), list(self.combos))


class Player:
    """One player. `post` is the Post-Frame Update of the current frame, and `prev` is the one before it."""

    __slots__ = (
        "actions",
        "alive",
        "combos",
        "conversions",
        "forms",
        "hits",
        "index",
        "inputs",
        "last_hit",
        "positions",
        "post",
        "pre",
        "prev",
        "restarted",
        "stocks",
    )

    def __init__(self, index: int, lists: Lists, edge: float | None) -> None:
        self.index = index
        self.pre: Any = UNSET
        self.post: Any = None
        self.prev: Any = None
        self.restarted = False
        """Whether the action began again: `action_state_counter` fell."""
        self.alive = False
        """Whether a stock is open."""
        self.last_hit: tuple[int, int] | None = None
        """Player index of the last hitter, and the hitter's action state in the frame before the hit; `None` once the
        hitter has left the action."""
        self.stocks = Stocks(index, lists.stocks)
        self.conversions = Conversions(index, lists.conversions)
        self.combos = Combos(index, lists.combos)
        self.actions = Actions(index)
        self.inputs = Inputs()
        self.positions = Positions(edge)
        self.hits = Hits()
        self.forms = Forms()

    def copy(self, lists: Lists) -> Player:
        """Return a copy of this player that is independent from then on. Its computers share `lists`."""
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
        """The latest percent. Before the first frame, this is 0."""
        return 0.0 if self.post is None else self.post.percent


_WITH_LISTS = ("stocks", "conversions", "combos")
_COMPUTERS = ("actions", "inputs", "positions", "hits", "forms")
_VALUES = tuple(name for name in Player.__slots__ if name not in (*_WITH_LISTS, *_COMPUTERS))


def has_post(player_frame: Any) -> bool:
    """Whether a player is part of the given frame and has a Post-Frame Update in it."""
    return player_frame is not None and player_frame.post is not UNSET
