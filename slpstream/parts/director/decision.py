"""The decision which station is large. It has no side effects, and knows no clock: each call is given the time.

The tensest game is large. The choice changes at most once in the hold time, and only for a game that is clearly tenser.
The last stock of a game that decides its set is only left for another one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

_BOTH = 2
_FEW_STOCKS = 2
"""Odds near even and swings matter once a side has no more stocks than this."""
_LARGE_SWING = 0.4
"""A change of the odds by this much counts fully."""
_NEAR_EVEN = 0.2
"""Odds that are at most this far from even are called so in the reason."""
_MARGIN = 0.75
"""The game that is large is only left for one that is tenser by at least this much."""


class Tile(NamedTuple):
    """A station and its game, as far as they matter for the decision."""

    station: str
    playing: bool = False
    known: bool = True
    """False while its game is still read after a start. Such a station is neither left nor chosen."""
    stocks: tuple[int, ...] = ()
    """The stocks of each side, if the game has several of them at its start."""
    set_points: int = 0
    """How many sides win the set if they win this game."""
    odds: float | None = None
    """The chance of the first side to win, if there is a model for this game."""
    swing: float = 0.0
    """How much the odds have changed just now, from 0 to 1."""

    @property
    def last_stocks(self) -> int:
        """How many sides are on their last stock."""
        return sum(count == 1 for count in self.stocks)

    @property
    def is_deciding(self) -> bool:
        """Whether the game decides the set, no matter who wins it."""
        return self.set_points >= _BOTH

    @property
    def is_last_moment(self) -> bool:
        """Whether a side has the last stock of a game that decides the set."""
        return self.playing and self.is_deciding and self.last_stocks > 0

    @property
    def tension(self) -> float:
        """How tense the game is. 0 without a game."""
        if not self.playing:
            return 0.0
        tension = 1.0 + 2 * min(self.last_stocks, _BOTH) + (3 if self.is_deciding else self.set_points)
        if self.odds is not None and min(self.stocks, default=math.inf) <= _FEW_STOCKS:
            tension += 1 - 2 * abs(self.odds - 0.5) + min(1.0, self.swing / _LARGE_SWING)
        return tension


class Choice(NamedTuple):
    """The station that is large. All times are those of the clock that `decided` is given."""

    station: str | None = None
    held_until: float = -math.inf
    """The rule does not leave the station before this time."""
    was_playing: bool = False


def decided(tiles: Sequence[Tile], last: Choice, pinned: str | None, now: float, hold_seconds: float) -> Choice:
    """Return the choice after `last`.

    While a station is `pinned`, it's the one. After its game, a station stays large for the hold time, so that viewers
    see the result.
    """
    by_station = {tile.station: tile for tile in tiles}
    if pinned is not None and pinned in by_station:
        is_same = pinned == last.station
        return Choice(pinned, last.held_until if is_same else now + hold_seconds, by_station[pinned].playing)
    current = by_station.get(last.station or "")
    if current is not None and not current.known:
        return last
    if current is not None:
        ended = last.was_playing and not current.playing
        held_until = max(last.held_until, now + hold_seconds) if ended else last.held_until
        last = last._replace(held_until=held_until, was_playing=current.playing)
    if now < last.held_until:
        return last
    playing = [tile for tile in tiles if tile.playing and tile.known]
    if current is not None and current.is_last_moment:
        playing = [tile for tile in playing if tile.is_last_moment]
    best = max(playing, key=lambda tile: tile.tension, default=None)
    if best is None or best.station == last.station:
        return last
    if current is not None and current.playing and best.tension < current.tension + _MARGIN:
        return last
    return Choice(best.station, now + hold_seconds, was_playing=True)


def reason(tile: Tile | None, *, pinned: bool) -> str:
    """Return in words why the station is large."""
    if pinned:
        return "pinned by the operator"
    if tile is None:
        return "no game has been played yet"
    if not tile.playing:
        return "its last game is over"
    words = []
    if tile.is_deciding:
        words.append("deciding game")
    elif tile.set_points:
        words.append("set point")
    if tile.last_stocks:
        words.append("last stock" if tile.last_stocks == 1 else "last stocks")
    if tile.odds is not None and min(tile.stocks, default=math.inf) <= _FEW_STOCKS:
        if abs(tile.odds - 0.5) <= _NEAR_EVEN:
            words.append("odds near even")
        if tile.swing >= _LARGE_SWING:
            words.append("large swing")
    return ", ".join(words) or "a game is being played"
