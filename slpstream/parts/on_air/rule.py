"""The rule that chooses the station on air. It has no side effects.

A game that decides its set comes first, then a game in which a player has the last stock, and then the station that
hasn't been on air for the longest time. We only leave a game on air before its end if there is a more important one, so
two ordinary games do not take turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from slpstream.model.prepared import prepared
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game

_PLAYED = ("playing", "stalled")


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
    game = channel.current
    if game is None or not game.in_progress or game.catching_up or channel.state_message()["state"] not in _PLAYED:
        return None
    return Candidate(channel.station, _is_deciding(channel.set_message() or {}, game), _has_last_stock(game))


def _is_deciding(played: Mapping[str, Any], game: Game) -> bool:
    needed, sides = played.get("winsNeeded", 0), played.get("sides") or ()
    is_running = played.get("state") == "running" and played.get("gameId") == game.game_id
    return is_running and len(sides) == 2 and all(side.get("score") == needed - 1 for side in sides)


class _Post(msgspec.Struct, frozen=True):
    stocks: float | None = msgspec.field(default=None, name="stocksRemaining")


class _Player(msgspec.Struct, frozen=True):
    post: _Post = _Post()


@prepared
class _Frame(msgspec.Struct, frozen=True):
    players: dict[str, _Player] = {}


def _has_last_stock(game: Game) -> bool:
    several = {str(player.index) for player in game.summary.players if (player.start_stocks or 0) > 1}
    if not several or game.newest_frame is None:
        return False
    frame = msgspec.json.decode(game.newest_frame.entry(), type=_Frame)
    return any(player.post.stocks == 1 for index, player in frame.players.items() if index in several)
