"""Websocket frames as bytes: framing, fragments, UTF-8, pings, close codes, reserved bits, opcodes, masks, limits. The
cases are those of the Autobahn test suite (numbers in brackets), adapted to a server that takes subscriptions: nothing
is echoed.

Each case is sent whole, and short ones also byte by byte.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import pytest
import trio

from slpstream.web import websocket
from tests.web.served import Caller, Served, served

pytestmark = pytest.mark.trio

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FIN, RSV1, RSV2, RSV3 = 0x80, 0x40, 0x20, 0x10
MASK = b"\x37\xfa\x21\x3d"
SUBSCRIBE = b'{"op":"subscribe","stations":["main"]}'
UNKNOWN = '{"op":"subscribe","stations":["κόσμε"]}'.encode()
MAXIMUM = websocket.MAX_MESSAGE_BYTES


def frame(
    opcode: int, payload: bytes = b"", *, head: int = FIN, masked: bool = True, length: int | None = None
) -> bytes:
    """A frame. `length` is the length in its header, by default that of the payload."""
    size = len(payload) if length is None else length
    bit = 0x80 if masked else 0
    if size < 126:
        sizes = bytes((bit | size,))
    elif size < 1 << 16:
        sizes = struct.pack(">BH", bit | 126, size)
    else:
        sizes = struct.pack(">BQ", bit | 127, size)
    data = bytes(byte ^ MASK[at % 4] for at, byte in enumerate(payload)) if masked else payload
    return bytes((head | opcode,)) + sizes + (MASK if masked else b"") + data


def close(code: int | None, reason: bytes = b"") -> bytes:
    """A close frame."""
    return frame(CLOSE, b"" if code is None else struct.pack(">H", code) + reason)


def fragments(*payloads: bytes, opcode: int = TEXT, between: bytes = b"") -> bytes:
    """A message in fragments, with other frames between them."""
    last = len(payloads) - 1
    frames = [
        frame(CONT if place else opcode, payload, head=FIN if place == last else 0)
        for place, payload in enumerate(payloads)
    ]
    return between.join(frames)


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


async def opened(server: Served) -> tuple[Caller, bytearray]:
    """A connection after its handshake, and the bytes that arrived after that."""
    caller = await server.call()
    rows = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
    head = "\r\n".join((f"GET /v1/stream HTTP/1.1\r\nHost: {server.host.decode()}", *rows))
    await caller.send(f"{head}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
    received = bytearray()
    with trio.fail_after(10):
        while b"\r\n\r\n" not in received:
            received += await caller.stream.receive_some()
    head_bytes, _, rest = bytes(received).partition(b"\r\n\r\n")
    assert head_bytes.startswith(b"HTTP/1.1 101 ")
    assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head_bytes
    return caller, bytearray(rest)


async def frames_until_the_end(caller: Caller, received: bytearray) -> list[tuple[int, bytes]]:
    """All frames as (opcode, payload); those of the server are final and unmasked."""
    with trio.fail_after(10):
        try:
            while data := await caller.stream.receive_some():
                received += data
        except trio.BrokenResourceError:
            pass  # a reset, because the server did not read everything
    frames = []
    while received:
        assert received[0] & 0x70 == 0
        assert received[0] & FIN
        size, at = received[1], 2
        assert size < 128, "unmasked"
        if size == 126:
            size, at = int.from_bytes(received[2:4], "big"), 4
        frames.append((received[0] & 15, bytes(received[at : at + size])))
        del received[: at + size]
    return frames


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


HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


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
    ],
    ids=str,
)
async def test_invalid_handshakes(changed: dict[str, str | None], status: int) -> None:
    async with served() as server:
        caller = await server.call()
        rows = {"Host": server.host.decode(), **HANDSHAKE, **changed}
        head = "".join(f"{name}: {value}\r\n" for name, value in rows.items() if value is not None)
        async with caller.stream:
            await caller.send(f"GET /v1/stream HTTP/1.1\r\n{head}\r\n".encode())
            answer = await caller.answer()
            assert answer.problem["status"] == status
            assert answer.headers["sec-websocket-version"] == "13"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert await caller.ended()


async def test_handshake_needs_http_1_1() -> None:
    async with served() as server:
        caller = await server.call()
        rows = {"Host": server.host.decode(), **HANDSHAKE}
        head = "".join(f"{name}: {value}\r\n" for name, value in rows.items())
        async with caller.stream:
            await caller.send(f"GET /v1/stream HTTP/1.0\r\n{head}\r\n".encode())
            assert (await caller.answer()).problem["status"] == 505


@pytest.mark.parametrize("split", [False, True], ids=["whole", "byte by byte"])
async def test_frames_may_follow_the_handshake_at_once(split: bool) -> None:
    async with served() as server:
        caller = await server.call()
        rows = {"Host": server.host.decode(), "Content-Length": "0", "X-Odd": "\xe9", **HANDSHAKE}
        head = "".join(f"{name}: {value}\r\n" for name, value in rows.items())
        request = f"GET /v1/stream HTTP/1.1\r\n{head}\r\n".encode("latin-1") + frame(PING, b"early") + close(1000)
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
