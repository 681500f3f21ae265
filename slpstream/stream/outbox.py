"""A bounded queue in front of one socket, and the only buffer between the daemon and a subscriber.

While nothing waits, data goes straight to the socket with one non-blocking write. The rest of a partial write is kept
here and flushed when the socket is writable again. A droppable entry is replaced by a newer one with the same key, and
all droppable entries are dropped, oldest first, before anything is refused. A message at the gap, before the next one,
gives the number of messages that were dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

Write = Callable[[bytes | memoryview], int]
"""Write without blocking; return how many bytes were taken, 0 when the socket is full."""


class Outbox:
    """A bounded queue of encoded messages in front of a non-blocking `write`."""

    def __init__(
        self,
        write: Write,
        *,
        limit_bytes: int,
        tell_missed: Callable[[int], bytes],
        on_missed: Callable[[], None] | None = None,
    ) -> None:
        """`tell_missed` makes the message that gives the number of dropped entries.

        `on_missed` is called for each dropped entry at once, since a subscriber that never reads is never told.
        """
        self._write = write
        self._limit_bytes = limit_bytes
        self._tell_missed = tell_missed
        self._on_missed = on_missed
        self._rest: bytes | memoryview = b""  # of data that the socket has taken a part of
        self._queue: OrderedDict[Hashable, bytes] = OrderedDict()  # entries without a key get a unique object as key
        self._droppable: dict[Hashable, None] = {}  # keys of the droppable entries, oldest first
        self._missed = 0
        self.queued_bytes = 0
        """Size of everything that waits."""

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return self.queued_bytes == 0

    def send(self, data: bytes) -> bool:
        """Write what the socket takes and keep the rest; return whether it took everything. Only while `empty`."""
        taken = self._write(data)
        if taken == len(data):
            return True
        self._rest = memoryview(data)[taken:]
        self.queued_bytes = len(data) - taken
        return False

    def put(self, data: bytes, key: Hashable = None) -> bool:
        """Send the data, or queue it if something waits already. Return whether it was taken.

        An entry with a `key` replaces a waiting one with the same key, and may be dropped. An entry without a key is
        refused when it does not fit.
        """
        if self.queued_bytes == 0:
            self.send(data)
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
        if key is None:
            self._queue[object()] = data
        else:
            self._queue[key] = data
            self._droppable[key] = None
        self.queued_bytes += len(data)
        return True

    def flush(self) -> bool:
        """Write what waits, now that the socket is writable; return whether nothing is left."""
        while True:
            if not self._rest:
                if not self._queue and not self._missed:
                    return True
                self._rest = self._next()
            taken = self._write(self._rest)
            self.queued_bytes -= taken
            if taken < len(self._rest):
                self._rest = memoryview(self._rest)[taken:]
                return False
            self._rest = b""

    def clear(self) -> None:
        """Drop all entries, except the rest of a message that the socket has taken a part of."""
        self._queue.clear()
        self._droppable.clear()
        self._missed = 0
        self.queued_bytes = len(self._rest)

    def discard(self) -> None:
        """Drop everything for good: the connection is gone.

        The callbacks are dropped too. They refer to objects that refer to this one, and reference cycles are only freed
        by garbage collections, which pause the whole daemon.
        """
        self._rest = b""
        self.clear()
        self._write, self._tell_missed, self._on_missed = len, _nothing, None

    def _next(self) -> bytes:
        """The next entry, after a message about entries before it that were dropped."""
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
        if self._on_missed is not None:
            self._on_missed()


def _nothing(missed: int) -> bytes:
    return b""
