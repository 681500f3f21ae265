"""The state of a station in the form that overlays and text sources show it: its game, its set and the players."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from slpstream.model.prepared import prepared
from slpstream.model.summary import PlayerSummary
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game

MAX_PLAYERS = 4


class _Post(msgspec.Struct, frozen=True):
    percent: float | None = None
    stocks: float | None = msgspec.field(default=None, name="stocksRemaining")


class _Player(msgspec.Struct):
    post: _Post = _Post()


class _Score(msgspec.Struct, rename="camel", frozen=True):
    player_index: int
    score: int | None = None


class _Extra(msgspec.Struct, frozen=True):
    players: list[_Score] = []


class _Stats(msgspec.Struct, frozen=True):
    """The part of the stats that contains the scores."""

    extra: _Extra = _Extra()


@prepared
class _StatsMessage(msgspec.Struct, frozen=True):
    stats: _Stats = _Stats()


@prepared
class _Frame(msgspec.Struct):
    players: dict[str, _Player] = {}


def station_state(channel: Channel, played: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a station. `played` is the payload of its `set` message, or empty if there's no set."""
    station_state = channel.state_message()
    state: dict[str, Any] = {
        "station": channel.station,
        "state": station_state["state"],
        "reason": station_state.get("reason", ""),
        "gameId": None,
        "stage": "",
        "mode": "",
        "bestOf": played.get("bestOf"),
        "setState": played.get("state"),
        "setId": played.get("setId"),
        "setWinner": played.get("winner"),
        "players": [],
    }
    frame = _Frame()
    members = {member.get("playerIndex"): member for member in played.get("players") or ()}
    by_index: dict[int, PlayerSummary] = {}
    scores: dict[int, int | None] | None = None
    game = channel.current
    if game is not None and game.start is not None:
        by_index = {player.index: player for player in game.summary.players}
        state["gameId"], state["stage"] = game.game_id, game.summary.place.name
        state["mode"] = game.summary.mode
        if game.summary.mode and all(player.start_stocks is None for player in game.summary.players):
            scores = _scores(game)
        if game.newest_frame is not None:
            frame = msgspec.json.decode(game.newest_frame.entry(), type=_Frame)
        if played.get("gameId") != game.game_id:
            members = {}  # the set is that of another game: players may have changed ports
    order = list(members) if members and by_index.keys() <= members.keys() else list(by_index)
    for index in (order or list(members))[:MAX_PLAYERS]:
        player = by_index.get(index, PlayerSummary(index=index))
        shown = _player(player, members.get(index, {}), frame)
        if scores is not None:
            shown |= {"stocks": None, "gameScore": scores.get(index)}
        state["players"].append(shown)
    return state


def _scores(game: Game) -> dict[int, int | None]:
    """Return the scores in a game without stocks, by player index.

    While the game is running, they come from its newest stats, and once it is over, from its summary.
    """
    scores = {player.index: player.score for player in game.summary.players}
    if any(score is not None for score in scores.values()) or game.newest_stats is None:
        return scores
    message = msgspec.json.decode(b"{" + game.newest_stats.body, type=_StatsMessage)
    return {each.player_index: each.score for each in message.stats.extra.players}


def _player(player: PlayerSummary, member: Mapping[str, Any], frame: _Frame) -> dict[str, Any]:
    """Return the state of one player.

    The name is the one that the operator has chosen. If there isn't one, we use the name in the game, then the connect
    code, and finally the port.
    """
    newest = frame.players.get(str(player.index), _Player()).post
    port = member.get("port", player.index + 1) if player.port is None else player.port
    code = player.code or member.get("connectCode") or ""
    return {
        "player": member.get("name") or player.shown_name or code or f"Player {port}",
        "code": code,
        "character": player.character.name,
        "port": port,
        "score": member.get("score"),
        "stocks": None if newest.stocks is None else int(newest.stocks),
        "percent": None if newest.percent is None else int(newest.percent),
    }
