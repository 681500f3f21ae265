"""The events of a folder tail: the whole interface between this package and its users.

For each `TailedFile` the order is `Opened`; then `Grew` (from offset 0, without gaps), `Rewritten` and `CaughtUp` in
any order; then at most one `Lost`. No event follows the file's `Lost` or its release.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from slpstream.model.errors import SourceError, Unreadable
from slpstream.sources.tail.identity import FileIdentity


class TailedFile:
    """A file that a tail knows, whether it is open or not.

    Compared by object: a file that takes the same name later is another `TailedFile`.
    """

    __slots__ = (
        "arrived_whole",
        "identity",
        "mtime_ns",
        "path",
        "previous_mtime_ns",
        "size_bytes",
        "unchanged_at",
    )

    def __init__(self, path: Path, identity: FileIdentity, size_bytes: int, mtime_ns: int) -> None:
        self.path = path
        """The current path; it follows renames inside the folder."""
        self.identity = identity
        self.size_bytes = size_bytes
        """Size when the file was last read or scanned; `mtime_ns` likewise."""
        self.mtime_ns = mtime_ns
        self.previous_mtime_ns = mtime_ns
        """The modification time at the read before the last one."""
        self.unchanged_at = -math.inf
        """Trio's time when the file was last seen without the bytes of the last read."""
        self.arrived_whole = False
        """Whether the file was finished already when its first bytes were seen."""

    def __repr__(self) -> str:
        return f"<TailedFile {str(self.path)!r} size={self.size_bytes}>"


class Scanned(Struct, frozen=True, gc=False):
    """The files that were there from the start and are no longer being written. They are listed, not opened.

    This is always the first event, even if `files` is empty. It comes again only when a missing folder appears and
    holds such files.
    """

    files: tuple[TailedFile, ...]


class Opened(Struct, frozen=True, gc=False):
    """A file was opened and will be read from offset 0.

    `existed` is true if the file was in progress when the tail started, or if it was listed or released and has changed
    since. `changed` is true if bytes that were delivered before its release, other than those of the rewritable header,
    are other bytes now, so that results computed from them are invalid.
    """

    file: TailedFile
    existed: bool
    changed: bool = False


class Touched(Struct, frozen=True, gc=False):
    """Listed files that were never read have another modification time: they may have other bytes of the same size."""

    files: tuple[TailedFile, ...]


class Grew(Struct, frozen=True, gc=False):
    """The next bytes of a file. Every byte is delivered once, in order."""

    file: TailedFile
    offset: int
    data: bytes


class Rewritten(Struct, frozen=True, gc=False):
    """The rewritable header has changed. `data` replaces the same number of bytes from offset 0."""

    file: TailedFile
    data: bytes


class CaughtUp(Struct, frozen=True, gc=False):
    """All bytes that the file has now were delivered.

    This comes once after `Opened`, and again whenever one read was not enough to reach the end.
    """

    file: TailedFile


class Lost(Struct, frozen=True, gc=False):
    """The file can no longer be followed. A file that has its name, now or later, is a new one."""

    file: TailedFile
    error: SourceError


class Refused(Struct, frozen=True, gc=False):
    """A file or a folder cannot be read. This comes once for each path and reason; every scan tries again."""

    path: Path
    error: Unreadable


class Settled(Struct, frozen=True, gc=False):
    """The first scan is done, and every file that was in progress then has been read to its end. This comes once."""


TailEvent: TypeAlias = Scanned | Touched | Opened | Grew | Rewritten | CaughtUp | Lost | Refused | Settled
