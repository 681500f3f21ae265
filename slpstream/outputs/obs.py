"""Writes the state of a station into small text files, for programs such as OBS that show text from a file.

`<folder>/<station>/` has a text file for each value, and `state.json` with all values. A file whose value has
changed is written under another name and then renamed, so that a reader never sees half of it. Only the newest state
counts: files are updated a few times per second at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import trio

from slpstream.model.prepared import prepared
from slpstream.model.summary import PlayerSummary
from slpstream.stream.channel import Channel
from slpstream.stream.game import Game
from slpstream.system.logs import get_logger
from slpstream.system.replaced_files import replace_file

SLOTS = 4
STATE_FILE = "state.json"
_INTERVAL_SECONDS = 0.25
_RETRY_SECONDS = 5.0
_PLAYER_TEXTS = ("player", "code", "character", "port", "score", "stocks", "percent")


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
    """The part of the stats that has the scores."""

    extra: _Extra = _Extra()


@prepared
class _StatsMessage(msgspec.Struct, frozen=True):
    stats: _Stats = _Stats()


@prepared
class _Frame(msgspec.Struct):
    frame: int | None = None
    players: dict[str, _Player] = {}


class ObsFiles:
    """The files of all stations. Start `follow` for each station."""

    def __init__(self, folder: Path, *, limiter: trio.CapacityLimiter) -> None:
        self._folder = folder
        self._limiter = limiter
        self._sets: dict[str, Mapping[str, Any]] = {}
        self._channels: dict[str, Channel] = {}
        self._failing: dict[str, str] = {}
        self._log = get_logger()

    def not_ready(self) -> list[str]:
        """The reasons why files cannot be written."""
        return [f"OBS files of {station}: {what}" for station, what in self._failing.items()]

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of a station. Returns at once."""
        self._sets[station] = payload
        channel = self._channels.get(station)
        if channel is not None:
            channel.notify()

    async def follow(self, channel: Channel) -> None:
        """Write the files of a station until cancelled."""
        station = channel.station
        self._channels[station] = channel
        written: dict[str, bytes] = {}
        try:
            while True:
                files = _files(station_state(channel, self._sets.get(station, {})))
                if files == written:
                    await channel.changed()
                    await trio.sleep(_INTERVAL_SECONDS)
                elif not await self._write(station, files, written):
                    await trio.sleep(_RETRY_SECONDS)
        finally:
            if self._channels.get(station) is channel:
                del self._channels[station]
            self._failing.pop(station, None)

    async def _write(self, station: str, files: Mapping[str, bytes], written: dict[str, bytes]) -> bool:
        """Write the files that have changed. Returns whether that worked."""
        folder = self._folder / station
        changed = {name: data for name, data in files.items() if written.get(name) != data}
        try:
            await trio.to_thread.run_sync(_replace_all, folder, changed, limiter=self._limiter)
        except OSError as error:
            what = error.strerror or str(error)
            if station not in self._failing:
                self._log.error("OBS files cannot be written; trying again", station=station, what=what)
            self._failing[station] = what
            return False
        if self._failing.pop(station, None) is not None:
            self._log.info("OBS files are written again", station=station)
        written.update(changed)
        return True


def _replace_all(folder: Path, files: Mapping[str, bytes]) -> None:
    """Replace files atomically. Blocks."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        replace_file(folder / name, data)


def station_state(channel: Channel, played: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a station, as in `state.json`; `played` is the payload of its `set` message."""
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
    for index in (order or list(members))[:SLOTS]:
        player = by_index.get(index, PlayerSummary(index=index))
        shown = _player(player, members.get(index, {}), frame)
        if scores is not None:
            shown |= {"stocks": None, "gameScore": scores.get(index)}
        state["players"].append(shown)
    return state


def _scores(game: Game) -> dict[int, int | None]:
    """The scores of a game without stocks by player index, from its newest stats or, once it is over, its summary."""
    found: dict[int, int | None] = {
        player.index: player.score for player in game.summary.players if player.score is not None
    }
    if found or game.newest_stats is None:
        return found
    message = msgspec.json.decode(b"{" + game.newest_stats.body, type=_StatsMessage)
    return {each.player_index: each.score for each in message.stats.extra.players}


def _player(player: PlayerSummary, member: Mapping[str, Any], frame: _Frame) -> dict[str, Any]:
    """One player. The operator's name comes first, then the name in the game, the connect code, the port."""
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


def _files(state: Mapping[str, Any]) -> dict[str, bytes]:
    """The content of each file by its name. All files always exist, so that a source in OBS finds its file."""
    files = {STATE_FILE: msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"}
    for name, key in (("state", "state"), ("stage", "stage"), ("best_of", "bestOf")):
        files[f"{name}.txt"] = _text(state[key])
    for slot in range(SLOTS):
        player = state["players"][slot] if slot < len(state["players"]) else {}
        for name in _PLAYER_TEXTS:
            instead = "gameScore" if name == "stocks" and "gameScore" in player else name
            files[f"{name}{slot + 1}.txt"] = _text(player.get(instead))
    return files


def _text(value: Any) -> bytes:
    return b"" if value is None else str(value).encode()
