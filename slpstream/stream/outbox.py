"""What waits for one slow socket: bounded, and the only buffer between us and a subscriber.

As long as nothing waits, data goes straight to the socket with one non-blocking write. What the socket does not take
is kept here and flushed when it can be written again. A droppable entry gives way to a newer one of the same key;
entries that may not be dropped count against the bound.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable

Write = Callable[[bytes | memoryview], int]
"""Writes without blocking; returns how many bytes were taken, 0 when the socket is full."""


class Outbox:
    """A bounded queue of encoded messages in front of a non-blocking `write`."""

    def __init__(self, write: Write, *, limit_bytes: int) -> None:
        self._write = write
        self._limit_bytes = limit_bytes
        self._rest: bytes | memoryview = b""
        """What remains of data of which the socket has taken a part."""
        self._queue: deque[_Entry] = deque()
        self._newest: dict[Hashable, _Entry] = {}
        self.queued_bytes = 0
        """Everything that waits."""
        self.dropped = 0
        """How many entries gave way since `take_dropped` was last called."""

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
        """Queues data behind what waits, or sends it when nothing does. With a `key` it replaces an older entry of
        that key.

        False when it does not fit; then it was not taken.
        """
        if self.queued_bytes == 0:
            self.send(data)
            return True
        if key is not None:
            older = self._newest.pop(key, None)
            if older is not None:
                self.queued_bytes -= len(older.data)
                older.data = b""
                self.dropped += 1
        if self.queued_bytes + len(data) > self._limit_bytes:
            if key is not None:
                self.dropped += 1
                return True
            return False
        entry = _Entry(data, key)
        self._queue.append(entry)
        self.queued_bytes += len(data)
        if key is not None:
            self._newest[key] = entry
        return True

    def flush(self) -> bool:
        """The socket can be written again. True when nothing waits any more."""
        while self.queued_bytes:
            if not self._rest:
                entry = self._queue.popleft()
                if not entry.data:
                    continue
                if entry.key is not None and self._newest.get(entry.key) is entry:
                    del self._newest[entry.key]
                self._rest = entry.data
            taken = self._write(self._rest)
            self.queued_bytes -= taken
            if taken < len(self._rest):
                self._rest = memoryview(self._rest)[taken:]
                return False
            self._rest = b""
        self._queue.clear()
        return True

    def clear(self) -> None:
        """Drops what has not been begun; the rest of a message that was begun stays."""
        self._queue.clear()
        self._newest.clear()
        self.queued_bytes = len(self._rest)

    def take_dropped(self) -> int:
        """How many entries were dropped, counted anew from here."""
        dropped, self.dropped = self.dropped, 0
        return dropped


class _Entry:
    __slots__ = ("data", "key")

    def __init__(self, data: bytes, key: Hashable) -> None:
        self.data = data
        self.key = key
