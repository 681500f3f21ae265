"""The odds of one game from its final frames, and the state of the game that they are computed from.

There are odds twice a second of game time and when a stock is lost. They only depend on the frames up to then.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import POST_FRAME
from slpstream.formats.slippi.game_start import STOCK_MODE
from slpstream.formats.slippi.packed_frame import PackedFrame, ReadFields, WholeFrames
from slpstream.model.prepared import prepared
from slpstream.parts.odds.model import GameState, OddsModel, packaged_model
from slpstream.parts.services import Span, Swing

MAX_STOCKS = 4
"""The model has seen no game with more stocks."""
FRAMES_PER_SECOND = 60
FRAMES_PER_POINT = 30
_MAX_PERCENT = 999.0
_DIGITS = 4


class Post(msgspec.Struct, gc=False, rename="camel"):
    """The part of a Post-Frame Update that the odds need. In JSON, NaN is null."""

    percent: float | None = None
    stocks_remaining: int | None = None


class _Player(msgspec.Struct, rename="camel"):
    player_index: int
    type: int = 0
    start_stocks: int = 0
    handicap: int = 0
    stamina_mode: bool = False
    low_gravity: bool = False
    metal: bool = False
    damage_start: float = 0
    damage_spawn: float = 0
    offense_ratio: float | None = 1.0
    defense_ratio: float | None = 1.0
    model_scale: float | None = 1.0


class _GameInfo(msgspec.Struct, rename="camel"):
    damage_ratio: float | None = 1.0


@prepared
class Conditions(msgspec.Struct, rename="camel"):
    """The part of a game's settings that decides whether there are odds."""

    in_game_mode: int
    is_teams: bool
    players: list[_Player]
    game_info_block: _GameInfo = msgspec.field(default_factory=_GameInfo)

    @property
    def without_odds(self) -> str:
        """The reason why the game has no odds, in words, or an empty string."""
        players = self.players
        if self.is_teams:
            return "a game of teams"
        if self.in_game_mode != STOCK_MODE or any(player.stamina_mode for player in players):
            return "not played for stocks"
        if len(players) != 2:
            return "not a game of two players"
        if not all(1 <= player.start_stocks <= MAX_STOCKS for player in players):
            return f"not played with 1 to {MAX_STOCKS} stocks"
        if self.game_info_block.damage_ratio != 1 or not _is_even(*players):
            return "played with a handicap"
        return ""

    @property
    def has_computer(self) -> bool:
        """Whether not all players are people."""
        return any(player.type for player in self.players)


def _is_even(first: _Player, second: _Player) -> bool:
    """Whether neither player has an advantage, and both play by the ordinary rules."""
    ordinary = all(
        not (player.damage_start or player.damage_spawn or player.low_gravity or player.metal)
        and player.offense_ratio == player.defense_ratio == player.model_scale == 1
        for player in (first, second)
    )
    return ordinary and (first.start_stocks, first.handicap) == (second.start_stocks, second.handicap)


class Point(NamedTuple):
    """The odds in one frame."""

    frame: int
    odds: float
    """The chance of the first player to win the game."""
    state: GameState
    lost_by: tuple[int, ...]
    """The players who lost a stock in this frame, 0 or 1."""


class _Fighter:
    """One player in the frames so far."""

    __slots__ = ("damage", "is_dying", "percent", "second_percent", "stocks")

    def __init__(self, stocks: int) -> None:
        self.stocks = stocks
        self.percent = 0.0
        self.is_dying = False
        """Whether a stock was lost and the game still shows its percent."""
        self.damage = self.second_percent = 0.0
        """The damage taken up to the last whole second, and the percent at that time."""

    def take(self, percent: float, stocks: int) -> bool:
        """Add a frame. Returns whether a stock was lost in it."""
        has_lost = stocks < self.stocks
        self.is_dying = (has_lost or self.is_dying) and percent > 0 and percent >= self.percent
        self.percent, self.stocks = percent, stocks
        return has_lost

    @property
    def counted_percent(self) -> float:
        return 0.0 if self.is_dying else self.percent

    @property
    def taken(self) -> float:
        """The damage taken. It is counted in whole seconds, and damage since the last of these is added."""
        return self.damage + max(0.0, self.counted_percent - self.second_percent)

    def begin_second(self) -> None:
        """Count the damage of the second that has ended."""
        self.damage, self.second_percent = self.taken, self.counted_percent


class GameOdds:
    """The odds of one game. It takes final frames, each number once and in order."""

    def __init__(self, model: OddsModel, setup: Conditions) -> None:
        """The setup must have odds (`Conditions.without_odds`)."""
        self._model = model
        self.players = [player.player_index for player in setup.players]
        self._fighters = [_Fighter(player.start_stocks) for player in setup.players]
        self._second = -1
        self.next_point = 0
        """The first frame number that has odds even if no stock is lost."""
        self._numbers: list[int] = []
        """The frames in which the state of the game has changed."""
        self._states: list[GameState] = []

    def take(self, number: int, posts: Mapping[int, Post]) -> Point | None:
        """Add a frame, and return its odds if it has any.

        A frame has no odds if a player is missing or a value can't be right.
        """
        first, second = self._fighters
        one, two = (posts.get(index) for index in self.players)
        if one is None or two is None or not (_is_possible(one, first) and _is_possible(two, second)):
            return None
        # `_is_possible` has checked that none of the values is missing.
        lost = (
            first.take(one.percent, one.stocks_remaining),  # type: ignore[arg-type]
            second.take(two.percent, two.stocks_remaining),  # type: ignore[arg-type]
        )
        has_odds = number >= self.next_point or True in lost
        if has_odds:
            whole = number // FRAMES_PER_SECOND
            if whole > self._second:
                self._second = whole
                first.begin_second()
                second.begin_second()
            self.next_point = max(self.next_point, (number // FRAMES_PER_POINT + 1) * FRAMES_PER_POINT)
        state = GameState(
            first.stocks, second.stocks, first.counted_percent, second.counted_percent, second.taken, first.taken
        )
        if not self._states or state != self._states[-1]:
            self._numbers.append(number)
            self._states.append(state)
        if not has_odds:
            return None
        return Point(number, self._odds(state), state, tuple(index for index in (0, 1) if lost[index]))

    def swing(self, span: Span) -> Swing | None:
        """Return the chance of a player before and after a part of the game, from the frames up to its end.

        It is `None` if there are no odds before it, or none for this player.
        """
        if span.player_index not in self.players:
            return None
        before, after = (bisect_right(self._numbers, number) - 1 for number in (span.start_frame - 1, span.end_frame))
        if before < 0:
            return None
        chances = self._odds(self._states[before]), self._odds(_without_dying(self._states[after], span, self.players))
        if span.player_index == self.players[0]:
            return Swing(*chances)
        return Swing(*(round(1 - chance, _DIGITS) for chance in chances))

    def changes(self) -> tuple[list[int], list[float]]:
        """Return the frames in which the state of the game has changed, and the odds from each of them on."""
        return self._numbers, [self._odds(state) for state in self._states]

    def _odds(self, state: GameState) -> float:
        return round(self._model.win(state), _DIGITS)


def _without_dying(state: GameState, span: Span, players: Sequence[int]) -> GameState:
    """Return a state without the stocks that dying players will lose. A star KO takes them two seconds later."""
    first, second = players
    if first in span.dying and state.percent > 0:
        state = state._replace(stocks=max(0, state.stocks - 1), percent=0.0)
    if second in span.dying and state.opponent_percent > 0:
        state = state._replace(opponent_stocks=max(0, state.opponent_stocks - 1), opponent_percent=0.0)
    return state


def _is_possible(post: Post, fighter: _Fighter) -> bool:
    percent, stocks = post.percent, post.stocks_remaining
    if percent is None or stocks is None or not math.isfinite(percent):
        return False
    return 0 <= percent <= _MAX_PERCENT and 0 <= stocks <= fighter.stocks


def conditions_of(settings: Any) -> Conditions:
    """Return the part of the settings of a Slippi game that decides whether there are odds."""
    return msgspec.json.decode(msgspec.json.encode(settings), type=Conditions)


def begin_odds(settings: Any) -> GameOdds | None:
    """Return the odds of a Slippi game that begins, by the packaged model, or `None` if it has none."""
    setup = conditions_of(settings)
    return None if setup.without_odds else GameOdds(packaged_model(), setup)


def posts_of(content: Any) -> Mapping[int, Post]:
    """Return the values of all players in a frame of a reader, by player index."""
    if type(content) is PackedFrame:
        return read_posts(content.events)(content.data)
    posts = {index: player.post for index, player in content.players.items() if player.post is not UNSET}
    return {index: Post(post.percent, post.stocks_remaining) for index, post in posts.items()}


def read_posts(events: WholeFrames) -> ReadFields:
    """Return the function that reads the values of all players from the bytes of a packed frame."""
    return events.fields(POST_FRAME, Post.__struct_fields__, Post)
