"""One open file: its next bytes, its head, its state, in one look.

A look reads, in this order, the bytes behind what was delivered, the head, and the status, and only then judges. So
bytes that were written after a truncation are never taken for growth: the head that is read after them has changed
too. On Linux a look runs in the event loop: `RWF_NOWAIT` reads from the page cache or says that it would block, and
`fstat` of a local file does not wait. Where that is not to be had (other systems, tmpfs, network shares: remembered
for each file) the same look runs in a thread.
"""

from __future__ import annotations

import math
import os
import stat
from errno import ENOENT, ESTALE
from pathlib import Path
from typing import Final, NamedTuple

from slpstream.model.errors import Replaced, Truncated, Unreadable, Vanished
from slpstream.sources.tail.arrival import Arrival
from slpstream.sources.tail.events import CaughtUp, Grew, Rewritten, TailedFile, TailEvent
from slpstream.sources.tail.identity import Head, identity_of
from slpstream.sources.tail.scan import GONE, Refusal, is_inside, refusal_of
from slpstream.system.files import modified_ns

_NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0)
_HAS_PREAD: Final = hasattr(os, "pread")
# Each of these is missing somewhere. NONBLOCK: a FIFO that comes under the name between our stat and our open must
# not hold us.
_FLAGS: Final = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_BINARY", "O_NOINHERIT", "O_NOFOLLOW")
)
# The clock of some file systems is so coarse (FAT: 2 s) that a change can leave the modification time as it was. For
# this long after the last change that was seen, a tick looks at the bytes whatever the status says.
COARSE_SECONDS: Final = 3.0


class Look(NamedTuple):
    """What was read, not yet judged."""

    data: bytes
    head: bytes
    status: os.stat_result


class FileTail:
    """One open file, and how far it has been delivered."""

    __slots__ = (
        "_caught_up",
        "_changed_at",
        "_descriptor",
        "_links",
        "_seen",
        "at_start",
        "behind",
        "doomed",
        "fast",
        "file",
        "head",
        "looked_at",
        "misses",
        "offset",
        "path",
        "version",
    )

    def __init__(self, file: TailedFile, descriptor: int, rewritable_bytes: int, links: int) -> None:
        self.file = file
        self.path = str(file.path)
        self.offset = 0
        self.head = Head(rewritable_bytes)
        self.fast = _NOWAIT != 0
        """Whether a look may run in the event loop."""
        self.behind = True
        self.looked_at = -math.inf
        """When the last look was judged."""
        self.at_start = False
        self.misses = 0
        """How many full scans in a row have not found it, since it went from its name."""
        self.doomed = False
        """It is out of reach: to be lost as soon as it is read to its end."""
        self.version = 0
        """Set by the file table: the scan that last confirmed its name."""
        self._descriptor = descriptor
        self._links = links
        self._caught_up = False
        self._seen = (-1, -1)
        self._changed_at = 0.0

    def close(self) -> None:
        """Give the descriptor back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def move(self, path: str) -> None:
        """It has been found under another name."""
        self.path = path
        self.file.path = Path(path)
        self.misses = 0
        self.doomed = False

    def is_quiet(self, at: float) -> bool:
        """Whether the status says that a look is not worth it. Cheap for a local file."""
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return False  # the look will meet it again, and say what it means
        return (
            self._caught_up
            and at - self._changed_at > COARSE_SECONDS
            and (status.st_size, modified_ns(status)) == self._seen
            and not self.doomed
            and not self.is_unlinked(status)
        )

    def look_now(self, chunk: memoryview, scratch: memoryview) -> Look | None:
        """A look in the event loop; `None` when it would have to wait, and a thread must do it."""
        descriptor = self._descriptor
        try:
            count = os.preadv(descriptor, (chunk,), self.offset, _NOWAIT)
            data = bytes(chunk[:count])
            wanted = min(self.head.limit, self.offset + count)
            count = os.preadv(descriptor, (scratch,), 0, _NOWAIT)
            head = bytes(scratch[: min(count, wanted)])
            status = os.fstat(descriptor)
        except BlockingIOError:
            return None  # not in the page cache, this time
        except OSError:
            # EOPNOTSUPP mostly. Whatever it is, a plain read in a thread will tell it from a file that is broken.
            self.fast = False
            return None
        if count < wanted <= status.st_size:
            return None  # a part of the head is not in the page cache
        return Look(data, head, status)

    def look(self, limit: int) -> Look:
        """A look that may block. Raises `OSError`."""
        data = self._read(self.offset, limit)
        head = self._read(0, min(self.head.limit, self.offset + len(data)))
        return Look(data, head, os.fstat(self._descriptor))

    def _read(self, offset: int, count: int) -> bytes:
        if _HAS_PREAD:
            return os.pread(self._descriptor, count, offset)
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        return os.read(self._descriptor, count)

    def absorb(self, look: Look, at: float) -> list[TailEvent]:
        """Judge a look: what is new. Raises `Truncated` or `Replaced`; nothing of that look is then delivered."""
        data, found, status = look
        self.looked_at = at
        size = status.st_size
        file = self.file
        end = self.offset + len(data)
        if size < end:
            raise Truncated(self.path, f"it has {size} bytes, {end} were read")
        head = self.head
        expected = head.expected(data)
        events: list[TailEvent] = []
        if found != expected and not head.same_file(expected, found):
            raise Replaced(self.path, "the bytes that were read have changed")
        if data:
            events.append(Grew(file, self.offset, data))
            self.offset = end
        if found != expected:
            head.known = found[: len(expected)]
            events.append(Rewritten(file, head.header))
        else:
            head.known = expected
        seen = (size, modified_ns(status))
        if seen != self._seen:
            self._seen = seen
            self._changed_at = at
            file.size_bytes, file.mtime_ns = seen
        self.behind = end < size
        if self.behind:
            self._caught_up = False
        elif not self._caught_up:
            self._caught_up = True
            events.append(CaughtUp(file))
        return events

    def is_unlinked(self, status: os.stat_result) -> bool:
        """Whether no name leads to the file any more."""
        return status.st_nlink == 0 and self._links > 0  # some file systems never count links


def lost_by(error: OSError, path: str) -> Unreadable | Vanished:
    """What a read error in the middle of a file means."""
    if error.errno in (ESTALE, ENOENT):
        return Vanished(path, "it is gone from the server")
    return Unreadable(path, error.strerror or type(error).__name__)


def open_arrival(arrival: Arrival, real_root: str, rewritable_bytes: int) -> FileTail | Refusal | None:
    """Open a file that has arrived. Blocks.

    `None` when the file is gone, or when only a changed header would matter and it has not changed.
    """
    tail = open_file(arrival.path, real_root, rewritable_bytes)
    if not isinstance(tail, FileTail) or arrival.header is None or tail.file.size_bytes != arrival.sight.size_bytes:
        return tail
    try:
        header = tail.look(len(arrival.header)).data
    except OSError:
        return tail  # the first look will meet it again
    if header != arrival.header:
        return tail
    tail.close()
    return None


def open_file(path: str, real_root: str, rewritable_bytes: int) -> FileTail | Refusal | None:
    """Open what is under a name. Blocks. `None`: there is no file any more."""
    try:
        status = os.lstat(path)
        target = path
        if stat.S_ISLNK(status.st_mode):
            target = os.path.realpath(path, strict=True)
            if not is_inside(target, real_root):
                return Refusal("a link out of the folder")
            status = os.stat(target)
        # Before it is opened: to open a device can do something to it.
        if not stat.S_ISREG(status.st_mode):
            return Refusal("not a regular file")
        descriptor = os.open(target, _FLAGS)
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
    return FileTail(file, descriptor, rewritable_bytes, status.st_nlink)
