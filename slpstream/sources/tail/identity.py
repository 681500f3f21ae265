"""Detect whether a path still holds the same file as before.

A path isn't enough to identify a file, because files can be renamed, and then other files might take over their names.
A `FileIdentity` (device and inode) survives a rename and detects a replacement, but if a file is truncated and written
again in place, its inode stays the same. To detect this too, `Head` keeps the first bytes as they were delivered, so we
can compare them again. Replays begin with a container header that the game updates at the end. So the header is allowed
to change, but the bytes after it are append-only and are not.

When a file is closed, `Delivered` keeps a checksum of all bytes that were delivered. This makes it possible to find out
later whether the file was filled or edited in place, no matter where, even if its size is still the same.
"""

from __future__ import annotations

import os
from enum import Enum, auto
from typing import Final, NamedTuple, TypeAlias

# Two replays often begin with the same table of command sizes. This reaches past it, to the random seed.
PREFIX_BYTES: Final = 512


class FileIdentity(NamedTuple):
    """Identifies a file in a way that survives a rename. On file systems without inodes, `inode` is 0."""

    device: int
    inode: int


class Delivered(NamedTuple):
    """Describes the bytes of a file that were delivered, so that we can compare them with the file long after we closed
    it.
    """

    size_bytes: int
    header: bytes
    """The rewritable bytes, as they were last delivered."""
    checksum: int
    """Checksum of the delivered bytes after the header."""


class Change(Enum):
    """What kind of change there was in the delivered bytes of a file."""

    NONE = auto()
    HEADER = auto()
    """Only the rewritable bytes."""
    CONTENT = auto()


Key: TypeAlias = FileIdentity | str


def identity_of(status: os.stat_result) -> FileIdentity:
    """Return the identity that is contained in a stat result."""
    return FileIdentity(status.st_dev, status.st_ino)


def key_of(identity: FileIdentity, path: str) -> Key:
    """Return the key for looking up a file.

    Usually this is its identity, but if it has no inode, we have to use its path.
    """
    return identity if identity.inode else path


class Head:
    """The first bytes of a file in the form in which they were delivered.

    They consist of the rewritable header, and a prefix that must not change.
    """

    __slots__ = ("delivered", "limit", "rewritable_bytes")

    def __init__(self, rewritable_bytes: int) -> None:
        self.rewritable_bytes = rewritable_bytes
        self.limit = rewritable_bytes + PREFIX_BYTES
        self.delivered = b""

    @property
    def header(self) -> bytes:
        """The rewritable bytes in the form in which they were last delivered."""
        return self.delivered[: self.rewritable_bytes]

    def expected(self, data: bytes) -> bytes:
        """Return the head that the file must have, if `data` comes after the bytes that were delivered so far."""
        missing = self.limit - len(self.delivered)
        return self.delivered + data[:missing] if missing else self.delivered

    def same_file(self, expected: bytes, found: bytes) -> bool:
        """Whether `found` and `expected` agree in the part that is append-only."""
        end = len(expected)
        start = self.rewritable_bytes
        return len(found) >= end and found[start:end] == expected[start:]
