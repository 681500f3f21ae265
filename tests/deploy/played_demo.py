"""`slpstream demo` of an installed or packaged slpstream, as a user starts it."""

from __future__ import annotations

import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

STOP_SECONDS = 60.0
ANSWER_SECONDS = 60.0


class Demo:
    """The demo while it runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._output: list[str] = []
        self.url = self._address()

    def _address(self) -> str:
        """Read the output until the address of the overlay."""
        for line in self._lines():
            found = re.search(r"overlay +(http://127\.0\.0\.1:\d+)/overlay/demo", line)
            if found:
                return found[1]
        raise AssertionError(f"the demo prints no address: {self._output}")

    def _lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._output.append(line)
            yield line

    def play_to_the_end(self) -> None:
        """Read the stream until a game ends, and wait until the demo ends by itself, as it does with `--once`."""
        assert get(f"{self.url}/overlay/demo").startswith("<!doctype html>")
        assert "WebSocket" in get(f"{self.url}/static/slpstream.js")
        with urllib.request.urlopen(
            f"{self.url}/v1/events?station=demo&cursor=start", timeout=ANSWER_SECONDS
        ) as events:
            assert b"event: game_end\n" in events
        assert [*self._lines(), self.process.wait(STOP_SECONDS)][-1] == 0, self._output


@contextmanager
def demo(
    command: Sequence[str | Path],
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    stop: Callable[[], object] | None = None,
) -> Iterator[Demo]:
    """Run the demo on a free port. `stop` ends what the process has started and what does not end with it."""
    process = subprocess.Popen(
        [*command, "demo", "--port", "0", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        yield Demo(process)
    finally:
        if process.poll() is None:
            process.terminate()
            if stop is not None:
                stop()
            process.wait(STOP_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def get(url: str) -> str:
    """The body of a page."""
    with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as response:
        text: str = response.read().decode()
        return text
