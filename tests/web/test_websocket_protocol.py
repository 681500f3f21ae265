"""Websocket frames as bytes: framing, fragments, UTF-8, pings, close codes, reserved bits, opcodes, masks, limits. The
cases are those of the Autobahn test suite (numbers in brackets), adapted to a server that takes subscriptions: nothing
is echoed.

Each case is sent whole, and short ones also byte by byte.
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
    CONT,
    FIN,
    PING,
    PONG,
    RSV1,
    RSV2,
    RSV3,
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
    """Bytes, and the close code that the server sends; with `None` the connection continues."""

    data: bytes
    code: int | None
    pongs: tuple[bytes, ...] = ()


LONG_REASON = b"*" * 123
CASES = {
    # [1] messages up to the maximum size
    "text": Case(frame(TEXT, SUBSCRIBE), None),
    "text of 126 bytes": Case(frame(TEXT, SUBSCRIBE.ljust(126)), None),
    "text of 65535 bytes": Case(frame(TEXT, SUBSCRIBE.ljust(65535)), None),
    "text as large as may be": Case(frame(TEXT, SUBSCRIBE.ljust(MAXIMUM)), None),
    "text too large": Case(frame(TEXT, SUBSCRIBE.ljust(MAXIMUM + 1)), 1009),
    "the head of 10 MB": Case(frame(TEXT, length=10 << 20), 1009),
    "the head of 2^63 - 1 bytes": Case(frame(BINARY, length=(1 << 63) - 1), 1009),
    "the head of 2^63 bytes": Case(frame(BINARY, length=1 << 63), 1009),
    "text of nothing": Case(frame(TEXT), 4400),
    "binary that is no MessagePack": Case(frame(BINARY, b"\xc1"), 4400),
    "text that is no JSON": Case(frame(TEXT, b"hello"), 4400),
    "text that is no object": Case(frame(TEXT, b"[1]"), 4400),
    "text that nests deeply": Case(frame(TEXT, b"[" * 60_000), 4400),
    # [2] pings
    "ping": Case(frame(PING), None, (b"",)),
    "ping with 125 bytes": Case(frame(PING, b"\xfe" * 125), None, (b"\xfe" * 125,)),
    "ping with 126 bytes": Case(frame(PING, b"\xfe" * 126), 1002),
    "pings": Case(b"".join(frame(PING, b"%d" % n) for n in range(10)), None, tuple(b"%d" % n for n in range(10))),
    "unsolicited pong": Case(frame(PONG, b"x") + frame(PING, b"y"), None, (b"y",)),
    # [3] reserved bits
    "RSV1": Case(frame(TEXT, SUBSCRIBE, head=FIN | RSV1), 1002),
    "RSV2": Case(frame(TEXT, SUBSCRIBE, head=FIN | RSV2), 1002),
    "RSV3": Case(frame(PING, head=FIN | RSV3), 1002),
    "all of them": Case(frame(CLOSE, head=FIN | RSV1 | RSV2 | RSV3), 1002),
    # [4] opcodes
    **{f"opcode {opcode}": Case(frame(opcode, b"x"), 1002) for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15)},
    # [5] fragments
    "fragments": Case(fragments(SUBSCRIBE[:9], SUBSCRIBE[9:]), None),
    "fragments, some empty": Case(fragments(b"", SUBSCRIBE[:9], b"", SUBSCRIBE[9:], b""), None),
    "fragments in which no station is known": Case(fragments(UNKNOWN[:30], UNKNOWN[30:]), 4404),
    "fragments without JSON": Case(fragments(b"{", b"{"), 4400),
    "fragments with a ping between": Case(fragments(b"{", SUBSCRIBE[1:], between=frame(PING, b"p")), None, (b"p",)),
    "two messages in fragments": Case(fragments(SUBSCRIBE[:9], SUBSCRIBE[9:]) * 2, None),
    "fragments as large as may be": Case(fragments(SUBSCRIBE, b" " * (MAXIMUM - len(SUBSCRIBE))), None),
    "fragments too large": Case(fragments(SUBSCRIBE, b" " * (MAXIMUM - len(SUBSCRIBE) + 1)), 1009),
    "fragments of binary": Case(fragments(b"\x81\xa2", b"op", b"\xa9subscribe", opcode=BINARY), None),
    "another message between fragments": Case(frame(TEXT, b"{", head=0) + frame(TEXT, SUBSCRIBE), 1002),
    "ping in fragments": Case(frame(PING, b"x", head=0), 1002),
    "pong in fragments": Case(frame(PONG, b"x", head=0), 1002),
    "close in fragments": Case(frame(CLOSE, head=0), 1002),
    "a continuation of nothing": Case(frame(CONT, b"x"), 1002),
    "a continuation of nothing that goes on": Case(frame(CONT, b"x", head=0), 1002),
    # [6] UTF-8
    "UTF-8": Case(frame(TEXT, UNKNOWN), 4404),
    "a character in two fragments": Case(fragments(UNKNOWN[:32], UNKNOWN[32:]), 4404),
    "half a character in fragments": Case(fragments(UNKNOWN[:32], b'"]}'), 1007),
    **{
        f"not UTF-8: {wrong.hex()}": Case(frame(TEXT, b'{"op":"' + wrong + b'"}'), 1007)
        for wrong in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xce", b"\x80", b"\xf8\x88\x80")
    },
    "not UTF-8, as binary": Case(frame(BINARY, b"\xff"), 4400),
    # [7] closing
    "close": Case(close(1000), 1000),
    "close without a code": Case(close(None), 1005),
    "close with a reason": Case(close(1000, LONG_REASON), 1000),
    "close with a reason too long": Case(close(1000, LONG_REASON + b"*"), 1002),
    "close with half a code": Case(frame(CLOSE, b"\x03"), 1002),
    "close with a reason that is not UTF-8": Case(close(1000, b"\xce\xba\xe1\xbd\xb9\xed\xa0\x80"), 1007),
    **{f"close {code}": Case(close(code), code) for code in (1001, 1002, 1003, 1007, 1009, 1011, 3000, 4999)},
    **{f"close {code}": Case(close(code), 1002) for code in (0, 999, 1004, 1005, 1006, 1016, 2999, 5000, 65535)},
    "what follows a close": Case(close(1000) + frame(PING, b"x") + frame(TEXT, SUBSCRIBE), 1000),
    # masks, which are mandatory for clients
    "unmasked": Case(frame(TEXT, SUBSCRIBE, masked=False), 1002),
    "ping without a mask": Case(frame(PING, masked=False), 1002),
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


async def test_client_that_leaves_without_closing() -> None:
    async with served() as server:
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
async def test_invalid_handshakes(changed: dict[str, Any], status: int) -> None:
    async with served() as server:
        caller = await server.call()
        async with caller.stream:
            await caller.send(handshake(**{"Host": server.host.decode(), **changed}))
            answer = await caller.answer()
            assert answer.problem["status"] == status
            assert status == 505 or answer.headers["sec-websocket-version"] == "13"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert await caller.ended()


@pytest.mark.parametrize("split", [False, True], ids=["whole", "byte by byte"])
async def test_frames_may_follow_the_handshake_at_once(split: bool) -> None:
    async with served() as server:
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
        assert (
            received.index(b'"type":"hello"') < received.index(b"\x8a\x05early") < received.index(b"\x88\x02\x03\xe8")
        )
