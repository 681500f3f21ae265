"""A bounded queue in front of a socket. It is the only buffer between the daemon and a subscriber.

As long as the queue is empty, data goes straight to the socket with a single non-blocking write. If the socket only
takes a part of it, we keep the rest and flush it when the socket becomes writable again. When a newer droppable entry
arrives, it replaces an older one with the same key. If there's still not enough room, all droppable entries are
dropped, beginning with the oldest, before we refuse any entry. In the gap, the subscriber gets a notice that tells it
how many messages were dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol


class _Readiness:
    """Notices when any socket is closed, an outbox becomes empty or stops being so, or a group changes.

    Until then, the fan-out writes to the same descriptors again, without asking a thousand connections for each frame.
    """

    version = object()
    """Another object after each change."""


readiness = _Readiness()


class Socket(Protocol):
    """What an outbox needs of the connection behind it."""

    descriptor: int
    """The file descriptor, or -1 if there's none, for example because the connection is closed.

    When it changes, `readiness` gets a new version.
    """

    def write_now(self, data: bytes | memoryview) -> int:
        """Write without blocking. Returns the number of bytes that the socket took, or 0 when it is full."""


SendToAll = Callable[[list[int], bytes], Sequence[tuple[int, int]]]
"""Writes the same bytes to many sockets, given their descriptors, without blocking.

For each socket that didn't take all of them, the result has its index and how many bytes it took. This is 0 if the
socket is full or broken, or if its descriptor is negative.
"""


class Outbox:
    """A bounded queue of encoded messages in front of a socket that doesn't block."""

    def __init__(
        self,
        socket: Socket,
        *,
        limit_bytes: int,
        wake_writer: Callable[[], object],
        tell_missed: Callable[[int], bytes],
        on_missed: Callable[[], object] = lambda: None,
    ) -> None:
        """`wake_writer` is called when there is unsent data, which should be flushed once the socket is writable.

        `tell_missed` encodes the notice about dropped entries. It is called with their number. `on_missed` is called
        each time an entry is dropped. You can use it to count them, because a subscriber that never reads its socket
        doesn't receive the notice either.
        """
        self.socket = socket
        """While the outbox is `empty`, other code may write to it directly."""
        self._limit_bytes = limit_bytes
        self._wake_writer = wake_writer
        self._tell_missed = tell_missed
        self._on_missed = on_missed
        self._rest: bytes | memoryview = b""  # of a partial write
        self._queue: OrderedDict[Hashable, bytes] = OrderedDict()  # the key of an undroppable entry is a unique object
        self._droppable: dict[Hashable, None] = {}  # keys of the droppable entries, oldest first
        self._missed = 0
        self.queued_bytes = 0
        """Size of all unsent data."""

    @property
    def empty(self) -> bool:
        """Whether all data was sent."""
        return self.queued_bytes == 0

    def keep_rest(self, data: bytes, taken: int) -> None:
        """Keep the rest of some data that was written to the socket of an `empty` outbox, which took `taken` bytes."""
        self._rest = memoryview(data)[taken:]
        self.queued_bytes = len(data) - taken
        readiness.version = object()
        self._wake_writer()

    def put(self, data: bytes, key: Hashable = None) -> bool:
        """Send the data now or, if there is other unsent data, queue it. Returns whether the data was accepted.

        If you pass a `key`, the entry is droppable, and it replaces a queued entry with the same key. An entry without
        a key is never dropped. Instead, it is refused if there isn't enough room for it.
        """
        if self.queued_bytes == 0:
            taken = self.socket.write_now(data)
            if taken < len(data):
                self.keep_rest(data, taken)
            return True
        if key in self._droppable:
            self._drop(key)
        while self._droppable and self.queued_bytes + len(data) > self._limit_bytes:
            self._drop(next(iter(self._droppable)))
        if self.queued_bytes + len(data) > self._limit_bytes:
            if key is None:
                return False
            self._miss()
            return True
        self._queue[object() if key is None else key] = data
        if key is not None:
            self._droppable[key] = None
        self.queued_bytes += len(data)
        self._wake_writer()
        return True

    def flush(self) -> bool:
        """Write the unsent data to a socket that has become writable. Returns whether all of it was sent."""
        while True:
            if not self._rest:
                if not self._queue and not self._missed:
                    readiness.version = object()
                    return True
                self._rest = self._next()
            taken = self.socket.write_now(self._rest)
            self.queued_bytes -= taken
            if taken < len(self._rest):
                self._rest = memoryview(self._rest)[taken:]
                return False
            self._rest = b""

    def clear(self) -> None:
        """Drop all entries. If an entry was written in part, the rest of it is kept, because the receiver needs it."""
        self._queue.clear()
        self._droppable.clear()
        self._missed = 0
        self.queued_bytes = len(self._rest)
        readiness.version = object()

    def discard(self) -> None:
        """Drop all data and callbacks. Call this when the connection is closed.

        The callbacks refer to objects that refer back to this one. Only the garbage collector can free such cycles, and
        each time it runs, it pauses the whole daemon.
        """
        self._rest = b""
        self.clear()
        self.socket = _Closed()
        self._wake_writer = self._on_missed = lambda: None
        self._tell_missed = lambda missed: b""

    def _next(self) -> bytes:
        """Return the next entry. If entries before it were dropped, it begins with a notice about that."""
        data = b""
        if self._queue:
            key, data = self._queue.popitem(last=False)
            self._droppable.pop(key, None)
        if self._missed:
            notice = self._tell_missed(self._missed)
            self._missed = 0
            self.queued_bytes += len(notice)
            data = notice + data
        return data

    def _drop(self, key: Hashable) -> None:
        del self._droppable[key]
        self.queued_bytes -= len(self._queue.pop(key))
        self._miss()

    def _miss(self) -> None:
        self._missed += 1
        self._on_missed()


class _Closed:
    """Stands for a socket that was closed. It takes everything."""

    descriptor = -1

    def write_now(self, data: bytes | memoryview) -> int:
        return len(data)
