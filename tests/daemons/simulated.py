"""Games that another process writes for a daemon, and the lines that a subscriber must get for them."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import trio

from slpstream.api import messages
from slpstream.model.messages import FramesMode
from slpstream.sources.replay_file import read_chunks
from tests.daemons.written import write_replay
from tests.project import ROOT


def dump_lines(replay: Path, frames: FramesMode = "live") -> list[bytes]:
    """The lines that `dump` prints for all topics, except a `game_end` with the reason `incomplete`."""
    lines = [message.json() for message in messages(replay, frames=frames)]
    return [line for line in lines if b'"reason":"incomplete"' not in line]


def simulate(replay: Path, into: Path, *, writer: str, speed: float) -> subprocess.Popen[bytes]:
    """Start a process that writes the replay again, like the command `simulate`."""
    command = [sys.executable, "-m", __name__, str(replay.absolute()), str(into.absolute()), writer, str(speed)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)


def main(replay: str, into: str, writer: str, speed: str) -> None:
    """Write the replay into the folder."""
    data = b"".join(read_chunks(Path(replay)))
    target = Path(into) / Path(replay).name
    trio.run(partial(write_replay, data, target, writer=writer, speed=float(speed)))


def append(path: Path, data: bytes) -> None:
    """Append the part of `data` that the file does not have yet."""
    with path.open("ab") as file:
        file.write(data[file.tell() :])


def check_equal(received: list[bytes], expected: list[bytes]) -> None:
    """Compare byte for byte; a failure names the first line that differs."""
    for number, (line, expected_line) in enumerate(zip(received, expected, strict=False)):
        assert line == expected_line, f"line {number}: {line[:200]!r} is not {expected_line[:200]!r}"
    assert len(received) == len(expected)


if __name__ == "__main__":
    main(*sys.argv[1:])
