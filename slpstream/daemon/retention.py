"""What keeps recordings and the index of games within their limits, every few minutes.

Deleted is only what slpstream itself has recorded: replays below the folder of recordings, and not below a folder that
somebody has given to a station as its source. A file that a station follows, or that was written to in the last hour,
stays whatever the limits. The index forgets games and never touches their files.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import trio

from slpstream.daemon.expiry import KeptFile, superfluous
from slpstream.daemon.stations import RunningStations
from slpstream.store import GameIndex
from slpstream.stream import Hub
from slpstream.system.files import real_path
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics

_LOOK_SECONDS = 300.0
_DAY_SECONDS = 86_400
_FRESH_SECONDS = 3600.0
_SUFFIX = ".slp"


class Limit(NamedTuple):
    """Days and bytes; 0 is no limit."""

    max_age_days: int
    max_size_bytes: int


class Limits(NamedTuple):
    """What is kept."""

    games: Limit
    """Those in the index."""
    recordings: Limit


class Swept(NamedTuple):
    """What was deleted, and what could not be."""

    deleted: list[KeptFile]
    failed: dict[Path, str]


class Retention:
    """Keeps the limits of one daemon. `run` it once."""

    def __init__(
        self,
        recordings: Path,
        index: GameIndex,
        hub: Hub,
        running: RunningStations,
        metrics: Metrics,
        *,
        look_seconds: float = _LOOK_SECONDS,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`recordings` need not exist."""
        self._recordings = recordings
        self._index = index
        self._hub = hub
        self._running = running
        self._metrics = metrics
        self._look_seconds = look_seconds
        self._wall_clock = wall_clock
        self._complained: set[Path] = set()
        self._log = get_logger()

    async def run(self, limits: Callable[[], Limits]) -> None:
        """Until cancelled; `limits` is asked each time."""
        while True:
            await self.look(limits())
            await trio.sleep(self._look_seconds)

    async def look(self, limits: Limits) -> None:
        """Once."""
        await self._sweep_recordings(limits.recordings)
        await self._expire_games(limits.games)

    async def _sweep_recordings(self, limit: Limit) -> None:
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
            self._index.gone(Path(file.path))
            self._log.info("recording deleted", file=_printable(Path(file.path)), size_bytes=file.size_bytes)
        self._metrics.deleted_recordings.inc(len(swept.deleted))
        self._metrics.deleted_bytes.inc(sum(file.size_bytes for file in swept.deleted))
        for path, what in swept.failed.items():
            if path not in self._complained:
                self._log.warning("recording cannot be deleted", file=_printable(path), what=what)
        self._complained = set(swept.failed)

    async def _expire_games(self, limit: Limit) -> None:
        before_ms = None
        if limit.max_age_days:
            before_ms = round(1000 * (self._wall_clock() - limit.max_age_days * _DAY_SECONDS))
        running = [
            game.game_id for channel in self._hub.channels.values() for game in channel.games if game.in_progress
        ]
        expired = await self._index.expire(before_ms=before_ms, max_bytes=limit.max_size_bytes or None, spared=running)
        if expired:
            self._log.info("games have left the index", games=expired)
            self._metrics.expired_games.inc(expired)


def sweep(
    folder: Path,
    limit: Limit,
    *,
    now: float,
    followed: Collection[Path] = (),
    sources: Collection[str] = (),
    in_use: Collection[Path] = (),
) -> Swept:
    """Deletes recordings that are beyond a limit, and folders that are empty since. Blocks.

    `followed` are files, `sources` folders that are not ours though they are below `folder`, `in_use` folders that stay
    though they are empty.
    """
    files = list(_files(folder, {real_path(Path(source).expanduser()) for source in sources}))
    chosen = superfluous(
        files,
        max_age_seconds=limit.max_age_days * _DAY_SECONDS or None,
        max_size_bytes=limit.max_size_bytes or None,
        now=now,
        protected=frozenset(real_path(path) for path in followed),
        fresh_seconds=_FRESH_SECONDS,
    )
    swept = Swept([], {})
    top = real_path(folder)
    emptied: set[Path] = set()
    for file in chosen:
        path = Path(file.path)
        try:
            path.unlink()
        except OSError as error:
            swept.failed[path] = error.strerror or str(error)
        else:
            swept.deleted.append(file._replace(path=folder / path.relative_to(top)))  # as stations and index know it
            emptied.add(path.parent)
    kept = {top, *(real_path(path) for path in in_use)}
    for place in emptied:
        _remove_empty(place, kept)
    return swept


def _files(folder: Path, sources: Collection[Path]) -> Iterator[KeptFile]:
    """The recordings: replays in the folders of stations, which are below `folder`. Links are not followed."""
    top = real_path(folder)
    if any(top.is_relative_to(source) for source in sources):
        return  # somebody's replays are all around
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
                yield KeptFile(path, status.st_mtime, status.st_size)


def _remove_empty(folder: Path, kept: Collection[Path]) -> None:
    while folder not in kept:
        try:
            folder.rmdir()
        except OSError:  # not empty
            return
        folder = folder.parent


def _printable(path: Path) -> str:
    return str(path).encode("utf-8", "replace").decode()
