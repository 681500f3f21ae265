"""The outbox keeps whole messages in order within a limit, drops droppable ones, and reports the number of these."""

from __future__ import annotations

import tracemalloc
from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from slpstream.stream.outbox import Outbox


class Socket:
    """A socket that takes `room` bytes."""

    descriptor = -1

    def __init__(self, room: int = 0) -> None:
        self.room = room
        self.received = b""
        self.writes = 0

    def write_now(self, data: bytes | memoryview) -> int:
        self.writes += 1
        taken = bytes(data[: self.room])
        self.room -= len(taken)
        self.received += taken
        return len(taken)


def outbox(socket: Socket, limit_bytes: int = 100) -> Outbox:
    def tell_missed(missed: int) -> bytes:
        return b"<missed %d>" % missed

    return Outbox(socket, limit_bytes=limit_bytes, wake_writer=lambda: None, tell_missed=tell_missed)


def test_data_is_not_queued_while_the_socket_has_room() -> None:
    socket = Socket(100)
    box = outbox(socket)
    assert box.put(b"<a>")
    assert box.put(b"<b>")
    assert box.put(b"<c>", "key")
    assert (box.empty, box.queued_bytes, socket.received, socket.writes) == (True, 0, b"<a><b><c>", 3)


def test_newer_entry_replaces_older_and_the_gap_is_reported() -> None:
    socket = Socket(2)
    box = outbox(socket)
    assert box.put(b"<begun>")
    for text in (b"<f1>", b"<f2>"):
        box.put(text, "f")
    box.put(b"<e>")
    box.put(b"<g1>", "g")
    box.put(b"<f3>", "f")
    socket.room = 100
    assert box.flush()
    assert socket.received == b"<begun><missed 2><e><g1><f3>"
    box.put(b"<f4>", "f")
    assert socket.received.endswith(b"<f3><f4>")  # the gap is reported once


def test_batch_can_exceed_the_limit_of_an_empty_outbox() -> None:
    """An empty outbox sends a batch with one call; the limit applies to entries that are queued after it."""
    box = outbox(Socket(1), 10)
    assert box.put(b"<" + b"x" * 98 + b">")
    assert box.queued_bytes == 99
    assert not box.put(b"<e>")
    assert box.put(b"<f>", "f")
    assert box.queued_bytes == 99


def test_clear_keeps_a_partly_written_message() -> None:
    socket = Socket(1)
    box = outbox(socket)
    box.put(b"<abc>")
    box.put(b"<f>", "f")
    box.put(b"<e>")
    box.clear()
    assert box.queued_bytes == 4
    box.put(b"<close>", "f")
    socket.room = 100
    assert box.flush()
    assert socket.received == b"<abc><close>"


def test_discard_drops_everything() -> None:
    socket = Socket(2)
    box = outbox(socket)
    box.put(b"<begun>")
    box.put(b"<waits>")
    box.put(b"<droppable>", "key")
    box.discard()
    assert (box.empty, box.queued_bytes, box.flush()) == (True, 0, True)
    assert socket.received == b"<b"


class Model:
    """The outbox as a plain list of entries."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.partial = b""
        """The rest of the message that is being written."""
        self.entries: deque[tuple[bytes, str | None]] = deque()
        self.missed = 0

    @property
    def queued(self) -> int:
        return len(self.partial) + sum(len(data) for data, _ in self.entries)

    def put(self, data: bytes, key: str | None) -> bool:
        if not self.queued:
            self.partial = data
            return True
        for entry in list(self.entries):
            if key is not None and entry[1] == key:
                self._drop(entry)
        for entry in list(self.entries):
            if entry[1] is not None and self.queued + len(data) > self.limit_bytes:
                self._drop(entry)
        if self.queued + len(data) > self.limit_bytes:
            self.missed += key is not None
            return key is not None
        self.entries.append((data, key))
        return True

    def clear(self) -> None:
        self.entries.clear()
        self.missed = 0

    def _drop(self, entry: tuple[bytes, str | None]) -> None:
        self.entries.remove(entry)
        self.missed += 1

    def take(self, room: int) -> bytes:
        """The bytes that a socket with this much room receives."""
        taken = b""
        while True:
            taken += self.partial[:room]
            room, self.partial = room - len(self.partial[:room]), self.partial[room:]
            if self.partial or not (self.entries or self.missed):
                return taken
            report = b"<missed %d>" % self.missed if self.missed else b""
            self.partial = report + (self.entries.popleft()[0] if self.entries else b"")
            self.missed = 0


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from([None, None, "f", "g", "h"]), st.integers(1, 30)),
        st.tuples(st.just("room"), st.none(), st.integers(0, 40)),
        st.tuples(st.just("clear"), st.none(), st.just(0)),
    ),
    max_size=60,
)


@given(actions=ACTIONS, limit_bytes=st.integers(1, 80))
def test_outbox_matches_a_simple_model(actions: list[tuple[str, str | None, int]], limit_bytes: int) -> None:
    socket = Socket()
    box, model = outbox(socket, limit_bytes), Model(limit_bytes)
    expected = b""
    for number, (action, key, size) in enumerate([*actions, ("room", None, 1 << 20)]):
        if action == "put":
            data = b"<%d %b>" % (number, b"x" * size)
            assert box.put(data, key) == model.put(data, key)
        elif action == "clear":
            box.clear()
            model.clear()
        elif size:
            socket.room = size
            assert box.flush() == box.empty
            socket.room = 0
            expected += model.take(size)
        assert socket.received == expected
        assert box.queued_bytes == model.queued
        assert box.empty == (not model.queued)


def test_dropped_entries_take_no_memory_while_the_socket_is_stuck() -> None:
    """Entries that newer ones replaced take no memory."""
    box = outbox(Socket(1), 1000)
    box.put(b"<abc>")
    tracemalloc.start()
    for number in range(10_000):
        box.put(b"<%d>" % number, "f")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 20_000
