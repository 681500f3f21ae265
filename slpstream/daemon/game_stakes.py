"""What is at stake in a game that is being played, according to its set and its newest frame."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from slpstream.model.prepared import prepared
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game

SIDES_OF_A_SET = 2
_PLAYED = ("playing", "stalled")


class _Post(msgspec.Struct, frozen=True):
    stocks: float | None = msgspec.field(default=None, name="stocksRemaining")


class _Player(msgspec.Struct, frozen=True):
    post: _Post = _Post()


@prepared
class _Frame(msgspec.Struct, frozen=True):
    players: dict[str, _Player] = {}


def played_game(channel: Channel) -> Game | None:
    """Return the game that is being played on a station, or `None` if there isn't one."""
    game = channel.current
    if game is None or not game.in_progress or game.catching_up or channel.state_message()["state"] not in _PLAYED:
        return None
    return game


def set_points(channel: Channel, game: Game) -> int:
    """Return how many sides win the set if they win this game. It is 0 if this is no game of a set of two sides."""
    found = channel.set_message() or {}
    needed, sides = found.get("winsNeeded", 0), found.get("sides") or ()
    is_running = found.get("state") == "running" and found.get("gameId") == game.game_id
    return sum(side.get("score") == needed - 1 for side in sides) if is_running and len(sides) == SIDES_OF_A_SET else 0


def newest_stocks(game: Game) -> Mapping[int, float]:
    """Return the stocks in the newest frame, by player index. Players without stocks in it are left out."""
    if game.newest_frame is None:
        return {}
    frame = msgspec.json.decode(game.newest_frame.entry(), type=_Frame)
    return {int(index): player.post.stocks for index, player in frame.players.items() if player.post.stocks is not None}
