"""How far the clock of a console is from the clock of this machine. Pure.

A replay has the time when its game began, by the clock of the console; this machine saw its first bytes arrive a
moment after that. The difference is the skew. It contains the time zone where the replay gives a time without one: such
a time is the console's local time, which the index reads as UTC.

A single difference can be wrong: when a game was joined in the middle, its first bytes arrived late. The median of
several games is right as long as most of them were seen from their beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from slpstream.model.summary import IndexedGame

MAX_GAMES = 15
"""Newest games that are compared: a clock that was set between two games is right again soon."""

_AGREE_SECONDS = 10.0
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
    middle = median(differences)
    spread = median(abs(each - middle) for each in differences) if len(differences) > 1 else None
    return ClockSkew(seconds=middle, games=len(differences), spread_seconds=spread)


def _overtaken(game: IndexedGame, next_arrivals_ms: Sequence[int]) -> bool:
    """Whether the next game arrived before this one can have ended: neither was being played when it arrived."""
    length_seconds = game.duration_seconds or 0.0
    began_ms = game.arrived_at_ms or 0
    return any((next_ms - began_ms) / 1000 < length_seconds - _SLACK_SECONDS for next_ms in next_arrivals_ms)
