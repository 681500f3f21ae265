"""A simulated console that implements the protocol as Nintendont does, with none of the project's own code.

It reads the handshake of a client by offset, keeps the events of its game in a ring, accepts one client at a time, and
sends messages of random sizes. On request it breaks connections.

Determinism: sizes and breaks come from a seed; time is trio's clock.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence

import trio
import trio.testing

KEEP_ALIVE_SECONDS = 0.5
CLIENT_HANDSHAKE_BYTES = 79
"""Size of the body of a client's handshake, in the only layout that consoles read."""


def _array(data: bytes, length: str = "U") -> bytes:
    count = {"U": ">B", "i": ">b", "I": ">h", "l": ">i"}[length]
    return b"[$U#" + length.encode() + struct.pack(count, len(data)) + data


def with_length(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


def handshake(nick: str, token: int, cursor: int) -> bytes:
    return with_length(
        b"{i\x04typeU\x01i\x07payload{i\x04nickSU%c" % len(nick.encode())
        + nick.encode()
        + b"i\x11nintendontVersionSU\x061.10.0i\x0bclientToken"
        + _array(struct.pack(">I", token), "i")
        + b"i\x03pos"
        + _array(struct.pack(">Q", cursor), "i")
        + b"}}"
    )


def replay(cursor: int, next_cursor: int, data: bytes, *, forced: bool = False, length: str = "I") -> bytes:
    return with_length(
        b"{i\x04typeU\x02i\x07payload{i\x03pos"
        + _array(struct.pack(">Q", cursor), "i")
        + b"i\x07nextPos"
        + _array(struct.pack(">Q", next_cursor), "i")
        + b"i\x08forcePos"
        + (b"T" if forced else b"F")
        + b"i\x04data"
        + _array(data, length)
        + b"}}"
    )


KEEP_ALIVE = with_length(b"{i\x04typeU\x03}")


def read_client_handshake(body: bytes) -> tuple[int, int, bool]:
    """Cursor, token and `isRealtime`, read by offset, as a console does."""
    assert len(body) == CLIENT_HANDSHAKE_BYTES
    assert body[8] == 1
    assert body[76:77] in (b"T", b"F")
    cursor, token = struct.unpack_from(">Q", body, 33)[0], struct.unpack_from(">I", body, 60)[0]
    return cursor, token, body[76:77] == b"T"


class Wii:
    """One console. `play` plays a game; `serve` serves one client."""

    def __init__(
        self, seed: int = 0, *, nick: str = "Station 7", ring_bytes: int = 1 << 24, origin: int = 4096
    ) -> None:
        self.rng = random.Random(seed)
        self.nick = nick
        self.ring_bytes = ring_bytes
        self.memory = bytearray()
        self.origin = origin
        """Cursor of the first byte of the memory."""
        self.game_base = origin
        self.in_game = False
        self.tokens: set[int] = set()
        self.handshakes: list[tuple[int, int]] = []
        """Cursor and token in the handshake of each client."""
        self.lost: list[tuple[int, int]] = []
        """Start and end cursors of bytes that were overwritten before a client received them."""
        self.break_probability = 0.0
        """Probability that a connection ends after a message."""
        self.held = False
        """While true, nothing is sent."""
        self.answers: trio.Event | None = None
        """If given, handshakes are answered only once this event is set."""
        self.sent_bytes = 0
        self._changed = trio.Event()

    @property
    def end(self) -> int:
        return self.origin + len(self.memory)

    def write(self, data: bytes) -> None:
        self.memory += data
        self._changed.set()
        self._changed = trio.Event()

    def begin_game(self) -> None:
        self.game_base, self.in_game = self.end, True

    def end_game(self) -> None:
        self.in_game = False

    async def play(self, raw: bytes, *, seconds: float = 1.0, steps: int = 100, end: bool = True) -> None:
        """Write the events of a game in `steps` bursts of about the same size."""
        self.begin_game()
        size = max(1, len(raw) // steps)
        for start in range(0, len(raw), size):
            self.write(raw[start : start + size])
            await trio.sleep(seconds / steps)
        if end:
            self.end_game()

    async def serve(self, stream: trio.abc.Stream) -> None:
        """Serve one client until either side closes the connection."""
        try:
            async with stream:
                body = None
                with trio.move_on_after(5.0):
                    body = await self._read_message(stream)
                if body is not None:
                    cursor, token, _ = read_client_handshake(body)
                    self.handshakes.append((cursor, token))
                    await self._answer(stream, cursor, token)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return

    async def _read_message(self, stream: trio.abc.Stream) -> bytes:
        data = b""
        while len(data) < 4 or len(data) < 4 + struct.unpack(">I", data[:4])[0]:
            more = await stream.receive_some(4096)
            assert more, "the client sent no handshake"
            data += more
        return data[4:]

    async def _answer(self, stream: trio.abc.Stream, cursor: int, token: int) -> None:
        if self.answers is not None:
            await self.answers.wait()
        known = token in self.tokens
        if not known:
            token = self.rng.randrange(1, 1 << 32)
            self.tokens.add(token)
        if not (known and self.origin <= cursor <= self.end):
            cursor = self.game_base if self.in_game else self.end
        await stream.send_all(handshake(self.nick, token, cursor))
        await self._stream(stream, cursor)

    async def _stream(self, stream: trio.abc.Stream, cursor: int) -> None:
        while True:
            changed = self._changed
            forced = False
            if self.end - cursor > self.ring_bytes and not self.held:
                self.lost.append((cursor, self.end - self.ring_bytes))
                cursor, forced = self.end - self.ring_bytes, True
            size = min(self.end - cursor, self.rng.choice((1, 37, 700, 4096, 25_000)))
            if size == 0 or self.held:
                with trio.move_on_after(KEEP_ALIVE_SECONDS) as idle:
                    await (trio.sleep_forever() if self.held else changed.wait())
                if idle.cancelled_caught:
                    await stream.send_all(KEEP_ALIVE)
                continue
            data = bytes(self.memory[cursor - self.origin :][:size])
            length = self.rng.choice("Il") if size > 127 else self.rng.choice("iUIl")
            await stream.send_all(replay(cursor, cursor + size, data, forced=forced, length=length))
            self.sent_bytes += size
            cursor += size
            if self.rng.random() < self.break_probability:
                return

    def connector(self, nursery: trio.Nursery) -> Connector:
        return Connector(self, nursery)


class Connector:
    """Connects a source to a console through streams in memory. Refuses connections while `away`."""

    def __init__(self, wii: Wii, nursery: trio.Nursery) -> None:
        self.wii = wii
        self.away = False
        self.attempts = 0
        self._nursery = nursery
        self._streams: list[trio.abc.Stream] = []

    async def __call__(self) -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        self.attempts += 1
        if self.away:
            raise ConnectionRefusedError(111, "Connection refused")
        ours, theirs = trio.testing.memory_stream_pair()
        self._streams = [theirs]
        self._nursery.start_soon(self.wii.serve, theirs)
        return ours

    async def drop(self) -> None:
        for stream in self._streams:
            await stream.aclose()


def raw_of(replay_file: bytes) -> bytes:
    """The bytes of the raw element of a finished replay."""
    return replay_file[15 : 15 + int.from_bytes(replay_file[11:15], "big")]


def pieces(events: bytes, seed: int, sizes: Sequence[int] = (1, 7, 100, 5000)) -> list[bytes]:
    """Split bytes into pieces of random sizes."""
    rng = random.Random(seed)
    split: list[bytes] = []
    start = 0
    while start < len(events):
        size = rng.choice(sizes)
        split.append(events[start : start + size])
        start += size
    return split
