"""Writes the state of a station into small text files, for programs such as OBS that show text from a file.

`<folder>/<station>/` has a text file for each value, and `state.json` with all values. A file is written when its value
has changed, under another name first and then renamed, so a reader never sees half of it. Only the newest state counts:
files are updated a few times a second at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import trio

from slpstream.stream import Channel, Game
from slpstream.system.logs import get_logger

SLOTS = 4
STATE_FILE = "state.json"
_INTERVAL_SECONDS = 0.25
_RETRY_SECONDS = 5.0
_PLAYER_TEXTS = ("player", "code", "character", "port", "score", "stocks", "percent")


class PlayerTitle(NamedTuple):
    """The names of a player, as far as they are known from the game."""

    player_index: int
    port: int
    name: str = ""
    code: str = ""
    character: str = ""


class Titles(NamedTuple):
    """The names at the start of a game."""

    stage: str = ""
    players: Sequence[PlayerTitle] = ()


TitlesOf = Callable[[Mapping[str, Any]], Titles]
"""Turns the payload of a `game_start` into names for display."""


class _Post(msgspec.Struct, frozen=True):
    percent: float | None = None
    stocks: float | None = msgspec.field(default=None, name="stocksRemaining")


class _Player(msgspec.Struct):
    post: _Post = _Post()


class _Frame(msgspec.Struct):
    frame: int | None = None
    players: dict[str, _Player] = {}


class ObsFiles:
    """The files of all stations. Start `follow` for each station."""

    def __init__(self, folder: Path, titles_of: TitlesOf, *, limiter: trio.CapacityLimiter) -> None:
        self._folder = folder
        self._titles_of = titles_of
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
        known: tuple[Game, Titles] | None = None
        try:
            while True:
                game = channel.current
                if game is None or game.start is None:
                    known = None
                elif known is None or known[0] is not game:
                    known = (game, self._titles_of(msgspec.json.decode(b"{" + game.start.body)))
                files = _files(_state(channel, known, self._sets.get(station, {})))
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
        path = folder / name
        new = folder / f".{name}.new"
        try:
            new.write_bytes(data)
            new.replace(path)
        except OSError:
            with suppress(OSError):
                new.unlink()
            raise


def _state(channel: Channel, known: tuple[Game, Titles] | None, played: Mapping[str, Any]) -> dict[str, Any]:
    """The content of `state.json`; `played` is the set of the station."""
    station_state = channel.state_message()
    state: dict[str, Any] = {
        "station": channel.station,
        "state": station_state["state"],
        "reason": station_state.get("reason", ""),
        "gameId": None,
        "stage": "",
        "bestOf": played.get("bestOf"),
        "setState": played.get("state"),
        "setId": played.get("setId"),
        "setWinner": played.get("winner"),
        "players": [],
    }
    frame = _Frame()
    titles = Titles()
    if known is not None:
        game, titles = known
        state["gameId"], state["stage"] = game.game_id, titles.stage
        if game.newest_frame is not None:
            frame = msgspec.json.decode(game.newest_frame.entry(), type=_Frame)
    members = {member.get("playerIndex"): member for member in played.get("players") or ()}
    if known is not None and played.get("gameId") != state["gameId"]:
        members = {}  # the set is that of another game: players may have changed ports
    by_index = {title.player_index: title for title in titles.players} if known is not None else {}
    order = list(members) if members and by_index.keys() <= members.keys() else list(by_index)
    for index in (order or list(members))[:SLOTS]:
        state["players"].append(_player(index, by_index.get(index), members.get(index, {}), frame))
    return state


def _player(index: int, title: PlayerTitle | None, member: Mapping[str, Any], frame: _Frame) -> dict[str, Any]:
    """One player. The operator's name comes first, then the name in the game, the connect code, the port."""
    seen = frame.players.get(str(index), _Player()).post
    port = title.port if title is not None else member.get("port", index + 1)
    code = (title.code if title is not None else "") or member.get("connectCode") or ""
    name = member.get("name") or (title.name if title is not None else "") or code or f"Player {port}"
    return {
        "player": name,
        "code": code,
        "character": title.character if title is not None else "",
        "port": port,
        "score": member.get("score"),
        "stocks": None if seen.stocks is None else int(seen.stocks),
        "percent": None if seen.percent is None else int(seen.percent),
    }


def _files(state: Mapping[str, Any]) -> dict[str, bytes]:
    """The content of each file by its name. All files are always there, so that a source in OBS finds its file."""
    files = {STATE_FILE: msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"}
    for name, key in (("state", "state"), ("stage", "stage"), ("best_of", "bestOf")):
        files[f"{name}.txt"] = _text(state[key])
    for slot in range(SLOTS):
        player = state["players"][slot] if slot < len(state["players"]) else {}
        for name in _PLAYER_TEXTS:
            files[f"{name}{slot + 1}.txt"] = _text(player.get(name))
    return files


def _text(value: Any) -> bytes:
    return b"" if value is None else str(value).encode()
