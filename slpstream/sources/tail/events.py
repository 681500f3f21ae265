"""What a folder's tail says, as values. They are the whole interface between this room and whoever makes sense of the
bytes.

For each `TailedFile` the order is: `Opened`, then `Grew` (from offset 0 on, without gaps), `Rewritten` and `CaughtUp`
in any mixture, then at most one `Lost`. Nothing comes for a file after its `Lost` or after it was released.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from slpstream.model.errors import SourceError, Unreadable
from slpstream.sources.tail.identity import FileIdentity


class TailedFile:
    """One file that is, was or may be followed. Compared by object: what comes under the same name later is another
    one."""

    __slots__ = ("identity", "mtime_ns", "path", "size_bytes")

    def __init__(self, path: Path, identity: FileIdentity, size_bytes: int, mtime_ns: int) -> None:
        self.path = path
        """Where it is now: follows renames inside the folder."""
        self.identity = identity
        self.size_bytes = size_bytes
        """As last seen, like `mtime_ns`."""
        self.mtime_ns = mtime_ns

    def __repr__(self) -> str:
        return f"<TailedFile {str(self.path)!r} size={self.size_bytes}>"


class Scanned(Struct, frozen=True, gc=False):
    """The files that were there before and that nobody writes any more; listed, not opened.

    The first value ever, even when it is empty. It comes again only when a folder that was missing (has come back
    and) holds such files.
    """

    files: tuple[TailedFile, ...]


class Opened(Struct, frozen=True, gc=False):
    """A file will be read, from offset 0. `existed`: it was in progress at the start, or it was listed (or released)
    and has changed."""

    file: TailedFile
    existed: bool


class Grew(Struct, frozen=True, gc=False):
    """The next bytes of a file. Every byte comes once, in order."""

    file: TailedFile
    offset: int
    data: bytes


class Rewritten(Struct, frozen=True, gc=False):
    """The first bytes, which the writer may rewrite, are no longer what was delivered. `data` replaces as many bytes
    from offset 0."""

    file: TailedFile
    data: bytes


class CaughtUp(Struct, frozen=True, gc=False):
    """At the end of the file, as it is now. Once after `Opened`; then only when reading had fallen behind."""

    file: TailedFile


class Lost(Struct, frozen=True, gc=False):
    """The file cannot be followed any further. What is under its name now, or later, is a new file."""

    file: TailedFile
    error: SourceError


class Refused(Struct, frozen=True, gc=False):
    """A name that looks like a replay cannot be opened. Once for each path and reason; it is tried again at each
    scan."""

    path: Path
    error: Unreadable


class Settled(Struct, frozen=True, gc=False):
    """Once: the first scan is done, and every file that was in progress then has been read to its end."""


TailEvent: TypeAlias = Scanned | Opened | Grew | Rewritten | CaughtUp | Lost | Refused | Settled
