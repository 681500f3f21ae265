"""`id = "*"`: every subfolder of a folder is a station. Mirroring tools make one folder for each console's nickname.

New subfolders are seen within a second: a folder's own modification time changes with its entries. One that vanishes
leaves its station `offline` for a while, because tools rename and restore; then the station goes. When the folder
itself cannot be read, nobody knows what is in it, and all stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import trio

from slpstream.config import EACH_SUBFOLDER, StationConfig, station_id
from slpstream.daemon.stations import RunningStations
from slpstream.system.files import real_path
from slpstream.system.logs import get_logger

_LOOK_SECONDS = 1.0
_OFFLINE_SECONDS = 600.0


class Found(NamedTuple):
    """What a look at the folders has found."""

    folders: Mapping[Path, Path]
    """The subfolders, in the order of their names; each with the folder that it really is, which links hide."""
    unreadable: frozenset[Path]
    """Folders of which nothing could be learned."""


def expand(stations: Sequence[StationConfig]) -> list[StationConfig]:
    """The stations with those of all subfolders that there are now, for a command that runs once. Blocks."""
    explicit = [station for station in stations if station.id != EACH_SUBFOLDER]
    roots = [Path(station.folder).expanduser() for station in stations if station.id == EACH_SUBFOLDER]
    named = _Names(explicit)
    return [*explicit, *named.stations(find(roots).folders)]


def find(roots: Sequence[Path]) -> Found:
    """The subfolders of some folders; hidden ones are none. Blocks."""
    folders: dict[Path, Path] = {}
    unreadable: set[Path] = set()
    for root in roots:
        try:
            with os.scandir(root) as entries:
                names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and _is_folder(entry))
        except OSError:
            unreadable.add(root)
            continue
        folders |= {root / name: real_path(root / name) for name in names}
    return Found(folders, frozenset(unreadable))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


class _Names:
    """The ids of subfolders: a folder keeps the one that it was given first."""

    def __init__(self, explicit: Sequence[StationConfig]) -> None:
        """Explicit stations have their names, and their folders are stations already."""
        self._taken = {station.id for station in explicit}
        self._folders = {real_path(Path(station.folder).expanduser()) for station in explicit if station.folder}
        self._ids: dict[Path, str] = {}

    def keep(self, others: _Names) -> None:
        """Folders that have been given ids elsewhere keep them."""
        for folder, name in others._ids.items():
            if name not in self._taken:
                self._give(folder, name)

    def stations(self, folders: Mapping[Path, Path], also_taken: Collection[str] = ()) -> list[StationConfig]:
        """A station for each folder that is none already; a folder that is found twice is one."""
        stations: list[StationConfig] = []
        seen = set(self._folders)
        for folder, real in folders.items():
            if real in seen:
                continue
            seen.add(real)
            if self._ids.get(folder) in {None, *also_taken}:  # while it was away somebody else was given its id
                self._give(folder, station_id(folder.name, self._taken | set(also_taken)))
            shown = folder.name.encode("utf-8", "replace").decode()
            stations.append(StationConfig(id=self._ids[folder], folder=str(folder), name=shown))
        return stations

    def _give(self, folder: Path, name: str) -> None:
        self._ids[folder] = name
        self._taken.add(name)


class Subfolders:
    """Keeps the stations of the entries `*` as their folders are. `run` it once."""

    def __init__(
        self, running: RunningStations, *, scan_seconds: float, offline_seconds: float = _OFFLINE_SECONDS
    ) -> None:
        """`scan_seconds`: how often folders are read whose modification time says nothing."""
        self._running = running
        self._scan_seconds = scan_seconds
        self._offline_seconds = offline_seconds
        self._roots: list[Path] = []
        self._names = _Names(())
        self._explicit: list[StationConfig] = []
        self._configured = trio.Event()
        self.looked = trio.Event()
        """The folders were looked at once."""
        self.unreadable: frozenset[Path] = frozenset()
        """Of which nobody knows what is in them."""
        self._seen: dict[Path, tuple[Path, float]] = {}
        """Subfolders with what they really are, and when they were last there."""
        self._times: list[int | None] = []
        self._scan_at = 0.0
        self._log = get_logger()

    def configure(self, stations: Sequence[StationConfig]) -> None:
        """The configured stations, those with `*` among them; from now on they are looked at."""
        self._roots = [Path(station.folder).expanduser() for station in stations if station.id == EACH_SUBFOLDER]
        self._explicit = [station for station in stations if station.id != EACH_SUBFOLDER]
        self._configured.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            if self._configured.is_set():
                self._configured = trio.Event()
                self._scan_at = 0.0
                names = await trio.to_thread.run_sync(_Names, self._explicit)
                names.keep(self._names)
                self._names = names
            await self._look()
            self.looked.set()
            with trio.move_on_after(_LOOK_SECONDS if self._roots else float("inf")):
                await self._configured.wait()

    async def _look(self) -> None:
        roots, now = self._roots, trio.current_time()
        times = await trio.to_thread.run_sync(_modification_times, roots)
        if times == self._times and now < self._scan_at:
            return
        found = await trio.to_thread.run_sync(find, roots)
        self._times, self._scan_at = times, now + self._scan_seconds
        for root in sorted(found.unreadable - self.unreadable):
            self._log.warning("folder of stations cannot be read", folder=str(root))
        self.unreadable = found.unreadable
        for folder, real in found.folders.items():
            self._seen[folder] = (real, now)
        for folder, (real, seen_at) in list(self._seen.items()):
            if folder.parent in found.unreadable:
                self._seen[folder] = (real, now)
            elif folder.parent not in roots or now - seen_at >= self._offline_seconds:
                del self._seen[folder]
        discovered = [name for name in self._running if self._running[name].origin == "discovered"]
        folders = {folder: self._seen[folder][0] for folder in sorted(self._seen)}
        await self._running.apply(self._names.stations(folders, discovered), "subfolder")


def _modification_times(folders: Sequence[Path]) -> list[int | None]:
    """In a worker thread."""
    times: list[int | None] = []
    for folder in folders:
        try:
            times.append(folder.stat().st_mtime_ns)
        except OSError:
            times.append(None)
    return times
