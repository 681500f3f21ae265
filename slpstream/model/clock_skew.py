"""How far the clock of a console is from the clock of this machine. Pure.

A replay has the time when its game began, by the clock of the console; this machine saw its first bytes arrive a
moment after that. The difference is the skew. It contains the time zone where the replay gives a time without one: such
a time is the console's local time, which the index reads as UTC.

A single difference can be wrong: when a game was joined in the middle, its first bytes arrived late. The median of
several games is right as long as most of them were seen from their beginning. Once the clock of the console was set and
two games agree about it, the games before them no longer count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from slpstream.model.summary import IndexedGame

MAX_GAMES = 15
"""Newest games that are compared."""

_AGREE_SECONDS = 10.0
_SET_SECONDS = 60.0
"""Games that agree and are further from the median than this show that the clock was set."""
_MIN_AGREEING = 2
_SLACK_SECONDS = 5.0


class ClockSkew(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The skew of a console's clock, measured on its games."""

    seconds: float
    """The console's clock minus this machine's: positive when the console is ahead."""
    games: int
    """Games that it was measured on."""
    spread_seconds: float | None = None
    """Median distance of these games from `seconds`; `None` for a single game."""

    @property
    def sure(self) -> bool:
        """Whether several games agree."""
        return self.spread_seconds is not None and self.spread_seconds <= _AGREE_SECONDS

    def corrected_ms(self, said_at_ms: int) -> int:
        """A time of the console's clock by the clock of this machine, both in Unix milliseconds."""
        return said_at_ms - round(1000 * self.seconds)


def clock_skew(games: Iterable[IndexedGame]) -> ClockSkew | None:
    """The skew of the clock of one console from its games, in any order; `None` when no game was seen to arrive.

    Games that were copied in whole were not seen to arrive. Neither were games that arrived in a shorter time than
    they lasted, one after the other.
    """
    arrived = sorted(
        ((game.arrived_at_ms, game.said_at_ms, game) for game in games if game.arrived_at_ms is not None),
        key=lambda each: each[0],
    )
    differences = [
        (said_ms - arrived_ms) / 1000
        for place, (arrived_ms, said_ms, game) in enumerate(arrived)
        if said_ms is not None and not _overtaken(game, [next_ms for next_ms, _, _ in arrived[place + 1 : place + 2]])
    ][-MAX_GAMES:]
    if not differences:
        return None
    differences = _since_set(differences)
    middle = median(differences)
    spread = median(abs(each - middle) for each in differences) if len(differences) > 1 else None
    return ClockSkew(seconds=middle, games=len(differences), spread_seconds=spread)


def skew_of_set(games: Sequence[IndexedGame], played: Iterable[IndexedGame]) -> ClockSkew | None:
    """The skew of the clock of a console during a set with these `games`; `None` when no game was seen to arrive.

    If the games of the set do not tell it, those that were `played` on the station until then do.
    """
    skew = clock_skew(games)
    if skew is not None and skew.sure:
        return skew
    last_ms = max((game.arrived_at_ms for game in games if game.arrived_at_ms is not None), default=math.inf)
    return clock_skew(game for game in played if (game.arrived_at_ms or 0) <= last_ms) or skew


def _since_set(differences: list[float]) -> list[float]:
    """The differences that count, of those in order of time: the ones since the clock was set, or else all.

    The clock was set if the newest games in a row that agree are far from the median. They have to be most of the games
    since the first of them, because games that were joined in the middle can come after them.
    """
    agreeing: list[float] = []
    later = 0
    for each in reversed(differences):
        if agreeing and abs(each - agreeing[0]) > _AGREE_SECONDS:
            if len(agreeing) >= _MIN_AGREEING:
                break
            agreeing, later = [], later + len(agreeing)
        agreeing.append(each)
    was_set = abs(median(agreeing) - median(differences)) > _SET_SECONDS
    return agreeing if was_set and max(_MIN_AGREEING, later + 1) <= len(agreeing) else differences


def _overtaken(game: IndexedGame, next_arrivals_ms: Sequence[int]) -> bool:
    """Whether the next game arrived before this one can have ended: neither was being played when it arrived."""
    length_seconds = game.duration_seconds or 0.0
    began_ms = game.arrived_at_ms or 0
    return any((next_ms - began_ms) / 1000 < length_seconds - _SLACK_SECONDS for next_ms in next_arrivals_ms)
