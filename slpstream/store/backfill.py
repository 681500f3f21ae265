"""Read files that existed before the daemon started, and turn them into entries of the index."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from slpstream.model.errors import FormatError, SourceError
from slpstream.store.game_record import Entry, GameRecord
from slpstream.system.member_paths import absolute_text

Read = Callable[[Path], GameRecord]
"""Reads the game in a file. Called in a worker thread. Raises `FormatError` and `SourceError`."""


class OldFile(NamedTuple):
    """A file that isn't being written."""

    path: Path
    mtime_ns: int
    size_bytes: int
    is_archive: bool = False


class ArchivedGame(NamedTuple):
    """The game in a member of an archive. If there is no game, then `record` is `None`, and `problem` explains why."""

    path: Path
    """The path of the archive with the name of the member."""
    size_bytes: int
    record: GameRecord | None
    problem: str | None = None


ReadArchive = Callable[[Path], Iterator[ArchivedGame]]
"""Reads the games in an archive lazily and in order. Called in a worker thread. Problems do not raise."""

ARCHIVE = "an archive; the games in it have names of their own"
"""The `Entry.problem` of an archive that was read to its end."""


def read_entry(read: Read, station: str, file: OldFile) -> Entry:
    """Read a file and return its entry for the index. This blocks."""
    entry = Entry(station=station, path=path_key(file.path), mtime_ns=file.mtime_ns, size_bytes=file.size_bytes)
    try:
        entry.record = read(file.path)
    except (FormatError, SourceError) as error:
        entry.problem = str(error)
    return entry


def member_entry(station: str, archive: OldFile, found: ArchivedGame) -> Entry:
    """Return the entry for a member of the given archive. It has the same modification time as the archive."""
    path = path_key(found.path)
    return Entry(
        station=station,
        path=path,
        mtime_ns=archive.mtime_ns,
        size_bytes=found.size_bytes,
        record=found.record,
        problem=found.problem,
    )


def archive_entry(station: str, archive: OldFile) -> Entry:
    """Return the entry for an archive that was read to its end.

    It makes sure that we don't read the archive again until it changes.
    """
    path = path_key(archive.path)
    mtime_ns, size_bytes = archive.mtime_ns, archive.size_bytes
    return Entry(station=station, path=path, mtime_ns=mtime_ns, size_bytes=size_bytes, problem=ARCHIVE)


def path_key(path: Path) -> bytes:
    """Return a path in the form in which the index stores it, which is absolute and consists of bytes."""
    return os.fsencode(absolute_text(path))
