"""The server's limits per client and for all clients: connections, time for a request, frame rate, silence. Each limit
has a counter."""

from __future__ import annotations

import socket

import pytest
import trio
from trio.testing import MockClock

from slpstream.web import asgi, endpoint, server, websocket
from tests.web.served import Caller, served
from tests.web.websocket_frames import PING, SUBSCRIBE, TEXT, frame, opened

pytestmark = pytest.mark.trio
GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"


async def until_ended(caller: Caller) -> bytes:
    """Receive bytes until the connection ends."""
    received = b""
    try:
        while data := await caller.stream.receive_some():
            received += data
    except trio.BrokenResourceError:
        pass
    return received


async def test_oldest_connection_without_a_request_is_dropped() -> None:
    """The oldest connection that waits for a request, complete or not, is dropped for a new one."""
    async with served(max_connections=3) as running:
        callers = [await running.call() for _ in range(3)]
        await callers[0].send(GET)
        assert (await callers[0].answer()).status == 200  # now it is again the last one that waits
        await callers[1].send(GET[:-4])
        with trio.fail_after(10):
            while running.server.connections < 3:
                await trio.sleep(0.01)
        assert (await running.ask("/healthz")).status == 200
        assert running.dropped == ["room"]
        with trio.fail_after(10):
            assert await until_ended(callers[1]) == b""
        await callers[0].send(GET)
        assert (await callers[0].answer()).status == 200
        for caller in callers:
            await caller.stream.aclose()


async def test_connections_with_a_request_are_kept() -> None:
    async with served(max_connections=2) as running:
        async with running.websocket() as first, running.websocket() as second:
            refused = await running.call()
            with trio.fail_after(10):
                assert await until_ended(refused) == b""
            await refused.stream.aclose()
            assert running.dropped == ["limit"]
            for each in (first, second):
                assert '"hello"' in str(await each.recv())
        with trio.fail_after(10):
            while running.server.connections:
                await trio.sleep(0.01)
        assert (await running.ask("/healthz")).status == 200


@pytest.mark.parametrize(
    ("peer", "most"), [("10.0.0.7", 5), ("fe80::1%eth0", 5), ("127.0.0.1", 10), ("::1", 10)], ids=str
)
async def test_one_address_gets_at_most_half_unless_it_is_loopback(
    monkeypatch: pytest.MonkeyPatch, peer: str, most: int
) -> None:
    accept = socket.socket.accept
    monkeypatch.setattr(socket.socket, "accept", lambda listener: (accept(listener)[0], (peer, 1)))
    async with served(max_connections=10) as running:
        callers = [await running.call() for _ in range(most)]
        with trio.fail_after(10):
            while running.server.connections < most:
                await trio.sleep(0.01)
        assert running.dropped == []
        callers.append(await running.call())
        with trio.fail_after(10):
            while not running.dropped:
                await trio.sleep(0.01)
        assert running.dropped == ["limit" if most == 5 else "room"]
        with trio.fail_after(10):
            while running.server.connections > most:
                await trio.sleep(0.01)
        for caller in callers:
            await caller.stream.aclose()


def patch_of(size: int) -> bytes:
    """The head of a correction with a body of this size."""
    head = "PATCH /v1/stations/main/set HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {size}\r\n\r\n".encode()


async def test_slow_body_exceeds_the_deadline(patient_clock: MockClock) -> None:
    async with served() as running:
        async with await running.call() as caller, trio.open_nursery() as nursery:
            await caller.send(patch_of(1000))
            began = trio.current_time()

            async def trickle() -> None:
                while True:
                    try:
                        await caller.send(b" ")
                    except trio.BrokenResourceError:
                        return
                    await trio.sleep(asgi.REQUEST_SECONDS / 10)

            nursery.start_soon(trickle)
            with trio.fail_after(asgi.REQUEST_SECONDS * 2):
                assert b" 408 " in (await until_ended(caller)).split(b"\r\n")[0]
            assert trio.current_time() - began < asgi.REQUEST_SECONDS * 1.2
            nursery.cancel_scope.cancel()
        assert running.requests == [408]


async def test_slow_heads_are_counted_and_idle_connections_are_not(patient_clock: MockClock) -> None:
    async with served() as running:
        for data, last_line in ((b"", b""), (GET, b"HTTP/1.1 200 "), (GET[:-2], b"HTTP/1.1 408 ")):
            async with await running.call() as caller:
                began = trio.current_time()
                await caller.send(data)
                with trio.fail_after(server.HEAD_SECONDS * 2):
                    assert (await until_ended(caller)).startswith(last_line)
                assert trio.current_time() - began >= server.HEAD_SECONDS - 0.1
        assert running.dropped == ["head"]


async def test_large_body_is_refused() -> None:
    async with served() as running:
        for size, status in (
            (endpoint.MAX_BODY_BYTES, 422),
            (endpoint.MAX_BODY_BYTES + 1, 413),
            (asgi.MAX_BODY_BYTES + 1, 413),
        ):
            async with await running.call() as caller, trio.open_nursery() as nursery:
                nursery.start_soon(caller.send, patch_of(size) + b" " * size)
                assert (await caller.answer()).status == status


async def test_frames_beyond_the_burst_are_read_slowly(patient_clock: MockClock) -> None:
    async with served() as running:
        caller, _ = await opened(running)
        async with caller.stream:
            began = trio.current_time()
            count = websocket.BURST_FRAMES + 20
            await caller.send(b"".join(frame(TEXT, SUBSCRIBE) for _ in range(count)))
            with trio.fail_after(60):
                while running.hub.subscriptions < count:
                    await trio.sleep(0.5)
            took = trio.current_time() - began
            assert took == pytest.approx(20 / websocket.FRAMES_PER_SECOND, rel=0.3)


async def test_silent_client_is_dropped(patient_clock: MockClock) -> None:
    """Half-open connection: the other machine was switched off."""
    async with served() as running:
        caller, _ = await opened(running)
        async with caller.stream:
            with trio.fail_after(websocket.PING_SECONDS * 4):
                while not running.dropped:
                    await trio.sleep(5)
            assert running.dropped == ["silent"]
            with trio.fail_after(10):
                while running.server.websockets:
                    await trio.sleep(0.1)


async def test_client_that_pings_and_reads_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "FRAMES_PER_SECOND", 1e6)
    async with served(outbox_bytes=4096, socket_buffer_bytes=4096) as running:
        caller, _ = await opened(running)
        async with caller.stream:
            with trio.fail_after(30), pytest.raises(trio.BrokenResourceError):
                while True:
                    await caller.send(frame(PING, b"x" * 125) * 100)
        assert running.dropped == ["unread"]
