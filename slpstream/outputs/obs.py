"""Small files that show the state of a station, for programs that read text from a file: OBS, stream graphics.

`<folder>/<station>/` has a text file for each value and `state.json` with all of them. A file is written when its value
has changed, beside its place and then renamed, so nobody reads half of one. Only the newest state counts: it is looked
at a few times a second at most, whatever happens in between.
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
    """What a player is called, as far as the game says it."""

    player_index: int
    port: int
    name: str = ""
    code: str = ""
    character: str = ""


class Titles(NamedTuple):
    """What is to be read of a game's start."""

    stage: str = ""
    players: Sequence[PlayerTitle] = ()


TitlesOf = Callable[[Mapping[str, Any]], Titles]
"""The payload of a `game_start` to names for people."""


class _Post(msgspec.Struct, frozen=True):
    percent: float | None = None
    stocks: float | None = msgspec.field(default=None, name="stocksRemaining")


class _Player(msgspec.Struct):
    post: _Post = _Post()


class _Frame(msgspec.Struct):
    frame: int | None = None
    players: dict[str, _Player] = {}


class ObsFiles:
    """The files of all stations. `follow` each."""

    def __init__(self, folder: Path, titles_of: TitlesOf, *, limiter: trio.CapacityLimiter) -> None:
        self._folder = folder
        self._titles_of = titles_of
        self._limiter = limiter
        self._sets: dict[str, Mapping[str, Any]] = {}
        self._channels: dict[str, Channel] = {}
        self._failing: dict[str, str] = {}
        self._log = get_logger()

    def not_ready(self) -> list[str]:
        """What keeps them from being written."""
        return [f"OBS files of {station}: {what}" for station, what in self._failing.items()]

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """The set of a station: payload of a `set` message. Returns at once."""
        self._sets[station] = payload
        channel = self._channels.get(station)
        if channel is not None:
            channel.notify()

    async def follow(self, channel: Channel) -> None:
        """Writes a station's files, until cancelled."""
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
        """Whether all that have changed could be written."""
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
    """In a worker thread."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        beside = folder / f".{name}.new"
        try:
            beside.write_bytes(data)
            beside.replace(path)
        except OSError:
            with suppress(OSError):
                beside.unlink()
            raise


def _state(channel: Channel, known: tuple[Game, Titles] | None, played: Mapping[str, Any]) -> dict[str, Any]:
    """All there is to show, as `state.json` has it."""
    said = channel.state_message()
    state: dict[str, Any] = {
        "station": channel.station,
        "state": said["state"],
        "reason": said.get("reason", ""),
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
        members = {}  # of another game: who sits where may have changed
    by_index = {title.player_index: title for title in titles.players} if known is not None else {}
    order = list(members) if members and by_index.keys() <= members.keys() else list(by_index)
    for index in (order or list(members))[:SLOTS]:
        state["players"].append(_player(index, by_index.get(index), members.get(index, {}), frame))
    return state


def _player(index: int, title: PlayerTitle | None, member: Mapping[str, Any], frame: _Frame) -> dict[str, Any]:
    """The operator's name comes first, then what the game says, then the port."""
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
    """Name to content. All names are always there, so that a source that shows one finds it."""
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
