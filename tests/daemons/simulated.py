"""Games that the `simulate` command writes for a daemon, and the lines that a subscriber must get for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from slpstream.api import messages
from slpstream.model.messages import FramesMode


def dump_lines(replay: Path, frames: FramesMode = "live") -> list[bytes]:
    """The lines that `dump` prints for all topics, except a `game_end` with the reason `incomplete`."""
    lines = [message.json() for message in messages(replay, frames=frames)]
    return [line for line in lines if b'"reason":"incomplete"' not in line]


def simulate(replay: Path, into: Path, *, writer: str, speed: float) -> subprocess.Popen[bytes]:
    """Start the `simulate` command in its own process."""
    command = [sys.executable, "-m", "slpstream", "simulate", str(replay), "--into", str(into)]
    return subprocess.Popen([*command, "--writer", writer, "--speed", str(speed)], stdout=subprocess.DEVNULL)


def append(path: Path, data: bytes) -> None:
    """Append the part of `data` that the file does not have yet."""
    with path.open("ab") as file:
        file.write(data[file.tell() :])


def check_equal(received: list[bytes], expected: list[bytes]) -> None:
    """Compare byte for byte; a failure names the first line that differs."""
    for number, (line, expected_line) in enumerate(zip(received, expected, strict=False)):
        assert line == expected_line, f"line {number}: {line[:200]!r} is not {expected_line[:200]!r}"
    assert len(received) == len(expected)
