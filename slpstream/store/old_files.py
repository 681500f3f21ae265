"""Read the replay files and archives that existed before the daemon started into the index, one at a time."""

from __future__ import annotations

import itertools
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

import trio

from slpstream.store.backfill import (
    ArchivedGame,
    OldFile,
    Read,
    ReadArchive,
    archive_entry,
    member_entry,
    path_key,
    read_entry,
)
from slpstream.store.pending_entries import PendingEntries
from slpstream.system.files import is_placeholder
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger
from slpstream.system.member_paths import missing

_FILES_PER_BATCH = 50
_MIN_PAUSE_SECONDS = 0.002
"""Minimum pause between two files, so that live games are not delayed."""
_MAX_LOGGED_MEMBERS = 20
"""Maximum number of logged problems per archive. The index has all of them."""


KnownFiles = Callable[[str], Awaitable[Mapping[bytes, tuple[int, int]]]]
"""Returns the files of a station that are in the index, as `Games.known_files` does."""
StaleMembers = Callable[[bytes, int], Awaitable[Sequence[bytes]]]
"""Returns the members of an archive that were read from an earlier version of it, as `Games.stale_members` does."""


class OldFiles:
    """The old files that are waiting to be read."""

    def __init__(
        self,
        read: Read,
        read_archive: ReadArchive | None,
        known_files: KnownFiles,
        stale_members: StaleMembers,
        pending: PendingEntries,
        errors: InternalErrors,
    ) -> None:
        """If `read_archive` is `None`, archives aren't read."""
        self._read = read
        self._read_games = read_archive
        self._known_files = known_files
        self._stale_members = stale_members
        self._pending = pending
        self._errors = errors
        self._listed: dict[str, list[OldFile]] = {}
        self._to_read = trio.Event()
        self._unread = 0
        """The number of files of the station that is being read."""
        self._reported: set[bytes] = set()
        """Files that stations reported while old files were being read. The reports are newer."""
        self._log = get_logger()

    @property
    def waiting(self) -> int:
        """How many files still have to be read."""
        return self._unread + sum(len(files) for files in list(self._listed.values()))

    def add(self, station: str, files: Sequence[OldFile]) -> None:
        """Read those files of a station that are new or have changed."""
        self._listed[station] = [*self._listed.get(station, ()), *files]
        self._to_read.set()

    def note_reported(self, path: bytes) -> None:
        """Note that a station has just reported a file, so we don't have to read it."""
        if self.waiting:
            self._reported.add(path)

    async def run(self) -> None:
        """Read one file at a time until cancelled.

        After each file there's a pause, so this never needs more than half a core.
        """
        limiter = trio.CapacityLimiter(1)
        self._to_read.set()
        while True:
            await self._to_read.wait()
            self._to_read = trio.Event()
            for station in list(self._listed):
                files = self._listed.pop(station)
                try:
                    await self._read_files(station, files, limiter)
                    files = []
                finally:
                    self._unread = 0
                    if files:  # a bug ended the reading, which starts again
                        self._listed[station] = [*files, *self._listed.get(station, ())]
            if not self._listed:
                self._reported.clear()

    async def _read_files(self, station: str, files: Sequence[OldFile], limiter: trio.CapacityLimiter) -> None:
        self._unread = len(files)
        unknown = await self._unknown(station, files)
        self._unread = len(unknown)
        for first in range(0, len(unknown), _FILES_PER_BATCH):
            for file in unknown[first : first + _FILES_PER_BATCH]:
                began = trio.current_time()
                if file.is_archive:
                    with self._errors.contain("index", file=str(file.path)):
                        await self._read_archive(station, file, limiter)
                    self._unread -= 1
                    continue
                with self._errors.contain("index", file=str(file.path)):
                    entry = await trio.to_thread.run_sync(read_entry, self._read, station, file, limiter=limiter)
                    if entry.path not in self._reported and entry.path not in self._pending:
                        self._pending.put(entry)
                self._unread -= 1
                await trio.sleep(max(_MIN_PAUSE_SECONDS, trio.current_time() - began))
            await self._pending.written()
        if unknown:
            self._log.info("old games indexed", station=station, files=len(unknown))

    async def _read_archive(self, station: str, archive: OldFile, limiter: trio.CapacityLimiter) -> None:
        """Read the games in the given archive, one at a time and with the same pauses.

        If there are games in the index that aren't in the archive any more, they are removed.
        """
        if self._read_games is None:
            return
        games = self._read_games(archive.path)
        problems = 0
        try:
            for count in itertools.count(1):
                began = trio.current_time()
                found = await trio.to_thread.run_sync(next, games, None, limiter=limiter)
                if found is None:
                    break
                if found.problem is not None:
                    problems += 1
                    if problems <= _MAX_LOGGED_MEMBERS:
                        self._log.warning("replay in an archive cannot be read", what=found.problem)
                if _can_be_indexed(found):
                    self._pending.put(member_entry(station, archive, found))
                if count % _FILES_PER_BATCH == 0:
                    await self._pending.written()
                await trio.sleep(max(_MIN_PAUSE_SECONDS, trio.current_time() - began))
        finally:
            close = getattr(games, "close", None)
            if close is not None:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(close)
        await self._pending.written()
        path = path_key(archive.path)
        stale = await self._stale_members(path, archive.mtime_ns)
        if stale:
            self._pending.remove(stale)
        self._pending.put(archive_entry(station, archive))
        if problems:
            self._log.warning("archive has replays that cannot be read", file=str(archive.path), replays=problems)
        await self._pending.written()

    async def _unknown(self, station: str, files: Sequence[OldFile]) -> list[OldFile]:
        """Return the files that are new or have changed, newest first.

        Files that don't exist any more are removed from the index.
        """
        known = await self._known_files(station)
        gone, unknown = await trio.to_thread.run_sync(_compare, known, files)
        for count, path in enumerate(gone):
            self._pending.remove([path])
            if count % _FILES_PER_BATCH == 0:
                await trio.lowlevel.checkpoint()
        return unknown


def _can_be_indexed(found: ArchivedGame) -> bool:
    """Whether the path of a member stays the same if we store it. This isn't the case for names like `../..`."""
    path = os.fspath(found.path)
    return os.path.isabs(path) and os.path.normpath(path) == path  # noqa: PTH117 -- `Path` is slower


def _is_placeholder(path: Path) -> bool:
    """Whether the file would be downloaded if we read it.

    If so, we leave it alone until it was downloaded and the daemon starts again.
    """
    try:
        return is_placeholder(path)
    except OSError:
        return False  # reading it fails too, and reports the error


def _compare(known: Mapping[bytes, tuple[int, int]], files: Iterable[OldFile]) -> tuple[list[bytes], list[OldFile]]:
    """Return two lists: the known files that don't exist any more, and the listed files that are new or have changed.
    This blocks.

    It doesn't notice if a member has disappeared from its archive, but this is found out when the archive is read
    again, since it has changed.
    """
    listed = {path_key(file.path): file for file in files}
    gone = missing(path for path in known if path not in listed)
    unknown = [
        file
        for path, file in listed.items()
        if known.get(path) != (file.mtime_ns, file.size_bytes) and not _is_placeholder(file.path)
    ]
    return gone, sorted(unknown, key=lambda file: file.mtime_ns, reverse=True)
