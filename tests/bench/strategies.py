"""How soon appends and new games arrive with the strategies of other systems: `python -m tests.bench.strategies`.

A daemon, a writer of games at sixty frames a second, and a client, each a process. Latency is measured from the write
to the arrival of the message, on the clock that all processes share; a new game from its first write to its
`game_start`.

Under Windows' Python (`deploy/windows/python`) it measures Windows' strategy. Wine reports every append, which NTFS
does not do while the writer has the file open, so the reports of growth are switched off: growth is found by looking
at sizes alone. On Linux it measures inotify, looking at sizes in its place, and kqueue on its stand-in of the tests.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from tests.bench.clocks import RECORD
from tests.bench.games import FIRST_FRAME, EndlessGame
from tests.bench.report import Figure, Form, table
from tests.daemons.process import DaemonProcess
from tests.project import ROOT

_MODULE = "tests.bench.strategies"
_FRAMES_PER_SECOND = 60
_LEAD_SECONDS = 1.0
_PAUSE_SECONDS = 0.5
_BEGIN = FIRST_FRAME - 1
"""The number that stands for the beginning of a game."""
_TARGET_MS = 8.0
_TARGET_NEW_GAME_MS = 20.0
_TARGET_CPU_PERCENT = 10.0


class Measured(NamedTuple):
    """Latencies in milliseconds, in ascending order, and the CPU time of the daemon in percent of a core."""

    appends: list[float]
    new_games: list[float]
    cpu_percent: float


def _inotify() -> None:
    """Leave the daemon as it is."""


def _sizes() -> None:
    """Have the daemon look at sizes, and read no more than the names from Windows."""
    from slpstream.sources.tail import watcher
    from slpstream.sources.tail.inotify import InotifyReader
    from slpstream.sources.tail.size_polling import SizePolling

    if sys.platform == "win32":
        from slpstream.sources.tail.directory_changes import DirectoryChangesReader

        def readers(token: Any) -> Any:
            return "directory changes", DirectoryChangesReader(token, growth=False), SizePolling(token)

        watcher.readers_of_platform = readers
    else:

        class Names(InotifyReader):
            """inotify without growth."""

            def __init__(self) -> None:
                super().__init__()
                mask: Any = self._mask
                self._mask = type(mask)(mask & ~0x2)  # without IN_MODIFY

        def readers_on_linux(token: Any) -> Any:
            return "directory changes", Names(), SizePolling(token)

        watcher.readers_of_platform = readers_on_linux


def _kqueue() -> None:
    """Give the daemon the stand-in for kqueue."""
    from slpstream.sources.tail import watcher
    from slpstream.sources.tail.kqueue import KqueueReader
    from tests.sources.tail import fake_kqueue

    def readers(token: Any) -> Any:
        reader = KqueueReader(fake_kqueue.kernel())
        return "kqueue", reader, reader

    watcher.readers_of_platform = readers


STRATEGIES: Mapping[str, Callable[[], None]] = (
    {"sizes": _sizes} if sys.platform == "win32" else {"inotify": _inotify, "sizes": _sizes, "kqueue": _kqueue}
)


def run(form: Form) -> list[Figure]:
    """Measure each strategy."""
    games, frames = (1, 30) if form.short else (6, 480)
    figures = []
    for name in STRATEGIES:
        runs = [measure(name, games, frames) for _ in range(form.times)]
        figures += [
            Figure(f"append to message, {name}, p50", [_quantile(run.appends, 0.5) for run in runs], "ms"),
            Figure(f"append to message, {name}, p99", [_quantile(run.appends, 0.99) for run in runs], "ms", _TARGET_MS),
            Figure(f"new game, {name}, p50", [_quantile(run.new_games, 0.5) for run in runs], "ms"),
            Figure(f"new game, {name}, max", [run.new_games[-1] for run in runs], "ms", _TARGET_NEW_GAME_MS),
            Figure(f"CPU, {name}", [run.cpu_percent for run in runs], "% of a core", _TARGET_CPU_PERCENT),
        ]
    return figures


def measure(strategy: str, games: int, frames: int) -> Measured:
    """Play some games to a daemon with one strategy."""
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-", ignore_cleanup_errors=True) as name:
        root = Path(name)
        folder, log = root / "setup", root / "written"
        folder.mkdir()
        daemon = DaemonProcess(folder, around=[sys.executable, "-m", _MODULE, "daemon", strategy])
        try:
            daemon.wait_ready()
            received: dict[tuple[int, int], int] = {}
            with _Client(daemon.stream_url(station="setup", delivery="lossless")) as client:
                writer = subprocess.Popen(
                    [sys.executable, "-m", _MODULE, "writer", str(folder), str(log), str(games), str(frames)], cwd=ROOT
                )
                cpu_seconds, began = _cpu_seconds(daemon), time.perf_counter()
                try:
                    _receive(client, received, games, frames)
                finally:
                    writer.wait()
                cpu_seconds = _cpu_seconds(daemon) - cpu_seconds
                seconds = time.perf_counter() - began
        finally:
            daemon.kill()
        written = {(game, number): ns for game, number, ns in RECORD.iter_unpack(log.read_bytes())}
    latencies = {key: (ns - written[key]) / 1e6 for key, ns in received.items()}
    return Measured(
        sorted(latency for (_, number), latency in latencies.items() if number != _BEGIN),
        sorted(latency for (_, number), latency in latencies.items() if number == _BEGIN),
        100 * cpu_seconds / seconds,
    )


class _Client:
    """A websocket client without threads: it notes when bytes arrive, before it takes them apart."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=30)
        self._protocol = ClientProtocol(parse_uri(url), max_size=None)
        self._protocol.send_request(self._protocol.connect())
        self._fragments: list[bytes] = []

    def __enter__(self) -> Self:
        self._send()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def receive(self) -> tuple[int, list[dict[str, Any]]]:
        """When the next bytes have come, and the messages that are complete with them. Raises `OSError`."""
        data = self._socket.recv(1 << 20)
        now = time.perf_counter_ns()
        if not data:
            raise ConnectionError("the daemon has closed the connection")
        self._protocol.receive_data(data)
        messages = []
        for event in self._protocol.events_received():
            if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.CONT):
                self._fragments.append(bytes(event.data))
                if event.fin:
                    messages.append(json.loads(b"".join(self._fragments)))
                    self._fragments.clear()
        self._send()
        return now, messages

    def _send(self) -> None:
        for data in self._protocol.data_to_send():
            self._socket.sendall(data)


def _receive(client: _Client, received: dict[tuple[int, int], int], games: int, frames: int) -> None:
    game = -1
    while (games - 1, FIRST_FRAME + frames - 1) not in received:
        try:
            now, messages = client.receive()
        except OSError as error:
            raise RuntimeError(f"{len(received)} messages arrived") from error
        for message in messages:
            if message["type"] == "game_start":
                game += 1
                received[game, _BEGIN] = now
            elif message["type"] == "frame" and not message["frame"]["revision"]:
                received[game, message["frame"]["frame"]] = now


def _cpu_seconds(daemon: DaemonProcess) -> float:
    """User and system time of the daemon's process."""
    line = next(line for line in daemon.text("/metrics").splitlines() if line.startswith("process_cpu_seconds_total"))
    return float(line.split()[1])


def _quantile(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


def _write(folder: Path, log: Path, games: int, frames: int) -> None:
    """Write games one after the other, each frame with one append, and log the times just before the writes."""
    endless = EndlessGame()
    prepared = [endless.frame(index) for index in range(frames)]
    written: list[bytes] = []
    time.sleep(_LEAD_SECONDS)
    for game in range(games):
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
        written.append(RECORD.pack(game, _BEGIN, time.perf_counter_ns()))
        file = os.open(folder / f"Game_20261121T0529{game:02}.slp", flags)
        os.write(file, endless.head(game))
        due = time.perf_counter()
        for index, frame in enumerate(prepared):
            due += 1 / _FRAMES_PER_SECOND
            time.sleep(max(0.0, due - time.perf_counter()))
            written.append(RECORD.pack(game, FIRST_FRAME + index, time.perf_counter_ns()))
            os.write(file, frame)
        os.close(file)
        time.sleep(_PAUSE_SECONDS)
    log.write_bytes(b"".join(written))


def main() -> None:
    """Measure, or be one of the processes."""
    role, *rest = sys.argv[1:] or [""]
    if role == "writer":
        folder, log, games, frames = rest
        _write(Path(folder), Path(log), int(games), int(frames))
    elif role == "daemon":
        strategy, _python, _m, _slpstream, *arguments = rest
        STRATEGIES[strategy]()
        from slpstream.cli import main as slpstream

        slpstream(arguments)
    else:
        parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description=__doc__)
        parser.add_argument("--short", action="store_true", help="as short as possible; the figures are meaningless")
        parser.add_argument("--runs", type=int, default=3, help="runs of each; the figure is their median")
        options = parser.parse_args()
        print(table(run(Form(options.short, options.runs))))


if __name__ == "__main__":
    main()
