"""HTTP over real sockets: requests in sequence and pipelined, split anywhere, too large, too slow, invalid; required
and forbidden contents of every response; and a server without leaks. The determinism rules are in `served.py`.
"""

from __future__ import annotations

import errno
import os
import random
import socket
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from slpstream.parts.registry import static_folders
from slpstream.web.app import STATIC
from slpstream.web.connection import LINGER_SECONDS, Connection
from slpstream.web.server import listen
from tests.web.served import Served

pytestmark = pytest.mark.trio


def get(target: str = "/healthz", *headers: str, version: str = "1.1") -> bytes:
    return "\r\n".join((f"GET {target} HTTP/{version}", "host: localhost", *headers, "", "")).encode("latin-1")


async def test_health(server: Served) -> None:
    assert (await server.ask("/healthz")).json == {"status": "ok"}
    ready = await server.ask("/readyz")
    assert (ready.status, ready.json) == (200, {"status": "ready", "missing": []})
    server.fake.missing = ["station main: the folder is missing"]
    ready = await server.ask("/readyz")
    assert (ready.status, ready.json["missing"]) == (503, ["station main: the folder is missing"])
    assert (await server.ask("/healthz")).status == 200
    server.fake.missing, server.fake.now_starting = [], ["main"]
    ready = await server.ask("/readyz")
    assert (ready.status, ready.json) == (503, {"status": "not ready", "missing": [], "starting": ["main"]})


async def test_metrics(server: Served) -> None:
    few = await server.ask("/metrics?names=slpstream_websockets,slpstream_tasks")
    assert few.body == b"slpstream_websockets 1.0\nslpstream_tasks 1.0\n"
    assert (await server.ask("/metrics?names=a;b")).status == 422
    answer = await server.ask("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert answer.body == b"slpstream_fake 1.0\n"


async def test_stations(server: Served) -> None:
    answer = await server.ask("/v1/stations")
    assert [station["id"] for station in answer.json["stations"]] == ["main", "side"]
    assert answer.headers["cache-control"] == "no-store"
    assert (await server.ask("/v1/stations/side")).json == {"id": "side", "state": "offline", "recordings": []}
    missing = await server.ask("/v1/stations/third")
    assert missing.status == 404
    assert missing.problem == {"type": "about:blank", "status": 404, "detail": "no such station: third"}


@pytest.mark.parts("dashboard", "scenes")
async def test_pages(server: Served) -> None:
    for target in ("/", "/overlay/main", "/scenes/versus/main", "/scenes/ticker"):
        answer = await server.ask(target)
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["cache-control"] == "no-cache"
        assert (await server.ask(target, if_none_match=answer.headers["etag"])).status in (200, 304)
    for target, detail in {
        "/overlay/third": "no such station: third",
        "/scenes/live/third": "no such station: third",
        "/scenes/live/Main": "no such station: Main. Did you mean 'main'?",
        "/scenes/finale/main": "no such scene: finale",
    }.items():
        assert (await server.ask(target)).problem["detail"] == detail
    assert (await server.ask("/scenes/ticker/main")).status == 404


async def test_every_asset_is_served_unchanged(server: Served) -> None:
    folders = {"/static": STATIC, **{f"/static/{name}": folder for name, folder in static_folders().items()}}
    for prefix, folder in folders.items():
        for path in (path for path in folder.rglob("*") if path.is_file()):
            target = f"{prefix}/{path.relative_to(folder).as_posix()}"
            answer = await server.ask(target)
            assert answer.body == path.read_bytes(), target
            assert (await server.ask(target, if_none_match=answer.headers["etag"])).status == 304
    assert (await server.ask(target, range="bytes=0-9")).body == answer.body[:10]


ODD_TARGETS = (
    "/nothing", "/v1/stations/", "/v1/stations/%00", "/v1/stations/%ff%fe", "/overlay/", "/overlay/%3Cscript%3E",
    "/static", "/static/", "/static/nothing.js", "/static/%00", "/static/" + "x" * 5000, "//evil.example/%2f..", "*",
    "http://127.0.0.1/healthz", "/healthz#x", "/%", "/v1/stream", "/v1/stream?station=main",
)  # fmt: skip


async def test_unknown_targets_and_methods_are_problems(server: Served) -> None:
    for target in ODD_TARGETS:
        for method in ("GET", "HEAD", "POST", "BREW"):
            answer = await server.ask(target, method)
            assert 300 <= answer.status < 500, (method, target)
            if answer.status >= 400 and method != "HEAD":
                assert set(answer.problem) == {"type", "status", "detail"}
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get", "Head"):
        answer = await server.ask("/v1/stations", method)
        assert (answer.status, answer.problem["detail"]) == (405, "Method Not Allowed"), method
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


async def test_every_response_has_security_headers_and_no_path(server: Served) -> None:
    for target in ("/", "/healthz", "/metrics", "/v1/stations/third", "/nothing", "/static/x", "/overlay/main"):
        for method in ("GET", "HEAD", "PUT"):
            answer = await server.ask(target, method)
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert "default-src 'none'" in answer.headers["content-security-policy"]
            assert "cache-control" in answer.headers
            text = str(answer)
            for path in (STATIC, Path.cwd(), Path.home()):
                assert str(path) not in text or str(path) == "/"


@pytest.mark.parts("api_docs", "dashboard", "scenes")
async def test_only_the_dashboard_has_frames(server: Served) -> None:
    """Frames show pages of the daemon only, and pages of other origins cannot frame a scene."""
    for target in ("/", "/scenes/live/main", "/docs"):
        policy = (await server.ask(target)).headers["content-security-policy"]
        assert ("frame-src 'self';" in f"{policy};") == (target == "/")
        assert "frame-ancestors 'self'" in policy
        assert "img-src 'self' data:;" in policy
        assert "blob:" not in policy


async def test_head_is_get_without_a_body(server: Served) -> None:
    for target in ("/", "/healthz", "/metrics", "/v1/stations", "/static/slpstream.js", "/nothing"):
        got = await server.ask(target)
        async with await server.call() as caller:
            await caller.send(get(target).replace(b"GET", b"HEAD", 1))
            head = await caller.answer(head_only=True)
            assert (head.status, head.body) == (got.status, b"")
            assert head.headers["content-length"] == str(len(got.body))
            await caller.send(get("/healthz"))  # the connection is still usable
            assert (await caller.answer()).json == {"status": "ok"}


async def test_keep_alive(server: Served) -> None:
    async with await server.call() as caller:
        for target in ("/healthz", "/nothing", "/metrics", "/healthz"):
            await caller.send(get(target))
            assert (await caller.answer()).status == (404 if target == "/nothing" else 200)
        await caller.send(get("/healthz", "connection: close"))
        assert (await caller.answer()).headers["connection"] == "close"
        assert await caller.ended()
    assert server.requests == [200, 404, 200, 200, 200]


async def test_http_1_0(server: Served) -> None:
    async with await server.call() as caller:
        await caller.send(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert (await caller.answer()).status == 200
        assert await caller.ended()


async def test_pipelined_requests_are_answered_in_order(server: Served) -> None:
    async with await server.call() as caller:
        targets = ["/healthz", "/v1/stations/third", "/v1/stations", "/metrics"] * 5
        await caller.send(b"".join(map(get, targets)))
        statuses = [(await caller.answer()).status for _ in targets]
        assert statuses == [200, 404, 200, 200] * 5


async def test_requests_split_anywhere(server: Served) -> None:
    chance = random.Random(1)
    for _ in range(10):
        async with await server.call() as caller:
            data = get("/healthz") + get("/nothing")
            while data:
                piece, data = data[: (size := chance.randint(1, 20))], data[size:]
                await caller.send(piece)
                await trio.lowlevel.checkpoint()
            assert [(await caller.answer()).status for _ in range(2)] == [200, 404]


async def test_response_arrives_although_the_body_was_not_read(server: Served) -> None:
    for size in (0, 10, 3_000_000):
        async with await server.call() as caller, trio.open_nursery() as nursery:
            head = f"POST /v1/stations HTTP/1.1\r\nhost: localhost\r\ncontent-length: {size}\r\n\r\n"
            nursery.start_soon(caller.send, head.encode() + b"x" * size)
            assert (await caller.answer()).status == 405


async def test_small_unread_body_leaves_the_connection_usable(server: Served) -> None:
    async with await server.call() as caller:
        for body in (b"content-length: 5\r\n\r\nhello", b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"):
            await caller.send(b"POST /healthz HTTP/1.1\r\nhost: localhost\r\n" + body + get("/healthz"))
            assert (await caller.answer()).status == 405
            assert (await caller.answer()).status == 200


async def test_request_with_two_lengths_ends_its_connection(server: Served) -> None:
    async with await server.call() as caller:
        lengths = b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"
        await caller.send(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n" + lengths + get("/healthz"))
        answer = await caller.answer()
        assert answer.status == 200
        assert answer.headers["connection"] == "close"
        assert await caller.ended()


INVALID = {
    b"this is no request\r\n\r\n": 400,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n": 400,
    b"GET /healthz HTTP/1.1\r\n\r\n": 400,  # HTTP/1.1 without a host
    b"GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n": 400,
    b"GET /healthz HTTP/1.1\r\nhost: a\r\nbad header\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n": 400,
    b"GET / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: magic\r\n\r\n": 501,
    b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n": 431,
    b"GET / HTTP/1.1\r\nhost: a\r\nx: " + b"x" * 200_000: 431,
    b"GET / HTTP/1.1\r\nhost: a\r\n" + b"x: y\r\n" * 20_000: 431,
}


async def test_invalid_requests(server: Served) -> None:
    for data, status in INVALID.items():
        async with await server.call() as caller:
            await caller.send(data)
            answer = await caller.answer()
            assert answer.problem["status"] == status, data[:40]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert await caller.ended()


async def test_clients_that_leave_at_any_time(server: Served) -> None:
    chance = random.Random(2)
    for _ in range(60):
        caller = await server.call()
        data = get("/") + get("/static/slpstream.js")
        await caller.send(data[: chance.randint(0, len(data))])
        if chance.random() < 0.5:  # with a reset
            linger = b"\1\0\0\0\0\0\0\0"
            caller.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        await caller.stream.aclose()
    assert (await server.ask("/healthz")).status == 200


async def test_server_survives_arbitrary_bytes(server: Served) -> None:
    chance = random.Random(3)
    good = get(
        "/static/slpstream.js?x=%00", "range: bytes=5-", "if-none-match: x", "cookie: a=b", "expect: 100-continue"
    )
    for _ in range(150):
        data = bytearray(good)
        for _ in range(chance.randint(1, 12)):
            data[chance.randrange(len(data))] = chance.choice((0, 10, 13, 32, 37, 47, 58, 63, chance.randrange(256)))
        async with await server.call() as caller:
            await caller.send(bytes(data))
            await caller.stream.send_eof()
            with trio.fail_after(5):
                while await caller.stream.receive_some():
                    pass
    assert (await server.ask("/healthz")).status == 200


async def test_client_that_sends_without_pause_does_not_starve_others(server: Served) -> None:
    async with await server.call() as caller, trio.open_nursery() as nursery:

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


async def test_stop_ends_listening_and_idle_connections(server: Served) -> None:
    async with await server.call() as caller:
        await caller.send(get())
        await caller.answer()
        server.stop.set()
        with trio.fail_after(5):
            await server.stopped.wait()
        assert await caller.stream.receive_some() == b""
    with pytest.raises(OSError, match="connect"):
        await server.call()


async def test_one_free_port_for_all_families() -> None:
    listeners = listen("localhost", 0)
    try:
        assert len({listener.getsockname()[1] for listener in listeners}) == 1
        assert listeners[0].getsockname()[1] > 0
        assert not any(listener.getblocking() for listener in listeners)
    finally:
        for listener in listeners:
            listener.close()


@pytest.mark.not_on_windows("Windows words this error differently")
async def test_port_in_use() -> None:
    [listener] = listen("127.0.0.1", 0)
    try:
        with pytest.raises(OSError, match="use"):
            listen("127.0.0.1", listener.getsockname()[1])
    finally:
        listener.close()


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
    """A socket with a failing network."""

    def __init__(self, sock: socket.socket, error: int) -> None:
        self._socket = sock
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, size: int) -> bytes:
        raise OSError(self._error, os.strerror(self._error))

    send = shutdown = recv


@pytest.mark.parametrize("error", [errno.EPIPE, errno.ECONNRESET, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETDOWN])
async def test_broken_connection_is_marked_gone(error: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"x")
        connection = Connection(BrokenSocket(ours, error), "127.0.0.1")  # type: ignore[arg-type]
        assert connection.write_now(b"hello") == 5
        assert connection.gone
        connection.gone = False
        assert await connection.read() == b""
        connection.gone = False
        await connection.finish()
        assert connection.gone
        await connection.finish()


@pytest.mark.not_on_windows("sockets are not descriptors there")
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
        assert trio.current_time() - began == pytest.approx(LINGER_SECONDS)
        assert theirs.recv(1) == b""


@pytest.mark.parametrize("error", [errno.ECONNABORTED, errno.EPROTO, errno.EHOSTUNREACH, errno.EPERM, errno.EMFILE])
async def test_connection_that_ends_before_it_is_accepted(
    server: Served, error: int, monkeypatch: pytest.MonkeyPatch, patient_clock: MockClock
) -> None:
    failures = [error] * 3
    accept = socket.socket.accept

    def failing(self: socket.socket) -> Any:
        if failures:
            raise OSError(failures.pop(), "away")
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", failing)
    assert (await server.ask("/healthz")).status == 200
    assert failures == []
