"""Estimate how far the clock of a console is from the clock of this machine.

A replay contains the time when its game began, according to the clock of the console, and this machine saw its first
bytes arrive a moment after that. The difference is the skew. Some replays give their time without a time zone. This is
the local time of the console, but the index reads it as UTC, so in this case the skew contains the time zone too.

You can't trust a single difference, because if a game was joined in the middle, its first bytes arrived late. We
therefore take the median of several games, which is right as long as most of them were seen from their beginning. If
someone sets the clock of the console, the earlier games no longer count as soon as two later games agree about the new
time.

The functions in this module don't do any I/O.
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
    """The skew of a console's clock, as measured on its games."""

    seconds: float
    """The console's clock minus this machine's: positive when the console is ahead."""
    games: int
    """Games that it was measured on."""
    spread_seconds: float | None = None
    """Median distance of these games from `seconds`, or `None` for a single game."""

    @property
    def sure(self) -> bool:
        """Whether you can rely on the skew, because it was measured on several games and they agree."""
        return self.spread_seconds is not None and self.spread_seconds <= _AGREE_SECONDS

    def corrected_ms(self, said_at_ms: int) -> int:
        """Convert a time of the console's clock to the clock of this machine.

        Both times are Unix times in milliseconds.
        """
        return said_at_ms - round(1000 * self.seconds)


def clock_skew(games: Iterable[IndexedGame]) -> ClockSkew | None:
    """Measure the skew of one console's clock from its games, which you can pass in any order.

    Returns `None` if no game was seen to arrive. This is the case if the games were copied in whole, or if they arrived
    one after the other in a shorter time than it took to play them.
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
    """Return the skew of a console's clock during the set that consists of `games`.

    If the games of the set aren't enough to tell, this falls back to the games that were `played` on the station until
    then. Returns `None` if no game was seen to arrive.
    """
    skew = clock_skew(games)
    if skew is not None and skew.sure:
        return skew
    last_ms = max((game.arrived_at_ms for game in games if game.arrived_at_ms is not None), default=math.inf)
    return clock_skew(game for game in played if (game.arrived_at_ms or 0) <= last_ms) or skew


def _since_set(differences: list[float]) -> list[float]:
    """Take differences in order of time, and return those that still count: the ones since the clock was set, or all of
    them if it wasn't.

    We conclude that the clock was set if the newest consecutive games that agree are far from the median. These must
    also be the majority of the games since the first of them, because games that were joined in the middle can come
    after them.
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
    """Whether the next game arrived before this one can have ended, which means that neither was being played when it
    arrived.
    """
    length_seconds = game.duration_seconds or 0.0
    began_ms = game.arrived_at_ms or 0
    return any((next_ms - began_ms) / 1000 < length_seconds - _SLACK_SECONDS for next_ms in next_arrivals_ms)
