"""`slpstream demo` in a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STOP_SECONDS = 10.0


class Demo:
    """`slpstream demo` on a free port."""

    def __init__(self, *arguments: str, log: Path) -> None:
        command = [sys.executable, "-m", "slpstream", "demo", "--strict", "--port", "0", *arguments]
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        self._log = log
        self._output: list[str] = []
        self._listening = threading.Event()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        if not self._listening.wait(STOP_SECONDS):
            self.stop()
            raise AssertionError(f"the demo does not print its URL: {self._output}, {log.read_text()}")
        found = re.search(r"http://127\.0\.0\.1:\d+(?=/overlay/demo)", "".join(self._output))
        assert found is not None
        self.url = found[0]

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._output.append(line)
            if "/overlay/demo" in line:
                self._listening.set()

    def stop(self) -> int:
        """Stops the demo with SIGTERM; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_SECONDS)
        self._reading.join(STOP_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.returncode


@contextmanager
def demo(*arguments: str, log: Path) -> Iterator[Demo]:
    """Runs a demo for the duration of the block."""
    running = Demo(*arguments, log=log)
    try:
        yield running
    finally:
        running.stop()
