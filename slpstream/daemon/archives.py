"""Archives and compressed replays in watched folders: found every minute, and read by the index in the background.

They are not tailed, because no game writes into them. An archive is read when it has come to rest, and again when it
has changed.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import trio

from slpstream.api import read_game
from slpstream.formats.registry import suffixes
from slpstream.game.record import record_of
from slpstream.model.errors import FormatError, SourceError
from slpstream.sources.archives.members import members
from slpstream.sources.archives.names import COMPRESSED_ENDINGS, is_archive
from slpstream.sources.archives.packed import keep
from slpstream.store.backfill import ArchivedGame, OldFile
from slpstream.store.index import GameIndex
from slpstream.system.file_times import modified_ns
from slpstream.system.files import real_path
from slpstream.system.member_paths import path_text

_LOOK_SECONDS = 60.0
_REST_SECONDS = 10.0
_FOLDERS_AT_ONCE = 200
_PAUSE_SECONDS = 0.001


class ArchiveSearch:
    """Finds archives in the folders of stations. Call `run` in one task, again after a bug."""

    def __init__(
        self,
        index: GameIndex,
        folders: Callable[[], Mapping[str, Path]],
        *,
        passed_over: Path | None = None,
        look_seconds: float = _LOOK_SECONDS,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`folders` returns the folders that are watched now, by station. `passed_over` is a folder whose archives this
        daemon writes itself."""
        self._index = index
        self._folders = folders
        self._passed_over = passed_over
        self._look_seconds = look_seconds
        self._wall_clock = wall_clock
        self._seen: dict[str, Mapping[Path, OldFile]] = {}
        """The files that were there at the last look, by station."""
        self._told: dict[str, dict[Path, OldFile]] = {}
        """Those that the index knows of."""

    async def run(self) -> None:
        """Looks for archives until cancelled."""
        limiter = trio.CapacityLimiter(1)
        while True:
            for station, folder in self._folders().items():
                found = await trio.to_thread.run_sync(
                    partial(find_archives, folder, self._passed_over), limiter=limiter
                )
                self._take(station, found)
            await trio.sleep(self._look_seconds)

    def index_again(self) -> None:
        """Tell the index about all archives at the next look, because it has lost the games in them."""
        self._told.clear()

    def _take(self, station: str, found: Mapping[Path, OldFile]) -> None:
        """Tells the index about files that are new or have changed, once they have come to rest, or that are gone."""
        before, self._seen[station] = self._seen.get(station, {}), found
        told = self._told.setdefault(station, {})
        now = self._wall_clock()
        at_rest = [
            file
            for path, file in found.items()
            if told.get(path) != file and (before.get(path) == file or now - file.mtime_ns / 1e9 > _REST_SECONDS)
        ]
        gone = [path for path in told if path not in found]
        if at_rest or gone:
            files = [(file.path, file.mtime_ns, file.size_bytes) for file in at_rest if not file.is_archive]
            self._index.listed(station, files, [file for file in at_rest if file.is_archive])
        for path in gone:
            del told[path]
        told.update((file.path, file) for file in at_rest)


def find_archives(folder: Path, passed_over: Path | None = None) -> dict[Path, OldFile]:
    """The archives and compressed replays below a folder, but not below `passed_over`; no links are followed.

    Blocks, with pauses.
    """
    found: dict[Path, OldFile] = {}
    base, kept_out = real_path(folder), None if passed_over is None else real_path(passed_over)
    if kept_out is not None and base.is_relative_to(kept_out):
        return found
    left_out = folder / kept_out.relative_to(base) if kept_out is not None and kept_out.is_relative_to(base) else None
    for count, (place, subfolders, names) in enumerate(os.walk(folder), 1):
        if left_out is not None and Path(place) == left_out:
            subfolders.clear()
            continue
        for name in names:
            archive = is_archive(name)
            if not archive and not name.lower().endswith(COMPRESSED_ENDINGS):
                continue
            path = Path(place, name)
            try:
                status = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                found[path] = OldFile(path, modified_ns(status), status.st_size, is_archive=archive)
        if count % _FOLDERS_AT_ONCE == 0:
            time.sleep(_PAUSE_SECONDS)  # for the event loop, which waits for the same lock of Python
    return found


def read_archive(path: Path, *, stats: bool = False) -> Iterator[ArchivedGame]:
    """The games in an archive, in order, as the index keeps them. With `stats` replays are read completely. Blocks."""
    for member in members(path, suffixes()):
        name = path_text(member.path)
        if member.problem is not None:
            yield ArchivedGame(member.path, member.size_bytes, None, f"{name}: {member.problem}")
            continue
        try:
            data = member.read()
            keep(member.path, data)
            record = record_of(read_game(member.path, stats=stats))
        except OSError as error:
            yield ArchivedGame(member.path, member.size_bytes, None, f"{name}: {error.strerror}")
        except FormatError as error:
            yield ArchivedGame(member.path, member.size_bytes, None, f"{name}: {error}")
        except SourceError as error:
            yield ArchivedGame(member.path, member.size_bytes, None, str(error))
        else:
            yield ArchivedGame(member.path, len(data), record)
