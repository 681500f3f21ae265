"""A station served over ENet to the programs that speak to Dolphin: libmelee and slippi-js, run as black boxes.

Each reads four games in a row from a whole daemon, loses its connection in the second, and must have the frames that it
reads from the files.

Determinism: free ports of 127.0.0.1, and `fail_after` as the only timeout; files grow when a test asks for it.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import pytest
import trio

from slpstream.config import StationConfig
from slpstream.parts.consoles.part import NetworkKeys
from slpstream.parts.consoles.spectators import server
from tests.daemons.station import until
from tests.oracles.slippi_js import HERE, MODULES, needs_slippi_js
from tests.parts.consoles.daemons import daemon_of
from tests.parts.consoles.relays import check_against_files
from tests.ports import free_port
from tests.project import IN_CI
from tests.replays import replay, replay_path
from tests.synthetic.match import synthetic_match

TIMEOUT_SECONDS = 120.0
WRITE_BYTES = 4096
FRAGMENT = struct.pack(">BBHHHIIII", 0x88, 0, 1, 1, 4, 1 << 20, 0, 1 << 30, 0) + b"data"
"""The beginning of a packet of a gigabyte, which no server waits for."""

needs_libmelee = pytest.mark.skipif(
    find_spec("melee") is None and not IN_CI, reason="libmelee is not installed (`uv run --group peers`)"
)
LIBMELEE = HERE / "libmelee_frames.py"


def games() -> list[bytes]:
    own = replay("items_3.18"), replay("singles_3.17")
    real = replay_path("v3.18"), replay_path("ranked_game1_tiebreak")
    first, last = (path.read_bytes() for path in real) if real[0].exists() else own
    return [first, synthetic_match(seed=2, frames=700, rollbacks=True, gecko=True), replay("ranked_3.14"), last]


class ServedFolder:
    """A station whose games are written by the test."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port

    async def write(self, name: str, data: bytes) -> None:
        """Append to a file as the game does."""
        for start in range(0, len(data), WRITE_BYTES):
            with (self.folder / name).open("ab") as file:
                file.write(data[start : start + WRITE_BYTES])
            await trio.sleep(0.001)


@asynccontextmanager
async def serving(tmp_path: Path) -> AsyncIterator[ServedFolder]:
    folder, port = tmp_path / "replays", free_port(socket.SOCK_DGRAM)
    folder.mkdir()
    config = StationConfig(id="main", name="Station 7", folder=str(folder), parts=(NetworkKeys(relay_enet_port=port),))
    with trio.fail_after(TIMEOUT_SECONDS):
        async with daemon_of(tmp_path, config) as daemon:
            await until(lambda: 'slpstream_relay_clients{station="main"}' in daemon.served.render_metrics().decode())
            yield ServedFolder(folder, port)


class FaultySocket:
    """A socket of a server. On request, the next datagram of a client is one that makes the server disconnect it."""

    def __init__(self, socket: trio.socket.SocketType) -> None:
        self.disconnecting = False
        self._socket = socket

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    async def recvfrom(self, max_bytes: int) -> tuple[bytes, Any]:
        data, address = await self._socket.recvfrom(max_bytes)
        if self.disconnecting:
            self.disconnecting = False
            data = bytes([data[0] | 0x80, data[1], 0, 0]) + FRAGMENT  # with a clock, which acknowledgements lack
        return data, address

    async def sendto(self, data: bytes, address: Any) -> int:
        return await self._socket.sendto(data, address)


class Client:
    """A client in a separate process, and the lines that it has printed."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.lines: list[bytes] = []

    async def read(self) -> None:
        assert self.process.stdout is not None
        rest = b""
        async for data in self.process.stdout:
            *lines, rest = (rest + data).split(b"\n")
            self.lines += lines


@asynccontextmanager
async def running(*command: str, **environment: str) -> AsyncIterator[Client]:
    async with trio.open_nursery() as nursery:
        options = {"env": {**os.environ, **environment}, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        client = Client(await nursery.start(partial(trio.run_process, command, check=False, **options)))
        nursery.start_soon(client.read)
        try:
            yield client
        finally:
            assert client.process.stdin is not None
            with trio.move_on_after(5, shield=True):
                await client.process.stdin.aclose()  # libmelee has a child process, which ends with it
                await client.process.wait()
            client.process.kill()


def libmelee(*arguments: str) -> list[str]:
    return [sys.executable, str(LIBMELEE), *arguments]


@needs_libmelee
@pytest.mark.trio
async def test_libmelee_gets_the_same_frames(tmp_path: Path) -> None:
    """It joins in the middle of a game. In the second game it is killed, and another one takes its place."""
    data = games()
    paths = [tmp_path / f"whole{i}.slp" for i in range(len(data))]
    for path, game in zip(paths, data, strict=True):
        path.write_bytes(game)
    done = await trio.run_process(libmelee("files", *map(str, paths)), capture_stdout=True)
    expected = [text.splitlines() for text in done.stdout.split(b"end\n")[:-1]]
    assert [len(lines) > 200 for lines in expected] == [True] * len(data)
    last_frames = [lines[-1].split()[0].decode() for lines in expected]

    async with serving(tmp_path) as served:
        await served.write("1.slp", data[0][: len(data[0]) // 2])
        async with running(*libmelee("connect", "127.0.0.1", str(served.port), *last_frames[:2])) as client:
            await until(lambda: len(client.lines) > 100)
            await served.write("1.slp", data[0][len(data[0]) // 2 :])
            await served.write("2.slp", data[1][: len(data[1]) // 2])
            await until(lambda: len(client.lines) > 1 + len(expected[0]) + 100)
        assert client.lines[0] == b"connected"
        assert client.lines[1 : 1 + len(expected[0])] == expected[0]
        rest = client.lines[1 + len(expected[0]) :]
        assert rest == expected[1][: len(rest)]

        async with running(*libmelee("connect", "127.0.0.1", str(served.port), *last_frames[1:])) as client:
            await until(lambda: len(client.lines) > 100)
            await served.write("2.slp", data[1][len(data[1]) // 2 :])
            await served.write("3.slp", data[2])
            await served.write("4.slp", data[3])
            await client.process.wait()
        assert client.lines == [b"connected", *expected[1], *expected[2], *expected[3]]


@needs_slippi_js
@pytest.mark.trio
async def test_slippi_js_gets_the_same_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It joins in the middle of a game. In the second game its connection ends, and it connects again."""
    sockets: list[FaultySocket] = []
    open_socket = server.open_socket

    async def open_faulty(host: str, port: int) -> FaultySocket:
        sockets.append(FaultySocket(await open_socket(host, port)))
        return sockets[-1]

    monkeypatch.setattr(server, "open_socket", open_faulty)
    data = games()
    node = ("node", str(HERE / "slippi_js_dolphin.cjs"))
    async with serving(tmp_path) as served:
        await served.write("1.slp", data[0][: len(data[0]) // 2])
        async with running(*node, "127.0.0.1", str(served.port), "4", NODE_PATH=str(MODULES)) as client:
            await until(lambda: bool(client.lines))
            await served.write("1.slp", data[0][len(data[0]) // 2 :])
            await served.write("2.slp", data[1][: len(data[1]) // 2])
            await until(lambda: len(client.lines) == 2)
            sockets[0].disconnecting = True
            await until(lambda: len(client.lines) == 3)
            await served.write("2.slp", data[1][len(data[1]) // 2 :])
            await served.write("3.slp", data[2])
            await served.write("4.slp", data[3])
            await client.process.wait()
    printed = [json.loads(line) for line in client.lines]
    assert not [line["error"] for line in printed if "error" in line]
    greetings = [line["connected"] for line in printed if "connected" in line]
    assert [greeting["consoleNick"] for greeting in greetings] == ["Station 7", "Station 7"]
    results = [line for line in printed if "frames" in line]
    check_against_files(results, data, tmp_path)
