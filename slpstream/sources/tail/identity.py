"""Which file is this? Two answers, for two ways in which a name can come to hold other bytes.

A name is no identity: files are renamed, and other files come under their names. `FileIdentity` (device and inode)
survives a rename and tells a replacement. It says nothing when a file is truncated and written again in place, since
the inode stays; for that, `Head` keeps the first bytes as they were delivered and compares them again. The very first
ones are a container header that the writer rewrites when it ends; those may change. What follows them is append-only
and may not.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple, TypeAlias

# Enough to reach past what two replays have in common (the table of command sizes) into what they have not (the
# random seed).
PREFIX_BYTES: Final = 512


class FileIdentity(NamedTuple):
    """What stays the same when a file is renamed. `inode` is 0 where the file system has none to offer."""

    device: int
    inode: int


Key: TypeAlias = FileIdentity | str


def identity_of(status: os.stat_result) -> FileIdentity:
    """The identity in a stat result."""
    return FileIdentity(status.st_dev, status.st_ino)


def key_of(identity: FileIdentity, path: str) -> Key:
    """What a file is looked up by: its identity, or its path where there is no usable inode."""
    return identity if identity.inode else path


class Head:
    """The first bytes of a file as they were delivered: the rewritable header and the prefix that must not change."""

    __slots__ = ("_rewritable", "known", "limit")

    def __init__(self, rewritable_bytes: int) -> None:
        self._rewritable = rewritable_bytes
        self.limit = rewritable_bytes + PREFIX_BYTES
        self.known = b""

    @property
    def header(self) -> bytes:
        """The rewritable bytes as they were last delivered."""
        return self.known[: self._rewritable]

    def expected(self, data: bytes) -> bytes:
        """What the head must be when `data` follows what was delivered so far."""
        missing = self.limit - len(self.known)
        return self.known + data[:missing] if missing else self.known

    def same_file(self, expected: bytes, found: bytes) -> bool:
        """Whether the append-only part of the head is still as it was delivered."""
        end = len(expected)
        return len(found) >= end and found[self._rewritable : end] == expected[self._rewritable :]
