"""Makes the tiles of the decision from channels and from the messages `odds`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from slpstream.model.prepared import prepared
from slpstream.parts.director.decision import Tile
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game

PAST_SECONDS = 10
"""A swing of the odds counts for this long, in game time."""
_SIDES_OF_A_SET = 2
_PLAYED = ("playing", "stalled")


class OddsPoint(NamedTuple):
    """The odds in a frame."""

    game_id: str
    frame: int
    odds: float


class _Post(msgspec.Struct, frozen=True):
    stocks: float | None = msgspec.field(default=None, name="stocksRemaining")


class _Player(msgspec.Struct, frozen=True):
    post: _Post = _Post()


@prepared
class _Frame(msgspec.Struct, frozen=True):
    players: dict[str, _Player] = {}


def tile_of(station: str, channel: Channel | None, points: Iterable[OddsPoint]) -> Tile:
    """Return a station as a tile. `channel` is `None` if there is no such station."""
    if channel is None:
        return Tile(station)
    game, state = channel.current, channel.state_message()
    if state.get("starting") or not channel.settled or (game is not None and game.catching_up):
        return Tile(station, known=False)
    if game is None or not game.in_progress or state["state"] not in _PLAYED:
        return Tile(station)
    newest = [point for point in points if point.game_id == game.game_id]
    odds = newest[-1].odds if newest else None
    past = game.frames_per_second * PAST_SECONDS
    swing = max(
        (abs(point.odds - newest[-1].odds) for point in newest if point.frame >= newest[-1].frame - past), default=0
    )
    set_points = _set_points(channel.set_message() or {}, game)
    return Tile(station, playing=True, stocks=_stocks(game), set_points=set_points, odds=odds, swing=swing)


def _set_points(played: Mapping[str, Any], game: Game) -> int:
    needed, sides = played.get("winsNeeded", 0), played.get("sides") or ()
    is_running = played.get("state") == "running" and played.get("gameId") == game.game_id
    return sum(side.get("score") == needed - 1 for side in sides) if is_running and len(sides) == _SIDES_OF_A_SET else 0


def _stocks(game: Game) -> tuple[int, ...]:
    """Return the stocks of each side. Players of a team are one side. Empty for games with one stock or none."""
    players, is_teams = game.summary.players, game.summary.is_teams
    if game.newest_frame is None or not any((player.start_stocks or 0) > 1 for player in players):
        return ()
    frame = msgspec.json.decode(game.newest_frame.entry(), type=_Frame)
    sides: dict[object, int] = {}
    for player in players:
        shown = frame.players.get(str(player.index))
        left = player.start_stocks if shown is None or shown.post.stocks is None else shown.post.stocks
        side = player.team if is_teams else player.index
        sides[side] = sides.get(side, 0) + int(left or 0)
    return tuple(sides.values())
