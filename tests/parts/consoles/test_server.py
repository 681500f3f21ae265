"""A station served to clients: to many, to slow ones, to returning ones, and to slippi-js.

Determinism: real sockets on free ports of 127.0.0.1, and `fail_after` as the only timeout; files grow when a test asks
for it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from slpstream.parts.consoles import wire
from slpstream.parts.consoles.feed import ReadFile, RelayFeed, read_file
from slpstream.parts.consoles.server import RelayServer
from slpstream.parts.consoles.session import BytesLost, ConsoleSession, HandshakeDone
from tests.formats.slippi.built import Built
from tests.oracles.slippi_js import HERE, MODULES, needs_slippi_js
from tests.parts.consoles import wii
from tests.parts.consoles.relays import GrowingFile, check_against_files, receive
from tests.parts.consoles.wii import raw_of
from tests.replays import replay
from tests.synthetic.match import synthetic_match

TIMEOUT_SECONDS = 60.0
ONE = Built().frames(-123, 0).end().closed()
TWO = synthetic_match(seed=4, frames=200)


class Relay:
    """A feed with growing files, and its server."""

    def __init__(self, folder: Path, max_clients: int = 16, read: ReadFile | None = None) -> None:
        self.folder = folder
        self.feed = RelayFeed(read or partial(read_file, limiter=trio.CapacityLimiter(4)))
        self.server = RelayServer(self.feed, "Station 7", max_clients)
        self.port = self.raw_port = 0
        self._files = 0

    def file(self) -> GrowingFile:
        self._files += 1
        return GrowingFile(self.folder / f"{self._files}.slp", self.feed)

    async def connect(self, port: int | None = None) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", port or self.port)


@asynccontextmanager
async def serving(folder: Path, **options: Any) -> AsyncIterator[Relay]:
    relay = Relay(folder, **options)
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            for handler, name in ((relay.server.serve, "port"), (relay.server.serve_raw, "raw_port")):
                listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
                setattr(relay, name, listeners[0].socket.getsockname()[1])
                nursery.start_soon(trio.serve_listeners, handler, listeners)
            yield relay
            nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_new_client_gets_the_game_from_its_beginning(tmp_path: Path) -> None:
    """After that it gets the next game."""
    raw = raw_of(ONE)
    async with serving(tmp_path) as relay:
        file = relay.file()
        file.grow(ONE[:9000])
        session = ConsoleSession()
        async with await relay.connect() as stream:
            await stream.send_all(session.connect())
            first, others = await receive(stream, session, 8000)
            assert isinstance(others[0], HandshakeDone)
            assert (others[0].nick, others[0].restarted) == ("Station 7", True)
            file.grow(ONE[9000:])
            next_file = relay.file()
            next_file.grow(TWO[:10])
            next_file.grow(TWO[10:])
            rest, others = await receive(stream, session, len(raw) + len(raw_of(TWO)))
            assert first + rest == raw + raw_of(TWO)
            assert not others
        async with await relay.connect() as stream:
            later = ConsoleSession()
            await stream.send_all(later.connect())
            await receive(stream, later, 1)
            assert later.cursor == relay.feed.end_cursor, "without a game in progress, a client begins at the end"


@pytest.mark.trio
async def test_returning_client_continues_at_its_cursor(tmp_path: Path) -> None:
    """This works across games too."""
    async with serving(tmp_path) as relay:
        file = relay.file()
        file.grow(ONE[:9000])
        session = ConsoleSession()
        got = b""
        ends = [2000, 8000, len(raw_of(ONE)) + 3000, len(raw_of(ONE) + raw_of(TWO))]
        for end in ends:
            if end == ends[2]:
                file.grow(ONE[9000:])
                relay.file().grow(TWO)
            async with await relay.connect() as stream:
                await stream.send_all(session.connect())
                data, others = await receive(stream, session, end)
                got += data
                assert not any(isinstance(event, BytesLost) for event in others)
        assert got == raw_of(ONE) + raw_of(TWO)


@pytest.mark.trio
async def test_slow_client_delays_no_other(tmp_path: Path) -> None:
    """One client does not read at first, another reads a long game without a pause. In the end both have everything."""
    long = Built().frames(-123, 4000).end().closed()
    raw = raw_of(long)
    async with serving(tmp_path) as relay:
        file = relay.file()
        file.grow(long[:2000])
        slow = await relay.connect()
        slow_session = ConsoleSession()
        await slow.send_all(slow_session.connect())
        async with await relay.connect() as stream:
            session = ConsoleSession()
            await stream.send_all(session.connect())
            got = b""
            for offset in range(2000, len(long), 50_000):
                file.grow(long[offset : offset + 50_000])
                more, _ = await receive(stream, session, min(offset + 48_000, len(raw)))
                got += more
            assert got == raw
        async with slow:
            late, others = await receive(slow, slow_session, len(raw))
            assert late == raw
            assert [type(event) for event in others] == [HandshakeDone]


@pytest.mark.trio
async def test_unavailable_bytes_are_a_gap(tmp_path: Path) -> None:
    """Bytes that are neither on disk nor in memory are reported as lost, and the game continues."""
    long = Built().frames(-123, 4000).end().closed()
    raw = raw_of(long)
    missed = trio.Event()

    async def no_file(path: Path, offset: int, max_bytes: int) -> bytes:
        await trio.lowlevel.checkpoint()
        missed.set()
        raise FileNotFoundError(2, "No such file", str(path))

    async with serving(tmp_path, read=no_file) as relay:
        file = relay.file()
        file.grow(long[:2000])
        session = ConsoleSession()
        async with await relay.connect() as stream:
            await stream.send_all(session.connect())
            first, _ = await receive(stream, session, 1000)
            file.grow(long[2000:-5000], to_disk=False)
            known = relay.feed.end_cursor
            await missed.wait()
            file.grow(long[-5000:], to_disk=False)
            rest, others = await receive(stream, session, len(raw))
        assert others == [BytesLost(known - len(first))]
        assert first + raw[len(first) : known] + rest == raw
        assert rest


@pytest.mark.trio
async def test_raw_events(tmp_path: Path) -> None:
    async with serving(tmp_path) as relay:
        file = relay.file()
        file.grow(ONE[:9000])
        async with await relay.connect(relay.raw_port) as stream:
            got = b""
            while len(got) < 8000:
                got += await stream.receive_some(65536)
            file.grow(ONE[9000:])
            relay.file().grow(TWO)
            while len(got) < len(raw_of(ONE) + raw_of(TWO)):
                got += await stream.receive_some(65536)
        assert got == raw_of(ONE) + raw_of(TWO)


@pytest.mark.trio
async def test_only_the_newest_game_is_served(tmp_path: Path) -> None:
    """Files of other formats are not served, and a file that is read again is not served again."""
    async with serving(tmp_path) as relay:
        relay.file().grow(b"no replay at all, of any format")
        assert relay.feed.end_cursor == 0
        first = relay.file()
        first.grow(ONE[:5000])
        end = relay.feed.end_cursor
        relay.file().grow(ONE[:3000])
        assert relay.feed.end_cursor == end
        relay.file().grow(ONE)
        assert relay.feed.end_cursor == len(raw_of(ONE))
        assert relay.feed.start_cursor == relay.feed.end_cursor
        relay.file().grow(TWO[:9000])
        end = relay.feed.end_cursor
        first.grow(ONE[5000:])
        assert relay.feed.end_cursor == end
        assert relay.feed.start_cursor == len(raw_of(ONE))


@pytest.mark.trio
async def test_invalid_and_surplus_clients_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path, max_clients=2) as relay:
        for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x05hello", wire.KEEP_ALIVE_MESSAGE, b"\xff" * 9000):
            async with await relay.connect() as stream:
                await stream.send_all(noise)
                assert await _read_all(stream) == b""
        connections = [await relay.connect(relay.raw_port), await relay.connect(relay.raw_port)]
        while relay.server.clients < 2:
            await trio.sleep(0.01)
        async with await relay.connect() as stream:
            assert await _read_all(stream) == b""
        for stream in connections:
            await stream.aclose()
        while relay.server.clients:
            await trio.sleep(0.01)


async def _read_all(stream: trio.SocketStream) -> bytes:
    data = b""
    try:
        while more := await stream.receive_some(4096):
            data += more
    except trio.BrokenResourceError:
        pass  # the server closed the connection before it had read all our bytes
    return data


@pytest.mark.trio
async def test_handshake_timeout_and_keep_alives(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """A client has five seconds for its handshake; then it gets a message twice a second."""
    relay = Relay(tmp_path)
    async with trio.open_nursery() as nursery:
        silent, theirs = trio.testing.memory_stream_pair()
        nursery.start_soon(relay.server.serve, theirs)  # type: ignore[arg-type]
        began = trio.current_time()
        assert await silent.receive_some(100) == b""
        assert trio.current_time() - began == pytest.approx(wire.HANDSHAKE_SECONDS)

        ours, theirs = trio.testing.memory_stream_pair()
        nursery.start_soon(relay.server.serve, theirs)  # type: ignore[arg-type]
        await ours.send_all(wire.encode_client_handshake(0, 0))
        await ours.receive_some(1000)
        began = trio.current_time()
        for _ in range(4):
            assert await ours.receive_some(1000) == wire.KEEP_ALIVE_MESSAGE
        assert trio.current_time() - began == pytest.approx(4 * wire.KEEP_ALIVE_SECONDS)
        await ours.aclose()


def node(*arguments: str) -> list[str]:
    return ["node", str(HERE / "slippi_js_console.cjs"), *arguments]


NODE = {**os.environ, "NODE_PATH": str(MODULES)}


@needs_slippi_js
def test_client_handshake_equals_that_of_slippi_js() -> None:
    cursor, token = 0x0102030405060708, 0xA1B2C3D4
    theirs = bytes.fromhex(
        subprocess.run(
            node("handshake", str(cursor), str(token)), env=NODE, capture_output=True, text=True, check=True
        ).stdout
    )
    assert theirs == wire.encode_client_handshake(cursor, token)
    assert wii.read_client_handshake(theirs[4:]) == (cursor, token, True)
    assert wire.decode_client_handshake(theirs[4:]) == wire.ClientHandshake(cursor, token, True)


async def first_line(stdout: trio.abc.ReceiveStream) -> bytes:
    """The client's output up to its first line, which it prints when the handshake is done."""
    lines = b""
    while b"\n" not in lines:
        data = await stdout.receive_some()
        assert data, "the client is gone"
        lines += data
    return lines


@pytest.mark.slow
@needs_slippi_js
@pytest.mark.trio
async def test_slippi_js_gets_the_same_frames(tmp_path: Path) -> None:
    """It joins in the middle of a game, and has the same frames as the file, for this game and the next."""
    games = [replay("items_3.18"), TWO]
    async with serving(tmp_path) as relay, trio.open_nursery() as nursery:
        file = relay.file()
        half = len(games[0]) // 2
        file.grow(games[0][:half])
        console = partial(trio.run_process, node("127.0.0.1", str(relay.port), str(len(games))), env=NODE)
        client = await nursery.start(partial(console, stdout=subprocess.PIPE))
        lines = await first_line(client.stdout)
        for start in range(half, len(games[0]), 4096):
            file.grow(games[0][start : start + 4096])
            await trio.lowlevel.checkpoint()
        relay.file().grow(games[1])
        async for data in client.stdout:
            lines += data
    greeting, *results = map(json.loads, lines.splitlines())
    assert greeting["connected"]["consoleNick"] == "Station 7"
    check_against_files(results, games, tmp_path)
