"""A station that is served again: to many clients, to slow ones, to those who come back, and to slippi-js.

Determinism: real sockets on free ports of 127.0.0.1, and `fail_after` the only time; the bytes come when a test says
so.
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

from slpstream.sources.console import wire
from slpstream.sources.console.feed import RelayFeed, read_file
from slpstream.sources.console.server import RelayServer
from slpstream.sources.console.session import Arrived, ConsoleSession, Greeted, Lost
from tests.formats.slippi.built import Built
from tests.oracles.slippi_js import HERE, MODULES, needs_slippi_js, slippi_js
from tests.shared_data import needs_shared, replay
from tests.sources.console.wii import raw_of
from tests.synthetic.match import synthetic_match

TIMEOUT_SECONDS = 20.0
ONE = Built().frames(-123, 0).end().closed()
TWO = synthetic_match(seed=4, frames=200)


class GrowingFile:
    """A file as the station hands it on: growing on the disk, and told about."""

    def __init__(self, path: Path, feed: RelayFeed) -> None:
        self.path = path
        self._feed = feed
        self.at = 0
        path.write_bytes(b"")

    @property
    def file(self) -> GrowingFile:
        return self

    def grow(self, data: bytes, *, to_disk: bool = True) -> None:
        if to_disk:
            with self.path.open("ab") as file:
                file.write(data)
        self._feed.grew(self, self.at, data)
        self.at += len(data)


class Served:
    """A station of files that grow when they are told, and its server."""

    def __init__(self, folder: Path, max_clients: int = 16) -> None:
        limiter = trio.CapacityLimiter(4)
        self.folder = folder
        self.feed = RelayFeed(partial(read_file, limiter=limiter))
        self.server = RelayServer(self.feed, "Station 7", max_clients)
        self.port = self.raw_port = 0
        self._files = 0

    def file(self) -> GrowingFile:
        self._files += 1
        return GrowingFile(self.folder / f"{self._files}.slp", self.feed)

    async def connect(self, port: int | None = None) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", port or self.port)


@asynccontextmanager
async def served(folder: Path, **options: Any) -> AsyncIterator[Served]:
    at = Served(folder, **options)
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            for handler, name in ((at.server.serve, "port"), (at.server.serve_raw, "raw_port")):
                listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
                setattr(at, name, listeners[0].socket.getsockname()[1])
                nursery.start_soon(trio.serve_listeners, handler, listeners)
            yield at
            nursery.cancel_scope.cancel()


async def receive(stream: trio.SocketStream, session: ConsoleSession, until: int) -> tuple[bytes, list[Any]]:
    """Events until the session's cursor is there, and what else was said. `connect` was sent before."""
    data = b""
    others: list[Any] = []
    while not session.greeted or session.cursor < until:
        more = await stream.receive_some(65536)
        assert more, "the relay left"
        for said in session.receive(bytes(more)):
            if isinstance(said, Arrived):
                data += said.data
            else:
                others.append(said)
    return data, others


@pytest.mark.trio
async def test_from_the_beginning(tmp_path: Path) -> None:
    """A client that comes in the middle of a game gets it whole, and then the next one."""
    raw = raw_of(ONE)
    async with served(tmp_path) as at:
        file = at.file()
        file.grow(ONE[:9000])
        session = ConsoleSession()
        async with await at.connect() as stream:
            await stream.send_all(session.connect())
            first, said = await receive(stream, session, 8000)
            assert isinstance(said[0], Greeted)
            assert (said[0].nick, said[0].restarts) == ("Station 7", True)
            file.grow(ONE[9000:])
            next_file = at.file()
            next_file.grow(TWO[:10])
            next_file.grow(TWO[10:])
            rest, said = await receive(stream, session, len(raw) + len(raw_of(TWO)))
            assert first + rest == raw + raw_of(TWO)
            assert not said
        async with await at.connect() as stream:
            later = ConsoleSession()
            await stream.send_all(later.connect())
            await receive(stream, later, 1)
            assert later.cursor == at.feed.end_cursor, "no game is on: at what comes next"


@pytest.mark.trio
async def test_going_on(tmp_path: Path) -> None:
    """With its token a client goes on where it was, across games; without, at the beginning of the game."""
    async with served(tmp_path) as at:
        file = at.file()
        file.grow(ONE[:9000])
        session = ConsoleSession()
        got = b""
        ends = [2000, 8000, len(raw_of(ONE)) + 3000, len(raw_of(ONE) + raw_of(TWO))]
        for end in ends:
            if end == ends[2]:
                file.grow(ONE[9000:])
                at.file().grow(TWO)
            async with await at.connect() as stream:
                await stream.send_all(session.connect())
                data, said = await receive(stream, session, end)
                got += data
                assert not any(isinstance(one, Lost) for one in said)
        assert got == raw_of(ONE) + raw_of(TWO)


@pytest.mark.trio
async def test_slow_clients_delay_nobody(tmp_path: Path) -> None:
    """One does not read at all; another gets a long game at once; in the end both have everything, from the file."""
    long = Built().frames(-123, 4000).end().closed()
    raw = raw_of(long)
    async with served(tmp_path) as at:
        file = at.file()
        file.grow(long[:2000])
        slow = await at.connect()
        slow_session = ConsoleSession()
        await slow.send_all(slow_session.connect())
        async with await at.connect() as stream:
            session = ConsoleSession()
            await stream.send_all(session.connect())
            got = b""
            for offset in range(2000, len(long), 50_000):
                file.grow(long[offset : offset + 50_000])
                more, _ = await receive(stream, session, min(offset + 48_000, len(raw)))
                got += more
            assert got == raw
        async with slow:
            late, said = await receive(slow, slow_session, len(raw))
            assert late == raw
            assert [type(one) for one in said] == [Greeted]


@pytest.mark.trio
async def test_what_is_nowhere_is_announced(tmp_path: Path) -> None:
    """Bytes that the disk never took and that memory has dropped: a gap, and the game goes on."""
    long = Built().frames(-123, 4000).end().closed()
    raw = raw_of(long)
    async with served(tmp_path) as at:
        file = at.file()
        file.grow(long[:2000])
        session = ConsoleSession()
        async with await at.connect() as stream:
            await stream.send_all(session.connect())
            first, _ = await receive(stream, session, 1000)
            at.feed._read = partial(_no_file)
            file.grow(long[2000:-5000], to_disk=False)
            known = at.feed.end_cursor
            await trio.sleep(0.1)
            file.grow(long[-5000:], to_disk=False)
            rest, said = await receive(stream, session, len(raw))
        assert said == [Lost(known - len(first))]
        assert first + raw[len(first) : known] + rest == raw
        assert rest


async def _no_file(path: Path, offset: int, max_bytes: int) -> bytes:
    await trio.lowlevel.checkpoint()
    raise FileNotFoundError(2, "No such file", str(path))


@pytest.mark.trio
async def test_bare_events(tmp_path: Path) -> None:
    async with served(tmp_path) as at:
        file = at.file()
        file.grow(ONE[:9000])
        async with await at.connect(at.raw_port) as stream:
            got = b""
            while len(got) < 8000:
                got += await stream.receive_some(65536)
            file.grow(ONE[9000:])
            at.file().grow(TWO)
            while len(got) < len(raw_of(ONE) + raw_of(TWO)):
                got += await stream.receive_some(65536)
        assert got == raw_of(ONE) + raw_of(TWO)


@pytest.mark.trio
async def test_other_files(tmp_path: Path) -> None:
    """What is no replay is not served; a file that is read again is not served again; two games at once: the newest."""
    async with served(tmp_path) as at:
        at.file().grow(b"no replay at all, of any format")
        assert at.feed.end_cursor == 0
        first = at.file()
        first.grow(ONE[:5000])
        end = at.feed.end_cursor
        at.file().grow(ONE[:3000])
        assert at.feed.end_cursor == end
        at.file().grow(ONE)
        assert at.feed.end_cursor == len(raw_of(ONE))
        assert at.feed.start_cursor == at.feed.end_cursor
        at.file().grow(TWO[:9000])
        begun = at.feed.end_cursor
        first.grow(ONE[5000:])
        assert at.feed.end_cursor == begun
        assert at.feed.start_cursor == len(raw_of(ONE))


@pytest.mark.trio
async def test_strangers(tmp_path: Path) -> None:
    """Too many clients, and those who speak something else, are closed; the others do not notice."""
    async with served(tmp_path, max_clients=2) as at:
        for noise in (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x05hello", wire.KEEP_ALIVE_MESSAGE, b"\xff" * 9000):
            async with await at.connect() as stream:
                await stream.send_all(noise)
                with pytest.MonkeyPatch.context():
                    assert await _everything(stream) == b""
        held = [await at.connect(at.raw_port), await at.connect(at.raw_port)]
        while at.server.clients < 2:
            await trio.sleep(0.01)
        async with await at.connect() as stream:
            assert await _everything(stream) == b""
        for stream in held:
            await stream.aclose()
        while at.server.clients:
            await trio.sleep(0.01)


async def _everything(stream: trio.SocketStream) -> bytes:
    data = b""
    try:
        while more := await stream.receive_some(4096):
            data += more
    except trio.BrokenResourceError:
        pass  # closed with our bytes unread
    return data


@pytest.mark.trio
async def test_times(autojump_clock: trio.testing.MockClock, tmp_path: Path) -> None:
    """A handshake must come in five seconds; then something is said twice a second."""
    at = Served(tmp_path)
    async with trio.open_nursery() as nursery:
        silent, theirs = trio.testing.memory_stream_pair()
        nursery.start_soon(at.server.serve, theirs)  # type: ignore[arg-type]
        began = trio.current_time()
        assert await silent.receive_some(100) == b""
        assert trio.current_time() - began == pytest.approx(wire.HANDSHAKE_SECONDS)

        ours, theirs = trio.testing.memory_stream_pair()
        nursery.start_soon(at.server.serve, theirs)  # type: ignore[arg-type]
        await ours.send_all(wire.client_handshake(0, 0))
        await ours.receive_some(1000)
        began = trio.current_time()
        for _ in range(4):
            assert await ours.receive_some(1000) == wire.KEEP_ALIVE_MESSAGE
        assert trio.current_time() - began == pytest.approx(4 * wire.KEEP_ALIVE_SECONDS)
        await ours.aclose()


# -- slippi-js as the client ------------------------------------------------------------------------------------------


def node(*arguments: str) -> list[str]:
    return ["node", str(HERE / "slippi_js_console.cjs"), *arguments]


NODE = {**os.environ, "NODE_PATH": str(MODULES)}


@needs_slippi_js
def test_our_handshake_is_theirs() -> None:
    """Byte for byte."""
    cursor, token = 0x0102030405060708, 0xA1B2C3D4
    theirs = bytes.fromhex(
        subprocess.run(
            node("handshake", str(cursor), str(token)), env=NODE, capture_output=True, text=True, check=True
        ).stdout
    )
    assert theirs == wire.client_handshake(cursor, token)
    assert wire.read_client_handshake_as_a_console(theirs[4:]) == wire.ClientHandshake(cursor, token, True)
    assert wire.read_client_handshake(theirs[4:]) == wire.ClientHandshake(cursor, token, True)


async def greeted(stdout: trio.abc.ReceiveStream) -> bytes:
    """What the client says until it was greeted: from then on it has its place in the stream."""
    lines = b""
    while b"\n" not in lines:
        data = await stdout.receive_some()
        assert data, "the client is gone"
        lines += data
    return lines


@needs_shared
@needs_slippi_js
@pytest.mark.trio
async def test_slippi_js_gets_the_same_frames(tmp_path: Path) -> None:
    """Done when 2: it joins in the middle of a game and has the frames of the file; and of the next game."""
    games = [replay("v3.18"), TWO]
    async with served(tmp_path) as at, trio.open_nursery() as nursery:
        file = at.file()
        half = len(games[0]) // 2
        file.grow(games[0][:half])
        console = partial(trio.run_process, node("127.0.0.1", str(at.port), str(len(games))), env=NODE)
        client = await nursery.start(partial(console, stdout=subprocess.PIPE))
        lines = await greeted(client.stdout)
        for at_byte in range(half, len(games[0]), 4096):
            file.grow(games[0][at_byte : at_byte + 4096])
            await trio.lowlevel.checkpoint()
        at.file().grow(games[1])
        async for data in client.stdout:
            lines += data
    greeting, *said = map(json.loads, lines.splitlines())
    assert greeting["connected"]["consoleNick"] == "Station 7"
    assert len(said) == len(games)
    with slippi_js("frames") as reader:
        for i, live in enumerate(said):
            path = tmp_path / f"whole{i}.slp"
            path.write_bytes(games[i])
            from_file = reader.ask(path)
            assert live["frames"] == from_file["frames"]
            assert live["gameEnd"] == from_file["gameEnd"]
            assert live["settings"] == from_file["settings"]
