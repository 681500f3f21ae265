"""A process that writes games into many folders, frame by frame in real time, and logs when each frame was written.

The stations write one after another within a sixtieth of a second, like unrelated setups, or all at once (`--in-step`).
The logged time is the time just before the write, so that the measured latency includes the write. The process prints
when the first frame is due and, after the last one, how late the writer itself was (p99), both in nanoseconds.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from tests.bench.clocks import RECORD
from tests.bench.games import FIRST_FRAME, EndlessGame

FILE_NAME = "Game_20261121T052951.slp"
_FRAMES_PER_SECOND = 60
_LEAD_NS = 300_000_000


def main() -> None:
    """Write until the time is up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--in-step", action="store_true")
    arguments = parser.parse_args()
    game = EndlessGame()
    count = int(arguments.seconds * _FRAMES_PER_SECOND)
    frames = [game.frame(index) for index in range(count)]
    files = []
    for seed, folder in enumerate(arguments.folders):
        files.append(os.open(folder / FILE_NAME, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND))
        os.write(files[-1], game.head(seed))
    period_ns = 1_000_000_000 // _FRAMES_PER_SECOND
    turn_ns = 0 if arguments.in_step else period_ns // len(files)
    written: list[tuple[int, int, int]] = []
    lateness: list[int] = []
    began = time.monotonic_ns() + _LEAD_NS
    print(began, flush=True)
    for index, frame in enumerate(frames):
        for station, file in enumerate(files):
            due = began + index * period_ns + station * turn_ns
            wait = due - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait / 1e9)
            now = time.monotonic_ns()
            os.write(file, frame)
            written.append((station, FIRST_FRAME + index, now))
            lateness.append(now - due)
    arguments.log.write_bytes(b"".join(RECORD.pack(*record) for record in written))
    print(sorted(lateness)[len(lateness) * 99 // 100])


if __name__ == "__main__":
    main()
