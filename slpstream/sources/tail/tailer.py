"""One open file, and how far it has been delivered.

Each read takes, in this order, the bytes after the delivered ones, the head, and the status, and only then compares
them with what was delivered. Bytes written after a truncation are therefore never taken for growth: the head, which is
read after them, has changed too.

On Linux a read runs in the event loop: `RWF_NOWAIT` either reads from the page cache or reports that it would block,
and `fstat` of a local file does not wait. On Windows, bytes that were appended to a local file since the last read are
taken to be in the page cache. Where that does not work (other systems, tmpfs, network shares; this is remembered for
each file) the same read runs in a thread.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from errno import ENOENT, ESTALE
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from slpstream.model.errors import Replaced, Truncated, Unreadable, Vanished
from slpstream.sources.tail.arrival import Arrival
from slpstream.sources.tail.events import CaughtUp, Grew, Rewritten, TailedFile, TailEvent
from slpstream.sources.tail.identity import Change, Delivered, Head, identity_of
from slpstream.sources.tail.scan import GONE, Refusal, is_inside, refusal_of
from slpstream.system.file_times import modified_ns
from slpstream.system.files import is_local, open_shared

_NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
HAS_PREAD: Final = hasattr(os, "pread")
# Each of these flags is missing on some system. O_NONBLOCK is for a FIFO that takes the path between stat and open:
# opening it must not block.
_FLAGS: Final = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT", "O_NOFOLLOW")
)
# Some file systems have a coarse clock (FAT: 2 s), so a change can leave the modification time as it was. For this long
# after the last known change, the bytes are read on every tick, whatever the status.
COARSE_SECONDS: Final = 3.0
_COMPARED_BYTES: Final = 1 << 16


IsFinished: TypeAlias = Callable[[str, bytes], bool]
"""(file name, first bytes) to whether the file was finished when these bytes were written."""


class ReadResult(NamedTuple):
    """The outcome of one read, before it is compared with what was delivered."""

    data: bytes
    head: bytes
    status: os.stat_result


class FileTail:
    """One open file, and how far it has been delivered."""

    __slots__ = (
        "_caught_up",
        "_changed_at",
        "_checksum",
        "_complete_at",
        "_descriptor",
        "_is_finished",
        "_last_status",
        "_links",
        "at_start",
        "exhausted",
        "file",
        "given_up",
        "has_unread_bytes",
        "head",
        "missed_scans",
        "nowait",
        "offset",
        "path",
        "read_at",
        "version",
    )

    def __init__(
        self,
        file: TailedFile,
        descriptor: int,
        rewritable_bytes: int,
        links: int,
        is_finished: IsFinished | None = None,
    ) -> None:
        self.file = file
        self.path = str(file.path)
        self.offset = 0
        self.head = Head(rewritable_bytes)
        self._checksum = 0
        """Of the delivered bytes after the header."""
        self.nowait = _NOWAIT != 0 or is_local(str(file.path))
        """Whether reads may run in the event loop."""
        self.has_unread_bytes = True
        self.read_at = -math.inf
        """The time of the last read."""
        self.at_start = False
        self.exhausted = False
        """Nothing more can come of the file: reads take no further bytes, and only check that it is the same one."""
        self.missed_scans = 0
        """The number of full scans in a row that have not found the file since it left its path."""
        self.given_up = False
        """The file is out of reach; it counts as lost once it is read to its end."""
        self.version = 0
        """Set by the file table: the scan that last confirmed its path."""
        self._descriptor = descriptor
        self._is_finished = is_finished
        """Dropped once the rewritable bytes have been seen."""
        self._links = links
        self._caught_up = False
        self._last_status = (-1, -1)
        self._changed_at = 0.0
        self._complete_at = -math.inf
        """When the file was last known to have no bytes that were not read."""

    @property
    def delivered(self) -> Delivered:
        """The bytes that were delivered so far."""
        return Delivered(self.offset, self.head.header, self._checksum)

    def change_since(self, delivered: Delivered) -> Change:
        """Compare the file with the bytes that were delivered before. Blocks. Raises `OSError`."""
        header = self._pread(0, len(delivered.header))
        checksum, offset = 0, len(header)
        while offset < delivered.size_bytes:
            data = self._pread(offset, min(_COMPARED_BYTES, delivered.size_bytes - offset))
            if not data:
                return Change.CONTENT
            checksum = crc32(data, checksum)
            offset += len(data)
        if checksum != delivered.checksum:
            return Change.CONTENT
        return Change.NONE if header == delivered.header else Change.HEADER

    def close(self) -> None:
        """Close the descriptor. Does nothing if it is closed already."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def note_unchanged(self, at: float) -> None:
        """The file had not grown yet at this moment, on trio's clock."""
        self._complete_at = max(self._complete_at, at)

    def move(self, path: str) -> None:
        """Record that the file was found under another path."""
        self.path = path
        self.file.path = Path(path)
        self.missed_scans = 0
        self.given_up = False

    def judge(self, head: bytes) -> None:
        """Find out from the first bytes, once there are enough of them, whether the file has arrived whole."""
        if self._is_finished is not None and len(head) >= self.head.rewritable_bytes:
            self.file.arrived_whole = self._is_finished(self.file.path.name, head)
            self._is_finished = None

    def judge_early(self) -> None:
        """Call `judge` before the first regular read, if the file has enough bytes. Blocks."""
        if self.file.size_bytes >= self.head.rewritable_bytes:
            with suppress(OSError):  # the first regular read will fail too, and report it
                self.judge(self._pread(0, self.head.limit))

    def is_unchanged(self, now: float) -> bool:
        """Whether the status alone shows that a read would bring nothing new. Cheap for a local file."""
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False  # the read will fail too, and report it
        return (
            self._caught_up
            and now - self._changed_at > COARSE_SECONDS
            and (status.st_size, modified_ns(status)) == self._last_status
            and not self.given_up
            and not self.is_unlinked(status)
        )

    def read_nowait(self, chunk: memoryview, scratch: memoryview) -> ReadResult | None:
        """Read in the event loop. `None` if that would block; the read must then run in a thread."""
        if not _NOWAIT:
            return self._read_appended(len(chunk))
        descriptor = self._descriptor
        try:
            # The comments for mypy are for Windows, which has neither preadv nor pread.
            preadv = os.preadv  # type: ignore[attr-defined,unused-ignore]
            count = 0 if self.exhausted else preadv(descriptor, (chunk,), self.offset, _NOWAIT)
            data = bytes(chunk[:count])
            head_bytes = min(self.head.limit, self.offset + count)
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

    def _read_appended(self, limit: int) -> ReadResult | None:
        """Read what was appended since the last read, which is in the page cache; otherwise `None`."""
        if not self._caught_up:
            return None
        try:
            return self.read(limit)
        except OSError:
            self.nowait = False
            return None

    def read(self, limit: int) -> ReadResult:
        """Read at most `limit` bytes after the delivered ones. Blocks. Raises `OSError`."""
        data = b"" if self.exhausted else self._pread(self.offset, limit)
        head = self._pread(0, min(self.head.limit, self.offset + len(data)))
        return ReadResult(data, head, os.fstat(self._descriptor))

    def _pread(self, offset: int, count: int) -> bytes:
        if HAS_PREAD:
            return os.pread(self._descriptor, count, offset)  # type: ignore[attr-defined,no-any-return,unused-ignore]
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        return os.read(self._descriptor, count)

    def apply(self, result: ReadResult, now: float) -> list[TailEvent]:
        """Compare a read with what was delivered, and return the events that follow from it.

        Raises `Truncated` or `Replaced`; nothing of the read is delivered then.
        """
        data, found, status = result
        self.read_at = now
        size = status.st_size
        file = self.file
        end = self.offset + len(data)
        if size < end:
            raise Truncated(self.path, f"it shrank to {size} bytes after {end} were read")
        head = self.head
        expected = head.expected(data)
        events: list[TailEvent] = []
        if found != expected and not head.same_file(expected, found):
            raise Replaced(self.path, "bytes that were already read have changed")
        self.judge(expected)
        if data:
            events.append(Grew(file, self.offset, data))
            self._checksum = crc32(data[max(0, head.rewritable_bytes - self.offset) :], self._checksum)
            self.offset = end
        if found != expected:
            head.delivered = found[: len(expected)]
            events.append(Rewritten(file, head.header))
        else:
            head.delivered = expected
        current_status = (size, modified_ns(status))
        file.previous_mtime_ns, file.unchanged_at = file.mtime_ns, self._complete_at
        if current_status != self._last_status:
            self._last_status = current_status
            self._changed_at = now
            file.size_bytes, file.mtime_ns = current_status
        self.has_unread_bytes = end < size and not self.exhausted
        if self.has_unread_bytes:
            self._caught_up = False
        elif not self._caught_up:
            self._caught_up = True
            events.append(CaughtUp(file))
        if self._caught_up:
            self._complete_at = now
        return events

    def is_unlinked(self, status: os.stat_result) -> bool:
        """Whether no path leads to the file any more."""
        return status.st_nlink == 0 and self._links > 0  # some file systems do not count links at all


def source_error_of(error: OSError, path: str) -> Unreadable | Vanished:
    """The source error for an operating system error while an open file is read."""
    if error.errno in (ESTALE, ENOENT):
        return Vanished(path, "it no longer exists on the server")
    return Unreadable(path, error.strerror or type(error).__name__)


def open_arrival(
    arrival: Arrival, real_root: str, rewritable_bytes: int, is_finished: IsFinished | None = None
) -> FileTail | Refusal | None:
    """Open a file that has arrived. Blocks. `None` when the file is gone."""
    tail = open_file(arrival.path, real_root, rewritable_bytes, is_finished)
    if isinstance(tail, FileTail):
        tail.judge_early()
    return tail


def change_of(path: str, real_root: str, rewritable_bytes: int, delivered: Delivered) -> Change:
    """Compare a file with the bytes that were delivered of it. Blocks.

    A file that cannot be read counts as changed: the error is reported when it is opened. One that is gone does not.
    """
    tail = open_file(path, real_root, rewritable_bytes)
    if not isinstance(tail, FileTail):
        return Change.NONE if tail is None else Change.CONTENT
    try:
        return tail.change_since(delivered)
    except OSError:
        return Change.CONTENT
    finally:
        tail.close()


def open_file(
    path: str, real_root: str, rewritable_bytes: int, is_finished: IsFinished | None = None
) -> FileTail | Refusal | None:
    """Open the file under a path, safely: no links out of the root, no FIFOs, no devices. Blocks.

    `None` when the file is gone.
    """
    try:
        status = os.lstat(path)
        target = path
        if stat.S_ISLNK(status.st_mode):
            target = os.path.realpath(path, strict=True)
            if not is_inside(target, real_root):
                return Refusal("a link out of the folder")
            status = os.stat(target)
        # Checked before opening, since opening a device can have side effects.
        if not stat.S_ISREG(status.st_mode):
            return Refusal("not a regular file")
        descriptor = open_shared(target, _FLAGS)
    except OSError as error:
        return None if error.errno in GONE else refusal_of(error)
    try:
        status = os.fstat(descriptor)
    except OSError as error:
        os.close(descriptor)
        return refusal_of(error)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        return Refusal("not a regular file")
    file = TailedFile(Path(path), identity_of(status), status.st_size, modified_ns(status))
    return FileTail(file, descriptor, rewritable_bytes, status.st_nlink, is_finished)
