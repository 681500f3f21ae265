"""The retention of recordings, which keeps them within limits for their age and size.

We only delete files that slpstream itself has recorded. These are the replays below the recordings folder, except for
those below a folder that is configured as the source of a station. A file that a station follows, or that was written
to in the last hour, is always kept, regardless of the limits.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import trio

from slpstream.daemon.stations import RunningStations
from slpstream.parts.consoles.part import RecordingLimits
from slpstream.store.index import GameIndex
from slpstream.system.files import real_path
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics

_LOOK_SECONDS = 300.0
_DAY_SECONDS = 86_400
_FRESH_SECONDS = 3600.0
_SUFFIX = ".slp"


class StoredFile(NamedTuple):
    """A file that counts towards a limit."""

    path: Path
    mtime: float
    """The Unix time in seconds."""
    size_bytes: int


class Sweep(NamedTuple):
    """The result of deleting files."""

    deleted: list[StoredFile]
    failed: dict[Path, str]
    """The files that could not be deleted, each with the reason."""


class Retention:
    """Enforces the limits of recordings. Call `run` in one task, and call it again after a bug."""

    def __init__(
        self,
        recordings: Path,
        index: GameIndex,
        running: RunningStations,
        metrics: Metrics,
        *,
        look_seconds: float = _LOOK_SECONDS,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`recordings` is the folder of recordings. It doesn't have to exist."""
        self._recordings = recordings
        self._index = index
        self._running = running
        self._metrics = metrics
        self._look_seconds = look_seconds
        self._wall_clock = wall_clock
        self._undeletable: set[Path] = set()
        """The files that were reported in the last sweep. We keep them so that each file is only reported once."""
        self._log = get_logger()

    async def run(self, limits: Callable[[], RecordingLimits]) -> None:
        """Enforce the limits until cancelled. `limits` is called for each sweep, because a reload can change them."""
        while True:
            await self._sweep(limits())
            await trio.sleep(self._look_seconds)

    async def _sweep(self, limit: RecordingLimits) -> None:
        if not limit.max_age_days and not limit.max_size_bytes:
            return
        stations = self._running.stations
        sources = [running.config.folder for running in self._running.values() if running.config.folder]
        swept = await trio.to_thread.run_sync(
            partial(
                sweep,
                self._recordings,
                limit,
                now=self._wall_clock(),
                followed=[path for station in stations for path in station.followed],
                sources=sources,
                in_use=[station.folder for station in stations],
            )
        )
        for file in swept.deleted:
            self._index.gone(file.path)
            self._log.info("recording deleted", file=_printable(file.path), size_bytes=file.size_bytes)
        self._metrics.counter("slpstream_deleted_recordings_total").inc(len(swept.deleted))
        self._metrics.counter("slpstream_deleted_recordings_bytes_total").inc(
            sum(file.size_bytes for file in swept.deleted)
        )
        for path, what in swept.failed.items():
            if path not in self._undeletable:
                self._log.warning("recording cannot be deleted", file=_printable(path), what=what)
        self._undeletable = set(swept.failed)


def select_files(
    files: Iterable[StoredFile],
    *,
    max_age_seconds: float | None,
    max_size_bytes: int | None,
    now: float,
    protected: Collection[Path] = (),
    fresh_seconds: float = 0.0,
) -> list[StoredFile]:
    """Select the files that have to be deleted to satisfy the limits for age and size, oldest first.

    First, these are all files that are older than `max_age_seconds`. Then, they are the oldest ones, until the total
    size is at most `max_size_bytes`. `None` disables a limit. Two kinds of files are never selected, but their size
    counts: those that are protected, and those that were written to in the last `fresh_seconds`, because they may be in
    progress.
    """
    oldest_first = sorted(files, key=lambda file: (file.mtime, file.path))
    size_bytes = sum(file.size_bytes for file in oldest_first)
    chosen: list[StoredFile] = []
    for file in oldest_first:
        age_seconds = now - file.mtime
        too_old = max_age_seconds is not None and age_seconds > max_age_seconds
        too_large = max_size_bytes is not None and size_bytes > max_size_bytes
        if (too_old or too_large) and file.path not in protected and age_seconds >= fresh_seconds:
            chosen.append(file)
            size_bytes -= file.size_bytes
    return chosen


def sweep(
    folder: Path,
    limit: RecordingLimits,
    *,
    now: float,
    followed: Collection[Path] = (),
    sources: Collection[str] = (),
    in_use: Collection[Path] = (),
) -> Sweep:
    """Delete the recordings that exceed the limit, and the folders that become empty by this. This blocks.

    Files in `followed` are kept. Files below `sources` belong to the user, so they are kept too, even if they are below
    `folder`. Folders in `in_use` are kept even if they are empty.
    """
    files = list(_recordings(folder, {real_path(Path(source).expanduser()) for source in sources}))
    chosen = select_files(
        files,
        max_age_seconds=limit.max_age_days * _DAY_SECONDS or None,
        max_size_bytes=limit.max_size_bytes or None,
        now=now,
        protected=frozenset(real_path(path) for path in followed),
        fresh_seconds=_FRESH_SECONDS,
    )
    swept = Sweep([], {})
    top = real_path(folder)
    emptied: set[Path] = set()
    for file in chosen:
        try:
            file.path.unlink()
        except OSError as error:
            swept.failed[file.path] = error.strerror or str(error)
        else:
            # Stations and the index know the file by its path with links.
            swept.deleted.append(file._replace(path=folder / file.path.relative_to(top)))
            emptied.add(file.path.parent)
    kept = {top, *(real_path(path) for path in in_use)}
    for place in emptied:
        _remove_empty(place, kept)
    return swept


def _recordings(folder: Path, sources: Collection[Path]) -> Iterator[StoredFile]:
    """Yield the replays in the stations' subfolders of the recordings folder. This doesn't follow any links."""
    top = real_path(folder)
    if any(top.is_relative_to(source) for source in sources):
        return  # the recordings folder lies inside a user's replay folder: any file in it may be the user's
    for place, folders, names in os.walk(top):
        folders[:] = [name for name in folders if Path(place, name) not in sources]
        if Path(place) == top:
            continue
        for name in names:
            path = Path(place, name)
            try:
                status = path.lstat()
            except OSError:
                continue
            if path.suffix.lower() == _SUFFIX and stat.S_ISREG(status.st_mode):
                yield StoredFile(path, status.st_mtime, status.st_size)


def _remove_empty(folder: Path, kept: Collection[Path]) -> None:
    while folder not in kept:
        try:
            folder.rmdir()
        except OSError:  # not empty
            return
        folder = folder.parent


def _printable(path: Path) -> str:
    return str(path).encode("utf-8", "replace").decode()
