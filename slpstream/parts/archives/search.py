"""Search watched folders for archives and compressed replays every minute, and report them to the index.

Since no game ever writes into one of these, there's no need to tail them. We report a file when it has stopped
changing. If it changes later, it is reported again. The index reads it in the background.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import trio

from slpstream.sources.packed_names import COMPRESSED_ENDINGS, is_archive
from slpstream.store import GameIndex
from slpstream.store.backfill import OldFile
from slpstream.system.file_times import modified_ns
from slpstream.system.files import real_path

_SEARCH_SECONDS = 60.0
_MIN_AGE_SECONDS = 10.0
"""A file that was modified longer ago than this has stopped changing."""
_FOLDERS_PER_PAUSE = 200
_PAUSE_SECONDS = 0.001


class ArchiveSearch:
    """Finds the archives in the folders of stations."""

    def __init__(
        self,
        index: GameIndex,
        excluded: Callable[[], Path | None] = lambda: None,
        *,
        search_seconds: float = _SEARCH_SECONDS,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """If this daemon writes archives itself, `excluded` returns the folder in which they are, so that we don't
        search it.
        """
        self._index = index
        self._excluded = excluded
        self._search_seconds = search_seconds
        self._wall_clock = wall_clock
        self._limiter = trio.CapacityLimiter(1)
        self._seen: dict[str, Mapping[Path, OldFile]] = {}
        """The files that the last search found, by station."""
        self._reported: dict[str, dict[Path, OldFile]] = {}
        """Those that the index knows, by station."""

    async def run(self, station: str, folder: Path) -> None:
        """Search the folder of the given station every minute until cancelled.

        Only one folder is searched at a time.
        """
        while True:
            search = partial(find_archives, folder, self._excluded())
            found = await trio.to_thread.run_sync(search, limiter=self._limiter, abandon_on_cancel=True)
            self._report(station, found)
            await trio.sleep(self._search_seconds)

    def index_again(self) -> None:
        """Report all archives again at the next search, because the index has lost their games."""
        self._reported.clear()

    def _report(self, station: str, found: Mapping[Path, OldFile]) -> None:
        """Report files that are new or have changed, as soon as they stop changing.

        Files that don't exist any more are removed.
        """
        before, self._seen[station] = self._seen.get(station, {}), found
        reported = self._reported.setdefault(station, {})
        now = self._wall_clock()
        unchanging = [
            file
            for path, file in found.items()
            if reported.get(path) != file and (before.get(path) == file or now - file.mtime_ns / 1e9 > _MIN_AGE_SECONDS)
        ]
        gone = [path for path in reported if path not in found]
        if unchanging or gone:
            files = [(file.path, file.mtime_ns, file.size_bytes) for file in unchanging if not file.is_archive]
            self._index.listed(station, files, [file for file in unchanging if file.is_archive])
        for path in gone:
            del reported[path]
        reported.update((file.path, file) for file in unchanging)


def find_archives(folder: Path, excluded: Path | None = None) -> dict[Path, OldFile]:
    """Return the archives and compressed replays below a folder, except for those below `excluded`. Links aren't
    followed.

    This blocks, and pauses from time to time.
    """
    found: dict[Path, OldFile] = {}
    excluded_here = None
    if excluded is not None:
        base, excluded = real_path(folder), real_path(excluded)
        if base.is_relative_to(excluded):
            return found
        if excluded.is_relative_to(base):
            excluded_here = folder / excluded.relative_to(base)
    for count, (place, subfolders, names) in enumerate(os.walk(folder), 1):
        if Path(place) == excluded_here:
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
        if count % _FOLDERS_PER_PAUSE == 0:
            time.sleep(_PAUSE_SECONDS)  # lets the event loop have Python's global lock
    return found
