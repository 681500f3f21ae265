"""Websocket frames as bytes: messages, fragments, UTF-8, pings, close codes, limits.

`websockets` finds breaches of the protocol. Each case is sent in one piece, and short ones also byte by byte.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import trio

from slpstream.web import websocket
from tests.web.served import Served, served
from tests.web.websocket_frames import (
    BINARY,
    CLOSE,
    FIN,
    PING,
    PONG,
    RSV1,
    SUBSCRIBE,
    TEXT,
    close,
    fragments,
    frame,
    frames_until_the_end,
    handshake,
    opened,
)

pytestmark = pytest.mark.trio

UNKNOWN = '{"op":"subscribe","stations":["κόσμε"]}'.encode()
MAXIMUM = websocket.MAX_MESSAGE_BYTES


class Case(NamedTuple):
    """Bytes, and the server's close code; with `None` the connection continues."""

    data: bytes
    code: int | None
    pongs: tuple[bytes, ...] = ()


LONG_REASON = b"*" * 123
CASES = {
    # messages up to the maximum size
    "text": Case(frame(TEXT, SUBSCRIBE), None),
    "text of 126 bytes": Case(frame(TEXT, SUBSCRIBE.ljust(126)), None),
    "text as large as may be": Case(frame(TEXT, SUBSCRIBE.ljust(MAXIMUM)), None),
    "text too large": Case(frame(TEXT, SUBSCRIBE.ljust(MAXIMUM + 1)), 1009),
    "the head of 2^63 - 1 bytes": Case(frame(BINARY, length=(1 << 63) - 1), 1009),
    "fragments as large as may be": Case(fragments(SUBSCRIBE, b" " * (MAXIMUM - len(SUBSCRIBE))), None),
    "fragments too large": Case(fragments(SUBSCRIBE, b" " * (MAXIMUM - len(SUBSCRIBE) + 1)), 1009),
    # not a request
    "text of nothing": Case(frame(TEXT), 4400),
    "text that is no JSON": Case(frame(TEXT, b"hello"), 4400),
    "text that is no object": Case(frame(TEXT, b"[1]"), 4400),
    "text that nests deeply": Case(frame(TEXT, b"[" * 60_000), 4400),
    "binary that is no MessagePack": Case(frame(BINARY, b"\xc1"), 4400),
    "not UTF-8, as binary": Case(frame(BINARY, b"\xff"), 4400),
    "UTF-8": Case(frame(TEXT, UNKNOWN), 4404),
    "a character in two fragments": Case(fragments(UNKNOWN[:32], UNKNOWN[32:]), 4404),
    "half a character in fragments": Case(fragments(UNKNOWN[:32], b'"]}'), 1007),
    "not UTF-8": Case(frame(TEXT, b'{"op":"\xed\xa0\x80"}'), 1007),
    # pings and fragments
    "ping with 125 bytes": Case(frame(PING, b"\xfe" * 125), None, (b"\xfe" * 125,)),
    "pings": Case(b"".join(frame(PING, b"%d" % n) for n in range(10)), None, tuple(b"%d" % n for n in range(10))),
    "unsolicited pong": Case(frame(PONG, b"x") + frame(PING, b"y"), None, (b"y",)),
    "fragments, some empty": Case(fragments(b"", SUBSCRIBE[:9], b"", SUBSCRIBE[9:], b""), None),
    "fragments with a ping between": Case(fragments(b"{", SUBSCRIBE[1:], between=frame(PING, b"p")), None, (b"p",)),
    "two messages in fragments": Case(fragments(SUBSCRIBE[:9], SUBSCRIBE[9:]) * 2, None),
    "fragments of binary": Case(fragments(b"\x81\xa2", b"op", b"\xa9subscribe", opcode=BINARY), None),
    # breaches of the protocol that `websockets` detects, one of each kind
    "reserved bit": Case(frame(TEXT, SUBSCRIBE, head=FIN | RSV1), 1002),
    "unknown opcode": Case(frame(3, b"x"), 1002),
    "ping with 126 bytes": Case(frame(PING, b"\xfe" * 126), 1002),
    "another message between fragments": Case(frame(TEXT, b"{", head=0) + frame(TEXT, SUBSCRIBE), 1002),
    "unmasked": Case(frame(TEXT, SUBSCRIBE, masked=False), 1002),
    # closing
    "close": Case(close(1000), 1000),
    "close without a code": Case(close(None), 1005),
    "close with a reason": Case(close(1000, LONG_REASON), 1000),
    "close with an invalid code": Case(close(1005), 1002),
    "close with a code of applications": Case(close(4999), 4999),
    "what follows a close": Case(close(1000) + frame(PING, b"x") + frame(TEXT, SUBSCRIBE), 1000),
}  # fmt: skip


@pytest.mark.parametrize(
    "whole", [pytest.param(True, id="whole"), pytest.param(False, id="byte by byte", marks=pytest.mark.slow)]
)
async def test_frames_get_the_expected_close_code(whole: bool) -> None:
    cases = {name: case for name, case in CASES.items() if whole or len(case.data) < 300}
    seen: dict[str, object] = {}
    expected: dict[str, object] = {}

    async def one(server: Served, name: str, case: Case) -> None:
        caller, received = await opened(server)
        async with caller.stream:
            for piece in [case.data] if whole else [case.data[at : at + 1] for at in range(len(case.data))]:
                try:
                    await caller.send(piece)
                except trio.BrokenResourceError:
                    break
                await trio.lowlevel.checkpoint()
            if case.code is None:
                await caller.send(close(1000, b"enough"))
            frames = await frames_until_the_end(caller, received)
        [closing] = [payload for opcode, payload in frames if opcode == CLOSE]
        behind = frames[frames.index((CLOSE, closing)) + 1 :]
        assert {opcode for opcode, _ in behind} <= {PONG}, "nothing but pongs follows"
        frames = frames[: len(frames) - len(behind)]
        code = int.from_bytes(closing[:2], "big") if closing else 1005
        pongs = tuple(payload for opcode, payload in frames if opcode == PONG) if case.code is None else ()
        seen[name] = (code, pongs)
        expected[name] = (1000 if case.code is None else case.code, case.pongs)

    async with served() as server, trio.open_nursery() as nursery:
        for name, case in cases.items():
            nursery.start_soon(one, server, name, case)
    assert len(seen) == len(cases)
    assert {name: (seen[name], expected[name]) for name in cases if seen[name] != expected[name]} == {}


async def test_client_disconnects_without_a_close_frame(server: Served) -> None:
    for data in (b"", frame(TEXT, SUBSCRIBE)[:-3], frame(TEXT, SUBSCRIBE), frame(PING)[:1], close(1000)[:-1]):
        caller, received = await opened(server)
        async with caller.stream:
            await caller.send(data)
            await caller.stream.send_eof()
            await frames_until_the_end(caller, received)
    with trio.fail_after(5):
        while server.server.websockets:
            await trio.sleep(0.01)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Sec-WebSocket-Version": "12"}, 426),
        ({"Sec-WebSocket-Version": None}, 426),
        ({"Sec-WebSocket-Key": "short"}, 400),
        ({"Sec-WebSocket-Key": None}, 400),
        ({"Connection": "keep-alive"}, 426),
        ({"Upgrade": "h2c, websocket2"}, 426),
        ({"Content-Length": "2"}, 400),
        ({"Transfer-Encoding": "chunked"}, 400),
        ({"Sec-WebSocket-Protocol": "not a token"}, 400),
        ({"version": "1.0"}, 505),
    ],
    ids=str,
)
async def test_invalid_handshakes(server: Served, changed: dict[str, Any], status: int) -> None:
    async with await server.call() as caller:
        await caller.send(handshake(**{"Host": server.host.decode(), **changed}))
        answer = await caller.answer()
        assert answer.problem["status"] == status
        assert status == 505 or answer.headers["sec-websocket-version"] == "13"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert await caller.ended()


@pytest.mark.parametrize("split", [False, True], ids=["whole", "byte by byte"])
async def test_frames_can_follow_the_handshake_directly(server: Served, split: bool) -> None:
    caller = await server.call()
    request = handshake(Host=server.host.decode(), Content_Length="0", X_Odd="\xe9")
    request += frame(PING, b"early") + close(1000)
    received = bytearray()
    async with caller.stream:
        for piece in [request[at : at + 1] for at in range(len(request))] if split else [request]:
            await caller.send(piece)
            await trio.lowlevel.checkpoint()
        with trio.fail_after(10):
            while data := await caller.stream.receive_some():
                received += data
    assert received.startswith(b"HTTP/1.1 101 ")
    assert received.index(b'"type":"hello"') < received.index(b"\x8a\x05early") < received.index(b"\x88\x02\x03\xe8")
