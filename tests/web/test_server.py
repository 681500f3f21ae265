"""HTTP over real sockets: requests in sequence and pipelined, split anywhere, too large, too slow, invalid; what every
response must and must not contain; and a server that leaks nothing. The determinism rules are in `served.py`.
"""

from __future__ import annotations

import errno
import gc
import os
import random
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from slpstream.web import connection as connection_module
from slpstream.web import server as server_module
from slpstream.web.app import STATIC
from slpstream.web.connection import Connection
from slpstream.web.server import listen
from tests.web.served import Caller, served

pytestmark = pytest.mark.trio


@pytest.fixture
def patient_clock() -> MockClock:
    """Jumps when all tasks wait, after a threshold, because bytes on the loopback need a moment of real time."""
    return MockClock(autojump_threshold=0.02)


def get(target: str = "/healthz", *headers: str, version: str = "1.1") -> bytes:
    return "\r\n".join((f"GET {target} HTTP/{version}", "host: localhost", *headers, "", "")).encode("latin-1")


async def test_health() -> None:
    async with served() as server:
        assert (await server.ask("/healthz")).json == {"status": "ok"}
        ready = await server.ask("/readyz")
        assert (ready.status, ready.json) == (200, {"status": "ready", "missing": []})
        server.fake.missing = ["station main: the folder is missing"]
        ready = await server.ask("/readyz")
        assert (ready.status, ready.json["missing"]) == (503, ["station main: the folder is missing"])
        assert (await server.ask("/healthz")).status == 200


async def test_starting_stations_are_not_listed_as_not_working() -> None:
    async with served() as server:
        server.fake.now_starting = ["main"]
        ready = await server.ask("/readyz")
        assert (ready.status, ready.json) == (503, {"status": "not ready", "missing": [], "starting": ["main"]})


async def test_metrics() -> None:
    async with served() as server:
        few = await server.ask("/metrics?names=slpstream_websockets,slpstream_tasks")
        assert few.body == b"slpstream_websockets 1.0\nslpstream_tasks 1.0\n"
        assert (await server.ask("/metrics?names=a;b")).status == 422
        answer = await server.ask("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert answer.body == b"slpstream_fake 1.0\n"


async def test_stations() -> None:
    async with served() as server:
        answer = await server.ask("/v1/stations")
        assert [station["id"] for station in answer.json["stations"]] == ["main", "side"]
        assert answer.headers["cache-control"] == "no-store"
        assert (await server.ask("/v1/stations/side")).json == {"id": "side", "state": "offline", "recordings": []}
        missing = await server.ask("/v1/stations/third")
        assert missing.status == 404
        assert missing.problem == {"type": "about:blank", "status": 404, "detail": "no such station: third"}


@pytest.mark.parametrize("target", ["/", "/overlay/main", "/scenes/versus/main", "/scenes/ticker"])
async def test_pages(target: str) -> None:
    async with served() as server:
        answer = await server.ask(target)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["cache-control"] == "no-cache"
        again = await server.ask(target, if_none_match=answer.headers["etag"])
        assert again.status in (200, 304)
        assert (await server.ask("/overlay/third")).problem["detail"] == "no such station: third"
        assert (await server.ask("/scenes/live/third")).problem["detail"] == "no such station: third"
        assert (await server.ask("/scenes/finale/main")).problem["detail"] == "no such scene: finale"
        assert (await server.ask("/scenes/ticker/main")).status == 404


@pytest.mark.parametrize("asset", sorted(str(p.relative_to(STATIC)) for p in STATIC.rglob("*") if p.is_file()))
async def test_assets(asset: str) -> None:
    async with served() as server:
        answer = await server.ask(f"/static/{asset}")
        assert answer.body == (STATIC / asset).read_bytes()
        assert (await server.ask(f"/static/{asset}", if_none_match=answer.headers["etag"])).status == 304
        assert (await server.ask(f"/static/{asset}", range="bytes=0-9")).body == answer.body[:10]


ODD_TARGETS = (
    "/nothing",
    "/v1/stations/",
    "/v1/stations/%00",
    "/v1/stations/%ff%fe",
    "/v1/stations/..%2f..%2fetc",
    "/overlay/",
    "/overlay/%3Cscript%3E",
    "/static",
    "/static/",
    "/static/nothing.js",
    "/static/%00",
    "/static/" + "x" * 5000,
    "/static/../../../etc/passwd",
    "/static/%2e%2e/%2e%2e/app.py",
    "/static/..%2fapp.py",
    "/static//etc/passwd",
    "/static/%5c..%5c",
    "//evil.example/%2f..",
    "*",
    "http://127.0.0.1/healthz",
    "/healthz#x",
    "/%",
    "/v1/stream",
    "/v1/stream?station=main",
)


@pytest.mark.parametrize("target", ODD_TARGETS, ids=lambda target: target[:40])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "BREW"])
async def test_unknown_targets_are_problems(target: str, method: str) -> None:
    async with served() as server:
        answer = await server.ask(target, method)
        assert 300 <= answer.status < 500
        if answer.status >= 400 and method != "HEAD":
            assert set(answer.problem) == {"type", "status", "detail"}
        assert (await server.ask("/healthz")).status == 200


@pytest.mark.parametrize(
    "target", ["/", "/healthz", "/metrics", "/v1/stations/third", "/nothing", "/static/x", "/overlay/main"]
)
async def test_every_response_has_security_headers_and_no_path(target: str) -> None:
    async with served() as server:
        for method in ("GET", "HEAD", "PUT"):
            answer = await server.ask(target, method)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "cache-control" in answer.headers
            text = str(answer)
            for path in (STATIC, Path.cwd(), Path.home()):
                assert str(path) not in text or str(path) == "/"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_other_methods(method: str) -> None:
    async with served() as server:
        answer = await server.ask("/v1/stations", method)
        assert answer.problem["detail"] == "Method Not Allowed"
        assert answer.status == 405
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


@pytest.mark.parametrize("target", ["/", "/healthz", "/static/scenes/live.js", "/v1/stations/third"])
async def test_methods_are_case_sensitive(target: str) -> None:
    async with served() as server:
        for method in ("head", "get", "Head"):
            assert (await server.ask(target, method)).status in (404, 405)


@pytest.mark.parametrize("target", ["/", "/healthz", "/metrics", "/v1/stations", "/static/scenes/live.js", "/nothing"])
async def test_head_is_get_without_a_body(target: str) -> None:
    async with served() as server:
        got = await server.ask(target)
        caller = await server.call()
        async with caller.stream:
            await caller.send(get(target).replace(b"GET", b"HEAD", 1))
            head = await caller.answer(head_only=True)
            assert (head.status, head.body) == (got.status, b"")
            assert head.headers["content-length"] == str(len(got.body))
            await caller.send(get("/healthz"))  # the connection is still in step
            assert (await caller.answer()).json == {"status": "ok"}


async def test_keep_alive() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            for target in ("/healthz", "/nothing", "/metrics", "/healthz"):
                await caller.send(get(target))
                assert (await caller.answer()).status == (404 if target == "/nothing" else 200)
            await caller.send(get("/healthz", "connection: close"))
            assert (await caller.answer()).headers["connection"] == "close"
            assert await caller.ended()
        assert server.requests == [200, 404, 200, 200, 200]


async def test_http_1_0() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            await caller.send(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert (await caller.answer()).status == 200
            assert await caller.ended()


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            targets = ["/healthz", "/v1/stations/third", "/", "/metrics"] * 5
            await caller.send(b"".join(map(get, targets)))
            statuses = [(await caller.answer()).status for _ in targets]
            assert statuses == [200, 404, 200, 200] * 5


async def test_requests_cut_anywhere() -> None:
    chance = random.Random(1)
    async with served() as server:
        for _ in range(10):
            caller = await server.call()
            async with caller.stream:
                data = get("/healthz") + get("/nothing")
                while data:
                    piece, data = data[: (size := chance.randint(1, 20))], data[size:]
                    await caller.send(piece)
                    await trio.lowlevel.checkpoint()
                assert [(await caller.answer()).status for _ in range(2)] == [200, 404]


@pytest.mark.parametrize("size", [0, 10, 100_000, 3_000_000])
async def test_unread_body(size: int) -> None:
    """The response arrives although the body was not read when it was sent."""
    async with served() as server:
        caller = await server.call()
        async with caller.stream, trio.open_nursery() as nursery:
            head = f"POST /v1/stations HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n"
            await caller.send(head.encode())

            async def send_body() -> None:
                await caller.send(b"x" * size)

            nursery.start_soon(send_body)
            assert (await caller.answer()).status == 405
        assert (await server.ask("/healthz")).status == 200


async def test_small_unread_body_leaves_the_connection_usable() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            for body in (b"content-length: 5\r\n\r\nhello", b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"):
                await caller.send(b"POST /healthz HTTP/1.1\r\nhost: localhost\r\n" + body + get("/healthz"))
                assert (await caller.answer()).status == 405
                assert (await caller.answer()).status == 200


async def test_request_with_two_lengths_is_the_last_one_of_its_connection() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            lengths = b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
            await caller.send(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + lengths + get("/healthz"))
            answer = await caller.answer()
            assert answer.status == 200
            assert answer.headers["connection"] == "close"
            assert await caller.ended()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"this is no request\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),  # HTTP/1.1 without a host
        (b"GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: magic\r\n\r\n", 501),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"x" * 200_000, 431),
        (b"GET / HTTP/1.1\r\nhost: a\r\n" + b"x: y\r\n" * 20_000, 431),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_invalid_requests(data: bytes, status: int) -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            await caller.send(data)
            answer = await caller.answer()
            assert answer.status == answer.problem["status"] == status
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert await caller.ended()
        assert (await server.ask("/healthz")).status == 200


async def test_slow_head(patient_clock: MockClock) -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            began = trio.current_time()
            await caller.send(b"GET /healthz HTTP/1.1\r\nhost: ")
            with trio.fail_after(server_module.HEAD_SECONDS * 2):
                answer = Caller(caller.stream)
                data = await answer.stream.receive_some()
            assert b" 408 " in data.split(b"\r\n")[0]
            assert trio.current_time() - began >= server_module.HEAD_SECONDS - 0.1


async def test_idle_connection_is_closed_without_a_response(patient_clock: MockClock) -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            await caller.send(get())
            assert (await caller.answer()).status == 200
            began = trio.current_time()
            with trio.fail_after(server_module.HEAD_SECONDS * 2):
                assert await caller.stream.receive_some() == b""
            assert trio.current_time() - began >= server_module.HEAD_SECONDS - 0.1


async def test_clients_that_leave_at_any_time() -> None:
    chance = random.Random(2)
    async with served() as server:
        for _ in range(60):
            caller = await server.call()
            data = get("/") + get("/static/scenes/live.js")
            await caller.send(data[: chance.randint(0, len(data))])
            if chance.random() < 0.5:  # with a reset
                linger = b"\1\0\0\0\0\0\0\0"
                caller.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            await caller.stream.aclose()
        assert (await server.ask("/healthz")).status == 200


async def test_server_survives_arbitrary_bytes() -> None:
    chance = random.Random(3)
    good = get(
        "/static/scenes/live.js?x=%00", "range: bytes=5-", "if-none-match: x", "cookie: a=b", "expect: 100-continue"
    )
    async with served() as server:
        for _ in range(150):
            data = bytearray(good)
            for _ in range(chance.randint(1, 12)):
                data[chance.randrange(len(data))] = chance.choice(
                    (0, 10, 13, 32, 37, 47, 58, 63, chance.randrange(256))
                )
            caller = await server.call()
            async with caller.stream:
                await caller.send(bytes(data))
                await caller.stream.send_eof()
                with trio.fail_after(5):
                    while await caller.stream.receive_some():
                        pass
        assert (await server.ask("/healthz")).status == 200


async def test_client_that_sends_without_pause_does_not_starve_others() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream, trio.open_nursery() as nursery:

            async def flood() -> None:
                while True:
                    await caller.send(get() * 500)

            async def drain() -> None:
                while await caller.stream.receive_some():
                    pass

            nursery.start_soon(flood)
            nursery.start_soon(drain)
            for _ in range(2):
                with trio.fail_after(5):
                    assert (await server.ask("/healthz")).status == 200
            nursery.cancel_scope.cancel()


async def test_connections_are_limited(autojump_clock: MockClock) -> None:
    autojump_clock.autojump_threshold = 0.05
    async with served(max_connections=3) as server:
        callers = [await server.call() for _ in range(3)]
        for caller in callers:
            await caller.send(get())
            assert (await caller.answer()).status == 200
        refused = await server.call()
        async with refused.stream:
            assert await refused.stream.receive_some() == b""
        await callers.pop().stream.aclose()
        with trio.fail_after(5):
            while True:
                caller = await server.call()
                try:
                    await caller.send(get())
                    if await caller.stream.receive_some():
                        break
                except trio.BrokenResourceError:
                    pass
                finally:
                    await caller.stream.aclose()
        for caller in callers:
            await caller.stream.aclose()


async def test_stop_ends_listening_and_idle_connections() -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            await caller.send(get())
            await caller.answer()
            server.stop.set()
            with trio.fail_after(5):
                await server.stopped.wait()
            assert await caller.stream.receive_some() == b""
        with pytest.raises(OSError, match="connect"):
            await server.call()


@pytest.mark.soak
@pytest.mark.slow
async def test_fifty_starts_and_stops_leak_nothing() -> None:
    def open_things() -> tuple[int, int]:
        gc.collect()
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    async def once() -> None:
        async with served("main", "side") as server:
            caller = await server.call()
            await caller.send(get())
            await caller.answer()
            async with server.websocket("?station=main") as websocket:
                await websocket.recv()
            if gone:
                await caller.stream.aclose()
            else:
                server.stop.set()
                await server.stopped.wait()
                await caller.stream.aclose()

    gone = True
    for _ in range(3):
        await once()  # the first rounds create what stays: worker threads, loggers
    before = open_things()
    for number in range(50):
        gone = number % 2 == 0
        await once()
    descriptors, threads = open_things()
    assert descriptors <= before[0]
    assert threads <= before[1] + 1


async def test_one_free_port_for_all_families() -> None:
    listeners = listen("localhost", 0)
    try:
        assert len({listener.getsockname()[1] for listener in listeners}) == 1
        assert listeners[0].getsockname()[1] > 0
        assert not any(listener.getblocking() for listener in listeners)
    finally:
        for listener in listeners:
            listener.close()


async def test_port_in_use() -> None:
    [listener] = listen("127.0.0.1", 0)
    try:
        with pytest.raises(OSError, match="use"):
            listen("127.0.0.1", listener.getsockname()[1])
    finally:
        listener.close()


@pytest.mark.parametrize(("host", "port"), [("256.1.1.1", 0), ("no such host.invalid", 0), ("192.0.2.1", 0)])
async def test_address_of_another_machine(host: str, port: int) -> None:
    with pytest.raises(OSError, match=r".") as refused:
        listen(host, port)
    assert str(refused.value)


async def test_unavailable_address_family(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 0, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **options: both)
    [listener] = listen("localhost", 0)
    assert listener.family == socket.AF_INET
    listener.close()
    both.pop()
    with pytest.raises(OSError, match=r"."):
        listen("localhost", 0)


class BrokenSocket:
    """A socket whose network fails."""

    def __init__(self, sock: socket.socket, error: int) -> None:
        self._socket = sock
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, size: int) -> bytes:
        raise OSError(self._error, os.strerror(self._error))

    send = shutdown = recv


@pytest.mark.parametrize("error", [errno.EPIPE, errno.ECONNRESET, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETDOWN])
async def test_broken_connection_is_gone(error: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"x")
        connection = Connection(ours, "127.0.0.1")
        connection._socket = BrokenSocket(ours, error)  # type: ignore[assignment]
        assert connection.write_now(b"hello") == 5
        assert connection.gone
        connection.gone = False
        assert await connection.read() == b""
        connection.gone = False
        await connection.finish()
        assert connection.gone
        await connection.finish()


async def test_bad_descriptor_is_raised() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        connection = Connection(ours, "127.0.0.1")
        connection.close()
        connection.close()
        with pytest.raises(OSError, match="descriptor"):
            connection.write_now(b"hello")


async def test_lingering_close_is_limited(autojump_clock: MockClock) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Connection(ours, "127.0.0.1")
        began = trio.current_time()
        await connection.finish()
        assert trio.current_time() - began == pytest.approx(connection_module._LINGER_SECONDS)
        assert theirs.recv(1) == b""


@pytest.mark.parametrize("error", [errno.ECONNABORTED, errno.EPROTO, errno.EHOSTUNREACH, errno.EPERM, errno.EMFILE])
async def test_connection_that_ends_before_it_is_accepted(error: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_OUT_OF_DESCRIPTORS_SECONDS", 0.01)
    failures = [error] * 3
    accept = socket.socket.accept

    def failing(self: socket.socket) -> Any:
        if failures:
            raise OSError(failures.pop(), "away")
        return accept(self)

    async with served() as server:
        monkeypatch.setattr(socket.socket, "accept", failing)
        assert (await server.ask("/healthz")).status == 200
        assert failures == []
