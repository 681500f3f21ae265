"""`slpstream demo` of an installed or packaged slpstream, started like by a user."""

from __future__ import annotations

import re
import subprocess
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.marks import require_parts

STOP_SECONDS = 60.0
ANSWER_SECONDS = 60.0


def play_demo(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    stop: Callable[[], object] | None = None,
) -> None:
    """Run the demo on a free port, read its stream until a game ends, and wait until the demo ends by itself.

    `stop` ends child processes that would survive the demo.
    """
    require_parts("demo", "scenes")
    output: list[str] = []
    with subprocess.Popen(
        [*command, "demo", "--port", "0", "--once", "--speed", "30"],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace",
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            for line in process.stdout:
                output.append(line)
                if found := re.search(r"overlay +(http://127\.0\.0\.1:\d+)/overlay/demo", line):
                    _watch(found[1])
            assert process.wait(STOP_SECONDS) == 0, output
            assert any("/overlay/demo" in line for line in output), output
        finally:
            if process.poll() is None:
                process.terminate()
                if stop is not None:
                    stop()


def _watch(url: str) -> None:
    """Load the overlay, and read the stream until a game ends."""
    assert get(f"{url}/overlay/demo").startswith("<!doctype html>")
    assert "WebSocket" in get(f"{url}/static/slpstream.js")
    with urllib.request.urlopen(f"{url}/v1/events?station=demo&cursor=start", timeout=ANSWER_SECONDS) as events:
        assert b"event: game_end\n" in events


def get(url: str) -> str:
    """The body of a page."""
    with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as response:
        text: str = response.read().decode()
        return text
