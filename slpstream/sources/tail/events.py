"""The events that you get from a folder tail. They are the whole interface between this package and its users.

For each `TailedFile`, you first get `Opened`. After that, you get `Grew` (beginning at offset 0, and without gaps),
`Rewritten` and `CaughtUp` in any order, and finally, at most one `Lost`. Once you have seen `Lost` or released the
file, there are no more events about it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from slpstream.model.errors import SourceError, Unreadable
from slpstream.sources.tail.identity import FileIdentity


class TailedFile:
    """A file that a tail knows about. It doesn't have to be open.

    These are compared by identity. If another file takes over the name later, it gets a different `TailedFile`.
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
    """Lists the files that were there from the start and that are no longer being written. They aren't opened.

    This is always the first event that you get, even if `files` is empty. You only get it again if the folder was
    missing, and such files are in it when it appears.
    """

    files: tuple[TailedFile, ...]


class Opened(Struct, frozen=True, gc=False):
    """A file was opened, and is going to be read from offset 0.

    `existed` is true if the file was already in progress when the tail started, or if it was listed or released before
    and has changed since then. `changed` is true if you already got some of its bytes before it was released, and these
    are different now. You should then throw away everything that you computed from them. Changes in the rewritable
    header don't count.
    """

    file: TailedFile
    existed: bool
    changed: bool = False


class Touched(Struct, frozen=True, gc=False):
    """Some listed files, which were never read, have another modification time than before.

    This means that their bytes might have changed even though their size is still the same.
    """

    files: tuple[TailedFile, ...]


class Grew(Struct, frozen=True, gc=False):
    """The next bytes of a file. You get every byte exactly once, and in order.

    `read_at` is the time on trio's clock at which they were read.
    """

    file: TailedFile
    offset: int
    data: bytes
    read_at: float


class Rewritten(Struct, frozen=True, gc=False):
    """The rewritable header of a file has changed.

    `data` replaces as many bytes as it contains, starting at offset 0.
    """

    file: TailedFile
    data: bytes


class CaughtUp(Struct, frozen=True, gc=False):
    """You have got all bytes that are in the file right now.

    You get this once after `Opened`, and later again each time when a single read wasn't enough to get to the end.
    """

    file: TailedFile


class Lost(Struct, frozen=True, gc=False):
    """The file can't be followed any more. If there is a file with this name, now or later, it counts as a new one."""

    file: TailedFile
    error: SourceError


class Refused(Struct, frozen=True, gc=False):
    """A file or folder can't be read.

    Each scan tries it again, but you only get this event once for each path and reason.
    """

    path: Path
    error: Unreadable


class Settled(Struct, frozen=True, gc=False):
    """The first scan is done, and all files that were in progress at that time were read to their end.

    You get this exactly once.
    """


TailEvent: TypeAlias = Scanned | Touched | Opened | Grew | Rewritten | CaughtUp | Lost | Refused | Settled
