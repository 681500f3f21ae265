"""Makes the tiles of the decision from channels and from the messages `odds`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from slpstream.daemon.game_stakes import newest_stocks, played_game, set_points
from slpstream.parts.director.decision import Tile
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game

PAST_SECONDS = 10
"""A swing of the odds counts for this long, in game time."""


class OddsPoint(NamedTuple):
    """The odds in a frame."""

    game_id: str
    frame: int
    odds: float


def tile_of(station: str, channel: Channel | None, points: Iterable[OddsPoint]) -> Tile:
    """Return a station as a tile. `channel` is `None` if there is no such station."""
    if channel is None:
        return Tile(station)
    current, game = channel.current, played_game(channel)
    is_starting = channel.state_message().get("starting") or not channel.settled
    if is_starting or (current is not None and current.catching_up):
        return Tile(station, known=False)
    if game is None:
        return Tile(station)
    newest = [point for point in points if point.game_id == game.game_id]
    odds = newest[-1].odds if newest else None
    past = game.frames_per_second * PAST_SECONDS
    swing = max(
        (abs(point.odds - newest[-1].odds) for point in newest if point.frame >= newest[-1].frame - past), default=0
    )
    points_now = set_points(channel, game)
    return Tile(station, playing=True, stocks=_stocks(game), set_points=points_now, odds=odds, swing=swing)


def _stocks(game: Game) -> tuple[int, ...]:
    """Return the stocks of each side. Players of a team are one side. Empty for games with one stock or none."""
    players, is_teams = game.summary.players, game.summary.is_teams
    if game.newest_frame is None or not any((player.start_stocks or 0) > 1 for player in players):
        return ()
    shown = newest_stocks(game)
    sides: dict[object, int] = {}
    for player in players:
        left = shown.get(player.index, player.start_stocks)
        side = player.team if is_teams else player.index
        sides[side] = sides.get(side, 0) + int(left or 0)
    return tuple(sides.values())
