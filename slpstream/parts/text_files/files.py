"""Write the state of a station into small text files, for programs such as OBS that can show text from a file.

In `<folder>/<station>/`, you find a text file for each value, and `state.json`, which contains all of them. If a value
has changed, we write its file under another name and then rename it, so that you never read half of it. Only the newest
state counts, so the files are updated at most a few times per second.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import trio

from slpstream.game.station_state import MAX_PLAYERS, station_state
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.text_files.part import ObsFolder
from slpstream.stream.channel import Channel
from slpstream.system.logs import get_logger
from slpstream.system.replaced_files import replace_file

STATE_FILE = "state.json"
_INTERVAL_SECONDS = 0.25
_RETRY_SECONDS = 5.0
_WRITER_THREADS = 4
_PLAYER_TEXTS = ("player", "code", "character", "port", "score", "stocks", "percent")


def start(host: Host) -> ObsFiles:
    """The files in the configured folder."""
    folder = Path(host.config.section(ObsFolder).folder).expanduser()
    return ObsFiles(folder, limiter=trio.CapacityLimiter(_WRITER_THREADS))


class ObsFiles(RunningPart):
    """The files of all stations."""

    def __init__(self, folder: Path, *, limiter: trio.CapacityLimiter) -> None:
        self._folder = folder
        self._limiter = limiter
        self._sets: dict[str, Mapping[str, Any]] = {}
        self._channels: dict[str, Channel] = {}
        self._failing: dict[str, str] = {}
        self._log = get_logger()

    def not_ready(self) -> list[str]:
        """Return the reasons why files can't be written."""
        return [f"OBS files of {station}: {what}" for station, what in self._failing.items()]

    def set_changed(self, station: str, payload: Mapping[str, Any]) -> None:
        """Take the payload of a `set` message of the given station. This doesn't wait."""
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
        """Write those files that have changed. Returns whether this was possible."""
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


def _files(state: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the content of each file by its name.

    All files always exist, because otherwise a source in OBS wouldn't find its file.
    """
    files = {STATE_FILE: msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n"}
    for name, key in (("state", "state"), ("stage", "stage"), ("best_of", "bestOf")):
        files[f"{name}.txt"] = _text(state[key])
    for slot in range(MAX_PLAYERS):
        player = state["players"][slot] if slot < len(state["players"]) else {}
        for name in _PLAYER_TEXTS:
            instead = "gameScore" if name == "stocks" and "gameScore" in player else name
            files[f"{name}{slot + 1}.txt"] = _text(player.get(instead))
    return files


def _text(value: Any) -> bytes:
    return b"" if value is None else str(value).encode()
