"""`slpstream demo` in its own process."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.marks import require_parts

START_SECONDS = 60.0
STOP_SECONDS = 10.0


class Demo:
    """`slpstream demo` on a free port."""

    def __init__(self, *arguments: str, log: Path) -> None:
        command = [sys.executable, "-m", "slpstream", "demo", "--strict", "--port", "0", *arguments]
        with log.open("wb") as stderr:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        limit = threading.Timer(START_SECONDS, self.process.kill)
        limit.start()
        assert self.process.stdout is not None
        urls = (re.search(r"(http://127\.0\.0\.1:\d+)/overlay/demo", line) for line in self.process.stdout)
        found = next(filter(None, urls), None)
        limit.cancel()
        if found is None:
            self.stop()
            raise AssertionError(f"the demo does not print its URL: {log.read_text()}")
        self.url = found[1]

    def stop(self) -> int:
        """Stop the demo with SIGTERM. Returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.returncode


@contextmanager
def demo(*arguments: str, log: Path) -> Iterator[Demo]:
    """Run a demo for the duration of the block. Skip the test if the part `demo` was deleted."""
    require_parts("demo", "scenes")
    running = Demo(*arguments, log=log)
    try:
        yield running
    finally:
        running.stop()
