"""A canary: a game in real time on one station, and a subscriber that must receive all of it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tests.bench.games import EndlessGame
from tests.daemons.process import DaemonProcess, LogReader
from tests.faults.scene import log_lines

_PERIOD_SECONDS = 1 / 60


class Canary:
    """A setup that writes in another thread from its creation until `finish` is called or it has `frames` frames."""

    def __init__(self, daemon: DaemonProcess, station: str, path: Path, *, frames: int | None = None) -> None:
        self._daemon = daemon
        self._frames = frames
        self._path = path
        self._stop = threading.Event()
        self._reader = LogReader(station)
        self._writer = threading.Thread(target=self._write, daemon=True)
        self._writer.start()

    def _write(self) -> None:
        game = EndlessGame()
        began, index = time.monotonic(), 0
        with self._path.open("ab", buffering=0) as file:
            file.write(game.head(7))
            while index != self._frames and not self._stop.is_set():
                time.sleep(max(0.0, began + index * _PERIOD_SECONDS - time.monotonic()))
                file.write(game.frame(index))
                index += 1

    def receive(self, lines: int) -> bool:
        """Receive at least this many messages. Return whether they arrived."""
        return self._reader.read(self._daemon, lambda reader: len(reader.lines) >= lines, seconds=60)

    def finish(self) -> tuple[int, bool]:
        """Play to the end. Return the number of expected messages, and whether exactly these arrived."""
        if self._frames is None:
            self._stop.set()
        self._writer.join()
        expected = log_lines(self._path.read_bytes())
        assert not any(line.startswith(b'{"type":"diagnostic"') for line in expected)
        self.receive(len(expected))
        return len(expected), self._reader.lines == expected
