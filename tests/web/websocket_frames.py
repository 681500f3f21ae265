"""Websocket frames as bytes, and a client that sends and receives them unchanged."""

from __future__ import annotations

import struct

import trio

from tests.web.served import Caller, Served

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FIN, RSV1 = 0x80, 0x40
MASK = b"\x37\xfa\x21\x3d"
SUBSCRIBE = b'{"op":"subscribe","stations":["main"]}'


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
    """A message in fragments, with other frames in between."""
    last = len(payloads) - 1
    frames = [
        frame(CONT if place else opcode, payload, head=FIN if place == last else 0)
        for place, payload in enumerate(payloads)
    ]
    return between.join(frames)


def handshake(version: str = "1.1", **changed: str | None) -> bytes:
    """The head of a request for a websocket. Headers are keywords, and `None` leaves one out."""
    headers: dict[str, str | None] = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    headers.update({name.replace("_", "-"): value for name, value in changed.items()})
    rows = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
    return f"GET /v1/stream HTTP/{version}\r\n{rows}\r\n".encode("latin-1")


async def opened(server: Served) -> tuple[Caller, bytearray]:
    """Open a connection, and return it with the bytes that arrived after the handshake."""
    caller = await server.call()
    await caller.send(handshake(Host=server.host.decode()))
    received = bytearray()
    with trio.fail_after(10):
        while b"\r\n\r\n" not in received:
            received += await caller.stream.receive_some()
    head_bytes, _, rest = bytes(received).partition(b"\r\n\r\n")
    assert head_bytes.startswith(b"HTTP/1.1 101 ")
    assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head_bytes
    return caller, bytearray(rest)


async def frames_until_the_end(caller: Caller, received: bytearray) -> list[tuple[int, bytes]]:
    """Receive all frames as (opcode, payload); the server's frames are final and unmasked."""
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
