"""Positioned reads from the descriptor of an open file, without blocking the event loop.

On Linux a read runs in the event loop: `RWF_NOWAIT` either reads from the page cache or reports that it would block,
and `fstat` of a local file does not wait. On Windows, bytes that were appended to a local file since the last read are
assumed to be in the page cache. Where neither works (other systems, tmpfs, network shares; this is remembered for each
file) the same read runs in a thread.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from slpstream.system.files import is_local

_NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
HAS_PREAD: Final = hasattr(os, "pread")


class ReadResult(NamedTuple):
    """The outcome of one read, before it is compared with the bytes that were delivered."""

    data: bytes
    head: bytes
    status: os.stat_result


class Descriptor:
    """The descriptor of a regular file."""

    __slots__ = ("_links", "nowait", "number")

    def __init__(self, number: int, path: str, links: int) -> None:
        """`links` is the number of hard links when the file was opened."""
        self.number = number
        """-1 after `close`."""
        self.nowait = _NOWAIT != 0 or is_local(path)
        """Whether reads may run in the event loop."""
        self._links = links

    def close(self) -> None:
        """Close the descriptor. Does nothing if it is closed already."""
        if self.number >= 0:
            os.close(self.number)
            self.number = -1

    def pread(self, offset: int, count: int) -> bytes:
        """Read at most `count` bytes. Blocks. Raises `OSError`."""
        if HAS_PREAD:
            return os.pread(self.number, count, offset)  # type: ignore[attr-defined,no-any-return,unused-ignore]
        os.lseek(self.number, offset, os.SEEK_SET)
        return os.read(self.number, count)

    def read(self, offset: int, limit: int, head_limit: int) -> ReadResult:
        """Read at most `limit` bytes from `offset`, then the head and the status. Blocks. Raises `OSError`.

        The head ends after `head_limit` bytes, or with the bytes that were read.
        """
        data = self.pread(offset, limit) if limit else b""
        head = self.pread(0, min(head_limit, offset + len(data)))
        return ReadResult(data, head, os.fstat(self.number))

    def read_nowait(
        self, offset: int, chunk: memoryview, head_limit: int, scratch: memoryview, *, caught_up: bool
    ) -> ReadResult | None:
        """Do the same as `read` in the event loop, with `chunk` and `scratch` as buffers. `None` if it would block.

        `caught_up` is whether the last read reached the end of the file.
        """
        if not _NOWAIT:
            return self._read_appended(offset, len(chunk), head_limit) if caught_up else None
        descriptor = self.number
        try:
            # The comments for mypy are for Windows, which has neither preadv nor pread.
            preadv = os.preadv  # type: ignore[attr-defined,unused-ignore]
            count = preadv(descriptor, (chunk,), offset, _NOWAIT) if chunk else 0
            data = bytes(chunk[:count])
            head_bytes = min(head_limit, offset + count)
            count = preadv(descriptor, (scratch,), 0, _NOWAIT)
            head = bytes(scratch[: min(count, head_bytes)])
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
        """Read the bytes that were appended since the last read, which are assumed to be in the page cache."""
        try:
            return self.read(offset, limit, head_limit)
        except OSError:
            self.nowait = False
            return None

    def is_unlinked(self, status: os.stat_result) -> bool:
        """Whether no path leads to the file any more."""
        return status.st_nlink == 0 and self._links > 0  # some file systems do not count links at all
