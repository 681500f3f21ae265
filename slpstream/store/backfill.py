"""Reads files that existed before the daemon started into entries of the index."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from slpstream.model.errors import FormatError, SourceError
from slpstream.store.game_record import Entry, GameRecord

Read = Callable[[Path], GameRecord]
"""Reads the game in a file. Called in a worker thread. Raises `FormatError` and `SourceError`."""


class OldFile(NamedTuple):
    """A file that is not being written."""

    path: Path
    mtime_ns: int
    size_bytes: int


def read_entry(read: Read, station: str, file: OldFile) -> Entry:
    """The index entry of a file, which is read. Blocks."""
    entry = Entry(station=station, path=path_key(file.path), mtime_ns=file.mtime_ns, size_bytes=file.size_bytes)
    try:
        entry.record = read(file.path)
    except (FormatError, SourceError) as error:
        entry.problem = str(error)
    return entry


def path_key(path: Path) -> bytes:
    """A path as the index stores it: absolute bytes."""
    return os.fsencode(os.path.abspath(path))  # noqa: PTH100 -- symbolic links are not resolved
