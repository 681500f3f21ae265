"""Read from certain positions of an open file without blocking the event loop.

On Linux, we can read in the event loop, because with `RWF_NOWAIT` a read either gets the bytes from the page cache or
reports that it would have to block. Calling `fstat` on a local file doesn't wait either. On Windows, we assume that if
bytes were appended to a local file since the last read, they are in the page cache. If neither of these works (on other
systems, tmpfs or network shares), we do the same read in a thread, and remember for each file that it needs one.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from slpstream.system.files import is_local

_NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
HAS_PREAD: Final = hasattr(os, "pread")


class ReadResult(msgspec.Struct, frozen=True, gc=False):
    """The outcome of one read. It still has to be compared with the bytes that were delivered."""

    data: bytes
    head: bytes
    status: os.stat_result


class Descriptor:
    """The descriptor of a regular file."""

    __slots__ = ("_links", "nowait", "number")

    def __init__(self, number: int, path: str, links: int) -> None:
        """`links` is the number of hard links that the file had when it was opened."""
        self.number = number
        """-1 after `close`."""
        self.nowait = _NOWAIT != 0 or is_local(path)
        """Whether reads may run in the event loop."""
        self._links = links

    def close(self) -> None:
        """Close the descriptor. It's fine to call this more than once."""
        if self.number >= 0:
            os.close(self.number)
            self.number = -1

    def pread(self, offset: int, count: int) -> bytes:
        """Read at most `count` bytes. This blocks, and raises `OSError` if it fails."""
        if HAS_PREAD:
            return os.pread(self.number, count, offset)  # type: ignore[attr-defined,no-any-return,unused-ignore]
        os.lseek(self.number, offset, os.SEEK_SET)
        return os.read(self.number, count)

    def read(self, offset: int, limit: int, head_limit: int) -> ReadResult:
        """Read at most `limit` bytes from `offset`, and after that the head and the status.

        The head consists of the first `head_limit` bytes, but doesn't go beyond the bytes that were read so far. This
        blocks, and raises `OSError` if it fails.
        """
        data = self.pread(offset, limit) if limit else b""
        head = self.pread(0, min(head_limit, offset + len(data)))
        return ReadResult(data, head, os.fstat(self.number))

    def read_nowait(
        self, offset: int, chunk: memoryview, head_limit: int, scratch: memoryview, *, caught_up: bool
    ) -> ReadResult | None:
        """Like `read`, but for use in the event loop. If it would have to block, it returns `None`.

        `chunk` and `scratch` are buffers. `caught_up` tells it whether the last read got to the end of the file.
        """
        if not _NOWAIT:
            return self._read_appended(offset, len(chunk), head_limit) if caught_up else None
        descriptor = self.number
        try:
            # The comments for mypy are for Windows, which has neither preadv nor pread.
            preadv = os.preadv  # type: ignore[attr-defined,unused-ignore]
            count = preadv(descriptor, (chunk,), offset, _NOWAIT) if chunk else 0
            data = bytes(chunk[:count])
            head_bytes = head_limit if head_limit < offset + count else offset + count
            count = preadv(descriptor, (scratch,), 0, _NOWAIT)
            head = bytes(scratch[:count][:head_bytes])
            status = os.fstat(descriptor)
        except BlockingIOError:
            return None  # not in the page cache, this time
        except OSError:
            # Mostly EOPNOTSUPP. Either way, a plain read in a thread shows whether the file itself is unreadable.
            self.nowait = False
            return None
        if count < head_bytes <= status.st_size:
            return None  # part of the head is not in the page cache
        return ReadResult(data, head, status)

    def _read_appended(self, offset: int, limit: int, head_limit: int) -> ReadResult | None:
        """Read the bytes that were appended since the last read, assuming that they are in the page cache."""
        try:
            return self.read(offset, limit, head_limit)
        except OSError:
            self.nowait = False
            return None

    def is_unlinked(self, status: os.stat_result) -> bool:
        """Whether the file can't be reached by any path any more."""
        return status.st_nlink == 0 and self._links > 0  # some file systems do not count links at all
