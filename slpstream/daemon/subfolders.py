"""The stations of configuration entries with `id = "*"`.

Such an entry turns each subfolder of a folder into a station.

This is made for mirroring tools, which create one folder per console.

We notice a new subfolder within a second, because it changes the modification time of its parent. If a subfolder
vanishes, its station stays `offline` for a while before it is removed, because some tools rename folders and restore
them. While the parent folder itself can't be read, all of its stations stay.

Links that lead out of the parent folder, or to a folder that another station already follows, are refused. The first
kind would expose other files, and the second would show each game twice.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import trio

from slpstream.config import EACH_SUBFOLDER, StationConfig, station_id
from slpstream.daemon.stations import RunningStations
from slpstream.system.files import real_path
from slpstream.system.logs import get_logger

_LOOK_SECONDS = 1.0
_OFFLINE_SECONDS = 600.0


class Listing(NamedTuple):
    """The subfolders of some folders, as we found them."""

    folders: Mapping[Path, Path]
    """The subfolders, in the order of their names. Each comes with its real path, in which all links are resolved."""
    unreadable: frozenset[Path]
    """The parent folders that could not be read."""
    refused: Mapping[Path, str]
    """The links that we don't follow, each with the reason."""


def expand(stations: Sequence[StationConfig]) -> list[StationConfig]:
    """Return the stations, with each entry `*` replaced by its subfolders.

    Use this for commands that only run once. It blocks.
    """
    explicit = [station for station in stations if station.id != EACH_SUBFOLDER]
    roots = [Path(station.folder).expanduser() for station in stations if station.id == EACH_SUBFOLDER]
    ids = _FolderIds(explicit)
    return [*explicit, *ids.stations(list_subfolders(roots).folders)]


def list_subfolders(roots: Sequence[Path]) -> Listing:
    """List the subfolders of the given folders, except for hidden ones. This blocks."""
    folders: dict[Path, Path] = {}
    unreadable: set[Path] = set()
    refused: dict[Path, str] = {}
    for root in roots:
        try:
            with os.scandir(root) as entries:
                names = sorted(entry.name for entry in entries if not entry.name.startswith(".") and _is_folder(entry))
        except OSError:
            unreadable.add(root)
            continue
        real_root = real_path(root)
        found = {root / name: real_path(root / name) for name in names}
        plain = {folder: real for folder, real in found.items() if real == real_root / folder.name}
        accepted = dict(plain)
        for folder in [folder for folder in found if folder not in plain]:
            reason = _trouble_with_link(found[folder], real_root, accepted.values())
            if reason is None:
                accepted[folder] = found[folder]
            else:
                refused[folder] = reason
        folders |= {folder: accepted[folder] for folder in found if folder in accepted}
    return Listing(folders, frozenset(unreadable), refused)


def _trouble_with_link(target: Path, real_root: Path, followed: Iterable[Path]) -> str | None:
    """Return the reason why a link below `real_root` to `target` must not be followed, or `None` if it may be.

    All paths must already be resolved.
    """
    if not target.is_relative_to(real_root):
        return "a link out of the folder"
    if target == real_root or any(target.is_relative_to(other) or other.is_relative_to(target) for other in followed):
        return "a link to a folder that is followed already"
    return None


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


class _FolderIds:
    """The station ids of subfolders. Once a folder has an id, it keeps it."""

    def __init__(self, explicit: Sequence[StationConfig]) -> None:
        """`explicit` are the other configured stations. They keep their ids and their folders."""
        self._taken = {station.id for station in explicit}
        self._folders = {real_path(Path(station.folder).expanduser()) for station in explicit if station.folder}
        self._ids: dict[Path, str] = {}

    def keep(self, before: _FolderIds) -> None:
        """Keep the ids that `before` has assigned, except for those that belong to an explicit station now."""
        for folder, name in before._ids.items():
            if name not in self._taken:
                self._assign(folder, name)

    def stations(self, folders: Mapping[Path, Path], also_taken: Collection[str] = ()) -> list[StationConfig]:
        """Return a station for each folder that no other station follows.

        A folder that can be reached by two names only gets one station.
        """
        stations: list[StationConfig] = []
        seen = set(self._folders)
        for folder, real in folders.items():
            if real in seen:
                continue
            seen.add(real)
            if self._ids.get(folder) in {None, *also_taken}:  # another station took its id while it was missing
                self._assign(folder, station_id(folder.name, self._taken | set(also_taken)))
            shown = folder.name.encode("utf-8", "replace").decode()
            stations.append(StationConfig(id=self._ids[folder], folder=str(folder), name=shown))
        return stations

    def _assign(self, folder: Path, name: str) -> None:
        self._ids[folder] = name
        self._taken.add(name)


class Subfolders:
    """Keeps the stations of the entries `*` in line with their subfolders.

    Call `run` in one task, and call it again after a bug.
    """

    def __init__(
        self,
        running: RunningStations,
        *,
        scan_seconds: float,
        offline_seconds: float = _OFFLINE_SECONDS,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        """Folders are listed whenever their modification time changes. They are also listed every `scan_seconds`,
        because on some file systems it never does.
        """
        self._running = running
        self._scan_seconds = scan_seconds
        self._offline_seconds = offline_seconds
        self._look_seconds = look_seconds
        self._roots: list[Path] = []
        self._ids = _FolderIds(())
        self._explicit: list[StationConfig] = []
        self._configured = trio.Event()
        self.looked = trio.Event()
        """This is set once the folders have been listed."""
        self.unreadable: frozenset[Path] = frozenset()
        """The parent folders that could not be read."""
        self._refused: Mapping[Path, str] = {}
        self._seen: dict[Path, tuple[Path, float]] = {}
        """The subfolders, each with its real path and the time when we saw it last."""
        self._times: list[int | None] = []
        self._scan_at = 0.0
        self._log = get_logger()

    def configure(self, stations: Sequence[StationConfig]) -> None:
        """Set the configured stations (including the entries `*`), and make `run` list the folders without delay."""
        self._roots = [Path(station.folder).expanduser() for station in stations if station.id == EACH_SUBFOLDER]
        self._explicit = [station for station in stations if station.id != EACH_SUBFOLDER]
        self._configured.set()

    async def run(self) -> None:
        """Watch the folders until cancelled."""
        self._configured.set()  # after a bug, the stations may not match the folders
        while True:
            if self._configured.is_set():
                self._configured = trio.Event()
                self._scan_at = 0.0
                ids = await trio.to_thread.run_sync(_FolderIds, self._explicit)
                ids.keep(self._ids)
                self._ids = ids
            await self._look()
            self.looked.set()
            with trio.move_on_after(self._look_seconds if self._roots else float("inf")):
                await self._configured.wait()

    async def _look(self) -> None:
        roots, now = self._roots, trio.current_time()
        times = await trio.to_thread.run_sync(_modification_times, roots)
        if times == self._times and now < self._scan_at:
            return
        found = await trio.to_thread.run_sync(list_subfolders, roots)
        self._times, self._scan_at = times, now + self._scan_seconds
        for root in sorted(found.unreadable - self.unreadable):
            self._log.warning("folder of stations cannot be read", folder=str(root))
        self.unreadable = found.unreadable
        for folder, reason in sorted(found.refused.items()):
            self._seen.pop(folder, None)
            if self._refused.get(folder) != reason:
                self._log.warning("subfolder refused", folder=str(folder), what=reason)
        self._refused = found.refused
        for folder, real in found.folders.items():
            self._seen[folder] = (real, now)
        for folder, (real, seen_at) in list(self._seen.items()):
            if folder.parent in found.unreadable:
                self._seen[folder] = (real, now)
            elif folder.parent not in roots or now - seen_at >= self._offline_seconds:
                del self._seen[folder]
        discovered = [name for name in self._running if self._running[name].origin == "discovered"]
        folders = {folder: self._seen[folder][0] for folder in sorted(self._seen)}
        await self._running.apply(self._ids.stations(folders, discovered), "subfolder")


def _modification_times(folders: Sequence[Path]) -> list[int | None]:
    """Return the modification time of each folder in nanoseconds, or `None` if it can't be read. This blocks."""
    times: list[int | None] = []
    for folder in folders:
        try:
            times.append(folder.stat().st_mtime_ns)
        except OSError:
            times.append(None)
    return times
