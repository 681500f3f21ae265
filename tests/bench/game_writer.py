"""A process that writes games frame by frame into many folders, in real time, and notes when each frame was written.

The stations take turns within a sixtieth of a second, as unrelated setups would, or write all at once (`--in-step`).
The time that is noted is the one just before the write, so that the write is a part of what is measured. On stdout:
when the first frame is due, then, when the time is up, how late the writer itself was (p99), both in nanoseconds.
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
    """Writes until the time is up."""
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
            at = time.monotonic_ns()
            os.write(file, frame)
            written.append((station, FIRST_FRAME + index, at))
            lateness.append(at - due)
    arguments.log.write_bytes(b"".join(RECORD.pack(*record) for record in written))
    print(sorted(lateness)[len(lateness) * 99 // 100])


if __name__ == "__main__":
    main()
