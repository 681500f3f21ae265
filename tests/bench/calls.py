"""The Python calls that a frame takes on its way from the file to the socket, builtins included.

This is no timing, so it gives nearly the same figure on any machine. One station plays with one subscriber, faster than
in real time, so that the periodic work of the daemon hardly counts. All calls in the thread of the event loop count,
those of trio included.
"""

from __future__ import annotations

import cProfile
import pstats
import socket
import tempfile
import threading
import time
from pathlib import Path

import trio

from slpstream.config import Config, Server, StationConfig, Store
from slpstream.daemon.daemon import Daemon
from slpstream.formats.kernel import kernel
from slpstream.formats.slippi.commands import FRAMES_PER_SECOND
from tests.bench.game_writer import FILE_NAME
from tests.bench.games import FIRST_FRAME, EndlessGame
from tests.bench.report import Figure, Form

TARGET = 110
_WARM_UP_FRAMES = 120
_PAUSE_SECONDS = 0.005
_READ_BYTES = 65536
_REQUEST = (
    b"GET /v1/stream?station=s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class _Play(threading.Thread):
    """Writes frames, and waits for the message of each before it writes the next one."""

    def __init__(self, port: int, folder: Path, frames: int) -> None:
        super().__init__()
        self._port = port
        self._folder = folder
        self._frames = frames
        self.warmed_up = threading.Event()
        self.over = threading.Event()

    def run(self) -> None:
        with (
            socket.create_connection(("127.0.0.1", self._port), timeout=30) as client,
            (self._folder / FILE_NAME).open("xb", buffering=0) as file,
        ):
            client.sendall(_REQUEST)
            game, data = EndlessGame(), b""
            file.write(game.head(0))
            for index in range(_WARM_UP_FRAMES + self._frames):
                if index == _WARM_UP_FRAMES:
                    self.warmed_up.set()
                file.write(game.frame(index))
                while b'"frame":{"frame":%d,' % (FIRST_FRAME + index) not in data:
                    data = data[-_READ_BYTES:] + client.recv(_READ_BYTES)
                time.sleep(_PAUSE_SECONDS)
            self.over.set()


async def _profile(frames: int) -> cProfile.Profile:
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name:
        folder = Path(name) / "s"
        folder.mkdir()
        config = Config(server=Server(port=0), store=Store(folder=f"{name}/state"))
        daemon, profile = Daemon(config, [StationConfig("s", str(folder))], strict=True), cProfile.Profile()
        async with trio.open_nursery() as nursery:
            await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
            play = _Play(daemon.host.port, folder, frames)
            play.start()
            while not play.warmed_up.is_set():
                await trio.sleep(0.01)
            profile.enable()
            while not play.over.is_set():
                await trio.sleep(1.0)
            profile.disable()
            play.join()
            daemon.stop()
    return profile


def calls_per_frame(frames: int) -> float:
    """Play this many frames, and return the calls of each."""
    stats = pstats.Stats(trio.run(_profile, frames))
    return float(stats.total_calls) / frames  # type: ignore[attr-defined]


def run(form: Form) -> list[Figure]:
    """Count the calls of a frame."""
    note = "" if kernel is not None else "without the kernel"
    values = [calls_per_frame(int(form.seconds(10) * FRAMES_PER_SECOND)) for _ in range(form.times)]
    return [Figure("one station, Python calls a frame", values, "calls", TARGET, note)]
