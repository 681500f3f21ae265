"""An open file, together with the position up to which its bytes were delivered.

Each read takes three things, in this order: the bytes after the delivered ones, the head, and the status. Only then
does it compare them with the delivered bytes. This makes sure that if the file was truncated and written again, we
never take its new bytes for growth, because the head is read after them, and it has changed too.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from errno import ENOENT, ESTALE
from pathlib import Path
from typing import Final, TypeAlias
from zlib import crc32

from slpstream.formats.kernel import kernel
from slpstream.model.errors import Replaced, Truncated, Unreadable, Vanished
from slpstream.sources.tail.descriptor import Descriptor, ReadResult
from slpstream.sources.tail.events import CaughtUp, Grew, Rewritten, TailedFile, TailEvent
from slpstream.sources.tail.identity import Change, Delivered, Head, identity_of
from slpstream.sources.tail.scan import GONE, Refusal, is_inside, refusal_of
from slpstream.system.file_times import modified_ns
from slpstream.system.files import open_shared

# Each of these flags is missing on some system. O_NONBLOCK is for a FIFO that takes the path between stat and open:
# opening it must not block.
_FLAGS: Final = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT", "O_NOFOLLOW")
)
# Some file systems have a coarse clock (FAT: 2 s), so a change can leave the modification time as it was. For this long
# after the last known change, the bytes are read on every tick, whatever the status.
COARSE_SECONDS: Final = 3.0
# A file is given up only after this many full scans in a row miss it: one scan can miss a file that is renamed while
# it runs.
MAX_MISSED_SCANS: Final = 2
_COMPARED_BYTES: Final = 1 << 16


IsFinished: TypeAlias = Callable[[str, bytes], bool]
"""(file name, first bytes) to whether the file was finished when these bytes were written."""


class FileTail:
    """One open file, which keeps track of how far it was delivered."""

    __slots__ = (
        "_changed_at",
        "_checksum",
        "_complete_at",
        "_is_finished",
        "_last_status",
        "at_start",
        "descriptor",
        "exhausted",
        "file",
        "has_unread_bytes",
        "head",
        "missed_scans",
        "notifications",
        "offset",
        "path",
        "read_at",
    )

    def __init__(
        self,
        file: TailedFile,
        descriptor: Descriptor,
        rewritable_bytes: int,
        is_finished: IsFinished | None = None,
    ) -> None:
        self.file = file
        self.path = str(file.path)
        self.offset = 0
        self.head = Head(rewritable_bytes)
        self._checksum = 0
        """Checksum of the delivered bytes after the header."""
        self.has_unread_bytes = True
        self.read_at = -math.inf
        """The time of the last read, or of the last look that found that nothing has changed."""
        self.at_start = False
        self.exhausted = False
        """Whether further bytes do not matter: reads skip them, and only check that it is the same file."""
        self.missed_scans = 0
        """The number of full scans in a row that have not found the file since it left its path."""
        self.notifications = 0
        """How many notifications about the file came in a row, without any growth that was not notified."""
        self.descriptor = descriptor
        self._is_finished = is_finished
        """Dropped once the rewritable bytes have been seen."""
        self._last_status = (-1, -1)
        self._changed_at = 0.0
        self._complete_at = -math.inf
        """The last time at which the file was known to have no unread bytes."""

    @property
    def given_up(self) -> bool:
        """Whether the file is out of reach. Once it is read to its end, it counts as lost."""
        return self.missed_scans >= MAX_MISSED_SCANS

    def is_lost(self, status: os.stat_result) -> bool:
        """Whether the file is out of reach, or has no path any more according to its status."""
        return self.given_up or self.descriptor.is_unlinked(status)

    @property
    def delivered(self) -> Delivered:
        """Describes the bytes that were delivered so far."""
        return Delivered(self.offset, self.head.header, self._checksum)

    def change_since(self, delivered: Delivered) -> Change:
        """Compare the file with the bytes that were delivered before. This blocks, and raises `OSError` if it fails."""
        header = self.descriptor.pread(0, len(delivered.header))
        checksum, offset = 0, len(header)
        while offset < delivered.size_bytes:
            data = self.descriptor.pread(offset, min(_COMPARED_BYTES, delivered.size_bytes - offset))
            if not data:
                return Change.CONTENT
            checksum = crc32(data, checksum)
            offset += len(data)
        if checksum != delivered.checksum:
            return Change.CONTENT
        return Change.NONE if header == delivered.header else Change.HEADER

    def fileno(self) -> int:
        """Return the number of the descriptor."""
        return self.descriptor.number

    def note_unchanged(self, at: float) -> None:
        """Note that at this moment (on trio's clock), the file had not grown yet."""
        self._complete_at = max(self._complete_at, at)

    def move(self, path: str) -> None:
        """Note that the file was found under another path."""
        self.path = path
        self.file.path = Path(path)
        self.missed_scans = 0

    def judge(self, head: bytes) -> None:
        """If there are enough bytes, decide from them whether the file has arrived whole."""
        if self._is_finished is not None and len(head) >= self.head.rewritable_bytes:
            self.file.arrived_whole = self._is_finished(self.file.path.name, head)
            self._is_finished = None

    def judge_early(self) -> None:
        """Call `judge` before the first regular read, if there are enough bytes in the file. This blocks."""
        if self.file.size_bytes >= self.head.rewritable_bytes:
            with suppress(OSError):  # the first regular read will fail too, and report it
                self.judge(self.descriptor.pread(0, self.head.limit))

    def is_unchanged(self, now: float) -> bool:
        """Whether we can tell from the status alone that a read wouldn't get anything new.

        For a local file, this is cheap.
        """
        try:
            status = os.fstat(self.descriptor.number)
        except OSError:
            return False  # the read will fail too, and report it
        return (
            not self.has_unread_bytes
            and now - self._changed_at > COARSE_SECONDS
            and (status.st_size, modified_ns(status)) == self._last_status
            and not self.is_lost(status)
        )

    def read_growth(self, limit: int, now: float) -> Grew | None:
        """Read the appended bytes in the event loop, if there are at most `limit` of them and nothing else is new.

        In this usual case, it takes one call of the kernel. Otherwise, and without the kernel, this returns `None` and
        has changed nothing. Then call `read_nowait` and `apply`, which do the same in all cases.
        """
        head, offset = self.head, self.offset
        if kernel is None or self.has_unread_bytes or self.exhausted or self.missed_scans or offset < head.limit:
            return None
        growth = kernel.read_growth(self.descriptor.number, offset, head.delivered, self._checksum, limit, crc32)
        if growth is None:
            return None
        data, size_bytes, self._checksum, mtime_ns = growth
        file = self.file
        file.previous_mtime_ns, file.unchanged_at = file.mtime_ns, self._complete_at
        file.size_bytes, file.mtime_ns = self._last_status = size_bytes, mtime_ns
        self.offset = size_bytes
        self.read_at = self._changed_at = self._complete_at = now
        return Grew(file, offset, data, now)

    def read_nowait(self, chunk: memoryview, scratch: memoryview) -> ReadResult | None:
        """Read in the event loop. If this returns `None`, the read would block, so you have to do it in a thread."""
        if self.exhausted:
            chunk = chunk[:0]
        caught_up = not self.has_unread_bytes
        return self.descriptor.read_nowait(self.offset, chunk, self.head.limit, scratch, caught_up=caught_up)

    def read(self, limit: int) -> ReadResult:
        """Read at most `limit` bytes after those that were delivered. This blocks, and raises `OSError` if it fails."""
        return self.descriptor.read(self.offset, 0 if self.exhausted else limit, self.head.limit)

    def apply(self, result: ReadResult, now: float) -> list[TailEvent]:
        """Compare the result of a read with the delivered bytes, and return the events that follow from it.

        If it turns out that the file was truncated or replaced, this raises `Truncated` or `Replaced`. In this case,
        nothing of the read is delivered.
        """
        data, found, status = result.data, result.head, result.status
        self.read_at = now
        size = status.st_size
        file = self.file
        end = self.offset + len(data)
        if size < end:
            raise Truncated(self.path, f"it shrank to {size} bytes after {end} were read")
        head = self.head
        expected = head.expected(data)
        if found != expected and not head.same_file(expected, found):
            raise Replaced(self.path, "bytes that were already read have changed")
        if self._is_finished is not None:
            self.judge(expected)
        events: list[TailEvent] = []
        if data:
            events = [Grew(file, self.offset, data, now)]
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
        had_unread_bytes = self.has_unread_bytes
        self.has_unread_bytes = end < size and not self.exhausted
        if not self.has_unread_bytes:
            self._complete_at = now
            if had_unread_bytes:
                events.append(CaughtUp(file))
        return events


def source_error_of(error: OSError, path: str) -> Unreadable | Vanished:
    """Convert an error that the operating system reported while we were reading an open file into a `SourceError`."""
    if error.errno in (ESTALE, ENOENT):
        return Vanished(path, "it no longer exists on the server")
    return Unreadable(path, error.strerror or type(error).__name__)


def open_arrival(
    path: str, real_root: str, rewritable_bytes: int, is_finished: IsFinished | None = None
) -> FileTail | Refusal | None:
    """Open a file that has arrived. Returns `None` if the file is gone. This blocks."""
    tail = open_file(path, real_root, rewritable_bytes, is_finished)
    if isinstance(tail, FileTail):
        tail.judge_early()
    return tail


def change_of(path: str, real_root: str, rewritable_bytes: int, delivered: Delivered) -> Change:
    """Compare a file with those of its bytes that were delivered. This blocks.

    If the file can't be read, it counts as changed, because you get the error when you open it. If it is gone, it
    doesn't count as changed.
    """
    tail = open_file(path, real_root, rewritable_bytes)
    if not isinstance(tail, FileTail):
        return Change.NONE if tail is None else Change.CONTENT
    try:
        return tail.change_since(delivered)
    except OSError:
        return Change.CONTENT
    finally:
        tail.descriptor.close()


def open_file(
    path: str, real_root: str, rewritable_bytes: int, is_finished: IsFinished | None = None
) -> FileTail | Refusal | None:
    """Open the file at the given path safely, which means that this refuses links out of the root, FIFOs and devices.

    Returns `None` if the file is gone. This blocks.
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
    return FileTail(file, Descriptor(descriptor, path, status.st_nlink), rewritable_bytes, is_finished)
