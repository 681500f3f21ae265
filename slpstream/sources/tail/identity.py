"""Detect whether a path still holds the file that it held before.

A path alone is no identity: files are renamed, and other files take their names. `FileIdentity` (device and inode)
survives a rename and detects a replacement. It does not detect a file that is truncated and written again in place,
because the inode stays the same; for that, `Head` keeps the first bytes as they were delivered and compares them again.
These begin with a container header that the writer updates when the game ends, so the header may change. The bytes
after it are append-only and may not.

Once a file is closed, `Delivered` keeps the checksum of all bytes that were delivered. It shows whether the file was
filled or edited in place since, anywhere in it, even if its size is the same.
"""

from __future__ import annotations

import os
from enum import Enum, auto
from typing import Final, NamedTuple, TypeAlias

# Two replays often begin with the same table of command sizes. This reaches past it, to the random seed.
PREFIX_BYTES: Final = 512


class FileIdentity(NamedTuple):
    """Identity of a file that survives a rename. `inode` is 0 on file systems without inodes."""

    device: int
    inode: int


class Delivered(NamedTuple):
    """The bytes of a file that were delivered, as a checksum: a file is compared with them long after it was closed."""

    size_bytes: int
    header: bytes
    """The rewritable bytes, as they were last delivered."""
    checksum: int
    """Checksum of the delivered bytes after the header."""


class Change(Enum):
    """The kind of change in the delivered bytes of a file."""

    NONE = auto()
    HEADER = auto()
    """Only the rewritable bytes."""
    CONTENT = auto()


Key: TypeAlias = FileIdentity | str


def identity_of(status: os.stat_result) -> FileIdentity:
    """The identity in a stat result."""
    return FileIdentity(status.st_dev, status.st_ino)


def key_of(identity: FileIdentity, path: str) -> Key:
    """The key under which a file is looked up: its identity, or its path if it has no inode."""
    return identity if identity.inode else path


class Head:
    """The first bytes of a file as they were delivered: the rewritable header, and a prefix that must not change."""

    __slots__ = ("delivered", "limit", "rewritable_bytes")

    def __init__(self, rewritable_bytes: int) -> None:
        self.rewritable_bytes = rewritable_bytes
        self.limit = rewritable_bytes + PREFIX_BYTES
        self.delivered = b""

    @property
    def header(self) -> bytes:
        """The rewritable bytes as they were last delivered."""
        return self.delivered[: self.rewritable_bytes]

    def expected(self, data: bytes) -> bytes:
        """The head that the file must have once `data` has followed the bytes delivered so far."""
        missing = self.limit - len(self.delivered)
        return self.delivered + data[:missing] if missing else self.delivered

    def same_file(self, expected: bytes, found: bytes) -> bool:
        """Whether the append-only part of `found` equals that of `expected`."""
        end = len(expected)
        start = self.rewritable_bytes
        return len(found) >= end and found[start:end] == expected[start:]
