"""What waits for one slow socket: bounded, and the only buffer between us and a subscriber.

As long as nothing waits, data goes straight to the socket with one non-blocking write. What the socket does not take
is kept here and flushed when it can be written again. A droppable entry gives way to a newer one of the same key, and
all droppable ones give way, oldest first, before anything is refused. The reader of the socket is told at the gap,
before the next message, how many it missed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

Write = Callable[[bytes | memoryview], int]
"""Writes without blocking; returns how many bytes were taken, 0 when the socket is full."""


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
        """`tell_missed` makes the message that says how many entries were dropped. `on_missed` is called for each of
        them at once: who never reads is never told."""
        self._write = write
        self._limit_bytes = limit_bytes
        self._tell_missed = tell_missed
        self._on_missed = on_missed
        self._rest: bytes | memoryview = b""
        """What remains of data of which the socket has taken a part."""
        self._queue: OrderedDict[Hashable, bytes] = OrderedDict()
        """By key; what has none, and may not be dropped, by an object of its own."""
        self._droppable: dict[Hashable, None] = {}
        """The keys among them, oldest first."""
        self._missed = 0
        self.queued_bytes = 0
        """Everything that waits."""

    @property
    def empty(self) -> bool:
        """Nothing waits."""
        return self.queued_bytes == 0

    def send(self, data: bytes) -> bool:
        """Only while `empty`: writes what the socket takes and keeps the rest. True when all was taken."""
        taken = self._write(data)
        if taken == len(data):
            return True
        self._rest = memoryview(data)[taken:]
        self.queued_bytes = len(data) - taken
        return False

    def put(self, data: bytes, key: Hashable = None) -> bool:
        """Queues data behind what waits, or sends it when nothing does. With a `key` it may be dropped, and replaces
        what waits with that key.

        False when it does not fit and may not be dropped; then it was not taken.
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
        """The socket can be written again. True when nothing waits any more."""
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
        """Drops what has not been begun; the rest of a message that was begun stays."""
        self._queue.clear()
        self._droppable.clear()
        self._missed = 0
        self.queued_bytes = len(self._rest)

    def discard(self) -> None:
        """Drops everything, for good: the connection is gone. It lets go of who reads it too, who holds on to it: what
        is in no circle is freed at once, and searches for garbage stop everybody."""
        self._rest = b""
        self.clear()
        self._write, self._tell_missed, self._on_missed = len, _nothing, None

    def _next(self) -> bytes:
        """The next entry, behind what is to be said of those before it that were dropped."""
        data = b""
        if self._queue:
            key, data = self._queue.popitem(last=False)
            self._droppable.pop(key, None)
        if self._missed:
            told = self._tell_missed(self._missed)
            self._missed = 0
            self.queued_bytes += len(told)
            data = told + data
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
    """Said to nobody."""
    return b""
