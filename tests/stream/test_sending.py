"""The fan-out through real sockets: many of them are written to with one call of the kernel, and each gets the same
bytes as if it had been alone.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any

import pytest

from slpstream.formats.kernel import send_to_all
from slpstream.stream.channel import Channel
from slpstream.stream.outbox import SendToAll
from slpstream.system.internal_errors import InternalErrors
from slpstream.web.connection import Connection
from slpstream.web.encodings import DELTA, JSON, MESSAGEPACK
from tests.stream.fakes import Client, FakeLog, FakeStation, hub_of, settle, subscription

needs_kernel = pytest.mark.skipif(send_to_all is None, reason="needs the kernel, on a system with descriptors")
BUFFER_BYTES = 4096


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connected(stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection with small buffers. Neither end blocks."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.socket()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        theirs.connect(listener.getsockname())
        ours, _ = listener.accept()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
    for each in (ours, theirs):
        each.setblocking(False)
        stack.callback(each.close)
    return ours, theirs


def fill(sock: socket.socket) -> int:
    """Send until the socket takes no more. Returns how many bytes it took."""
    size = 0
    try:
        while True:
            size += sock.send(b"x" * 1000)
    except BlockingIOError:
        return size


def drained(sock: socket.socket) -> bytes:
    """All bytes that have arrived."""
    data = b""
    try:
        while part := sock.recv(1 << 20):
            data += part
    except (BlockingIOError, ConnectionResetError):
        pass
    return data


class SocketClient(Client):
    """A client at the other end of a real connection."""

    def __init__(self, stack: ExitStack, **options: Any) -> None:
        ours, self.theirs = connected(stack)
        self.connection = Connection(ours, "127.0.0.1")
        self.failures: list[OSError] = []
        super().__init__(**options)
        self.outbox.socket = self.connection

    def read(self) -> None:
        """Read all bytes that have arrived, and let the rest of the outbox be written."""
        self.received += drained(self.theirs)
        self.allow(None)

    async def read_all(self) -> bytes:
        """Read until nothing more arrives."""
        before = -1
        while before < len(self.received):
            before = len(self.received)
            self.read()
            await settle()
        return bytes(self.received)


def station_of(send: SendToAll | None) -> FakeStation:
    station = FakeStation(ring_bytes=1 << 20)
    errors = InternalErrors(strict=False)
    station.channel = Channel("main", station._locate, send_to_all=send, errors=errors)
    station.channel.settled = True
    return station


@needs_kernel
def test_every_socket_gets_the_bytes(stack: ExitStack) -> None:
    pairs = [connected(stack) for _ in range(20)]
    assert send_to_all([ours.fileno() for ours, _ in pairs], b"<frame>") == []
    assert send_to_all([], b"<frame>") == []
    assert send_to_all([pairs[0][0].fileno()], b"") == []
    assert {drained(theirs) for _, theirs in pairs} == {b"<frame>"}


@needs_kernel
def test_sockets_that_do_not_take_all_are_reported(stack: ExitStack) -> None:
    pairs = [connected(stack) for _ in range(6)]
    descriptors = [ours.fileno() for ours, _ in pairs]
    data = bytes(range(256)) * 8000
    filled = fill(pairs[1][0])
    pairs[2][1].close()
    pairs[2][0].send(b"reset")
    descriptors[3] = -1
    pairs[4][0].close()
    shortfalls = dict(send_to_all(descriptors, data))
    assert [shortfalls[index] for index in (1, 2, 3, 4)] == [0, 0, 0, 0]
    for index in (0, 5):
        assert 0 < shortfalls[index] < len(data)
        assert data.startswith(drained(pairs[index][1]))
    assert len(drained(pairs[1][1])) <= filled
    assert drained(pairs[3][1]) == b""


@needs_kernel
@pytest.mark.parametrize(
    "arguments", [(), ([1],), ((1,), b""), ([1], "text"), ([1], bytearray(b"x")), (["1"], b""), ([None], b"")]
)
def test_wrong_arguments(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        send_to_all(*arguments)


@needs_kernel
@pytest.mark.parametrize("descriptor", [-1, -(2**31), 2**31, 2**32 + 1, 2**62])
def test_impossible_descriptors_take_nothing(descriptor: int) -> None:
    assert send_to_all([descriptor], b"data") == [(0, 0)]


@pytest.mark.trio
@needs_kernel
@pytest.mark.parametrize("encoding", [JSON, MESSAGEPACK, DELTA], ids=lambda encoding: encoding.key)
async def test_same_bytes_as_one_by_one(encoding: Any, stack: ExitStack) -> None:
    """Clients that join at different times."""
    received: list[list[bytes]] = []
    for send in (send_to_all, None):
        station, log = station_of(send), FakeLog(batches=60)
        hub, game = hub_of(station), station.begin(log)
        async with AsyncExitStack() as subscribed:
            clients: list[SocketClient] = []
            while station.write(game):
                if len(log.batches) - station.files[log.game_id].written in (50, 40, 30, 20):
                    clients.append(SocketClient(stack, encoding=encoding, limit_bytes=1 << 20))
                    await subscribed.enter_async_context(clients[-1].subscribed(hub, subscription()))
                for client in clients:
                    client.read()
                await settle()
            received.append([await client.read_all() for client in clients])
    assert received[0] == received[1]
    assert all(received[0])


@pytest.mark.trio
@pytest.mark.parametrize("send", [pytest.param(send_to_all, marks=needs_kernel), None], ids=["at once", "one by one"])
async def test_one_client_does_not_affect_the_others(send: SendToAll | None, stack: ExitStack) -> None:
    """One leaves in the middle, one does not read and loses frames, one does not read and gets all of them later."""
    station, log = station_of(send), FakeLog(batches=900)
    hub, game = hub_of(station), station.begin(log)
    expected = b"".join(message.json("main") + b"\n" for message in log.whole())
    honest = [SocketClient(stack) for _ in range(5)]
    leaving, slow, patient = SocketClient(stack), SocketClient(stack), SocketClient(stack)
    async with AsyncExitStack() as subscribed:
        for client in (*honest[:2], leaving, *honest[2:]):
            await subscribed.enter_async_context(client.subscribed(hub, subscription()))
        await subscribed.enter_async_context(slow.subscribed(hub, subscription(topics=["frame"])))
        await subscribed.enter_async_context(patient.subscribed(hub, subscription(delivery="lossless")))
        while station.write(game):
            if station.files[log.game_id].written == 100:
                leaving.theirs.close()
            for client in honest:
                client.read()
                await settle()
        await settle()
        for client in (*honest, slow, patient):
            await client.read_all()
    assert {bytes(client.received[-len(expected) :]) for client in honest} == {expected}
    assert leaving.connection.gone
    assert leaving.connection.descriptor == -1
    assert patient.received.endswith(expected)
    assert sum(message["missed"] for message in slow.of_type("lagged")) > 0
    assert slow.log[-1] == [message for message in log.whole() if message.topic == "frame"][-1].json("main")
    assert not any(client.error for client in (*honest, slow, patient))


@pytest.mark.trio
@needs_kernel
@pytest.mark.parametrize("discarded", [True, False])
async def test_descriptor_of_a_closed_connection_is_not_used(discarded: bool, stack: ExitStack) -> None:
    """The next connection gets the number of one that is closed. It must not get its bytes.

    A session discards its outbox before it closes the connection. If it did not, its subscription would fail.
    """
    station, log = station_of(send_to_all), FakeLog(batches=10)
    hub, game = hub_of(station), station.begin(log)
    closed, other = SocketClient(stack), SocketClient(stack)
    async with other.subscribed(hub, subscription()), closed.subscribed(hub, subscription()):
        station.write(game, 3)
        number = closed.connection.descriptor
        ours, theirs = connected(stack)
        if discarded:
            closed.outbox.discard()
        closed.connection.close()
        stack.callback(os.close, os.dup2(ours.fileno(), number))
        assert station.channel.subscribers == 2
        station.write(game)
        await other.read_all()
        assert station.channel.subscribers == (2 if discarded else 1)
        station.write_all(game)
        await other.read_all()
    assert drained(theirs) == b""
    assert len(other.log) == len(log.whole())
    assert (closed.error is None) is discarded
