"""The rule that chooses the station on air. It has no side effects.

A game that decides its set comes first, then a game in which a player has the last stock, and then the station that
hasn't been on air for the longest time. We only leave a game on air before its end if there is a more important one, so
two ordinary games do not take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from slpstream.daemon.game_stakes import SIDES_OF_A_SET, newest_stocks, played_game, set_points
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game


class Candidate(NamedTuple):
    """A station whose game can be shown."""

    station: str
    deciding: bool = False
    """Whether the game decides the set, no matter who wins it."""
    last_stock: bool = False
    """Whether a player started with several stocks and has only one left."""

    @property
    def weight(self) -> tuple[bool, bool]:
        """How important the game is. A greater value is more important."""
        return self.deciding, self.last_stock


def chosen(candidates: Iterable[Candidate], current: str | None, seen: Mapping[str, float]) -> str | None:
    """Return the station to show.

    `current` is the one that is shown now, and `seen` is when each of the others was shown last. If no game is being
    played, the station stays the same.
    """
    by_station = {candidate.station: candidate for candidate in candidates}
    if not by_station:
        return current
    best = max(by_station.values(), key=lambda each: (each.weight, -seen.get(each.station, 0.0)))
    shown = None if current is None else by_station.get(current)
    return best.station if shown is None or best.weight > shown.weight else shown.station


def candidate_of(channel: Channel) -> Candidate | None:
    """Return a station as a candidate, or `None` if no game is being played there."""
    game = played_game(channel)
    if game is None:
        return None
    is_deciding = set_points(channel, game) == SIDES_OF_A_SET
    return Candidate(channel.station, is_deciding, _has_last_stock(game))


def _has_last_stock(game: Game) -> bool:
    several = {player.index for player in game.summary.players if (player.start_stocks or 0) > 1}
    return bool(several) and any(stocks == 1 for index, stocks in newest_stocks(game).items() if index in several)
