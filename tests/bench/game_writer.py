"""A process that writes games into many folders, frame by frame in real time, and logs when each frame was written.

The stations write one after another within a sixtieth of a second, like unrelated setups, or all at once (`--in-step`).
With `--burst`, each writes this many frames together when the last of them is due.
The logged time is the time just before the write, so that the measured latency includes the write. The process prints
when the first frame is due and, after the last one, how late the writer itself was (p99), both in nanoseconds.

With `--disturbance`, something happens to the file of the first station every second. SIGTERM ends the games early.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

from tests.bench.clocks import RECORD
from tests.bench.games import FIRST_FRAME, EndlessGame

FILE_NAME = "Game_20261121T052951.slp"
_FRAMES_PER_SECOND = 60
_LEAD_NS = 300_000_000
_RUBBISH_BYTES = 20_000


class DisturbedFile:
    """The file of the station that is disturbed. All methods but `write` are disturbances."""

    def __init__(self, folder: Path, file: int, head: bytes) -> None:
        self._folder = folder
        self._file = file
        self._head = head
        self._games = 0
        self._chance = random.Random(0)
        self._stalled = False

    def write(self, frame: bytes) -> None:
        """Append a frame."""
        if not self._stalled:
            os.write(self._file, frame)

    def killed(self) -> None:
        """The game ends in the middle of a frame, its file goes, and another game begins."""
        os.close(self._file)
        for path in self._folder.iterdir():
            path.unlink()
        self._games += 1
        path = self._folder / f"Game_20261121T06{self._games // 60:02}{self._games % 60:02}.slp"
        self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND)
        os.write(self._file, self._head)

    def stalled(self) -> None:
        """Nothing is written any more."""
        self._stalled = True

    def corrupted(self) -> None:
        """Random bytes come between two frames."""
        os.write(self._file, self._chance.randbytes(_RUBBISH_BYTES))

    def truncated(self) -> None:
        """The file is cut off at its beginning, and the game is written anew."""
        os.ftruncate(self._file, 0)
        os.write(self._file, self._head)


DISTURBANCES: Mapping[str, Callable[[DisturbedFile], None]] = {
    "killed": DisturbedFile.killed,
    "stalled": DisturbedFile.stalled,
    "corrupted": DisturbedFile.corrupted,
    "truncated": DisturbedFile.truncated,
}


def main() -> None:
    """Write until the time is up or SIGTERM comes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--in-step", action="store_true")
    parser.add_argument("--burst", type=int, default=1)
    parser.add_argument("--disturbance", choices=DISTURBANCES)
    arguments = parser.parse_args()
    game = EndlessGame()
    count = int(arguments.seconds * _FRAMES_PER_SECOND)
    burst: int = arguments.burst
    frames = [game.frame(index) for index in range(count // burst * burst)]
    files = []
    for seed, folder in enumerate(arguments.folders):
        files.append(os.open(folder / FILE_NAME, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND))
        os.write(files[-1], game.head(seed))
    disturb = None if arguments.disturbance is None else DISTURBANCES[arguments.disturbance]
    disturbed = DisturbedFile(arguments.folders[0], files[0], game.head(0))
    period_ns = 1_000_000_000 // _FRAMES_PER_SECOND
    turn_ns = 0 if arguments.in_step else period_ns // len(files)
    written: list[tuple[int, int, int]] = []
    lateness: list[int] = []
    stopping = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    began = time.monotonic_ns() + _LEAD_NS
    print(began, flush=True)
    for index in range(burst - 1, len(frames), burst):
        if stopping.is_set():
            break
        frame = b"".join(frames[index - burst + 1 : index + 1])
        if disturb is not None and index % _FRAMES_PER_SECOND == _FRAMES_PER_SECOND - 1:
            disturb(disturbed)
        for station, file in enumerate(files):
            due = began + index * period_ns + station * turn_ns
            wait = due - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait / 1e9)
            now = time.monotonic_ns()
            if station == 0 and disturb is not None:
                disturbed.write(frame)
            else:
                os.write(file, frame)
            written += [(station, FIRST_FRAME + each, now) for each in range(index - burst + 1, index + 1)]
            lateness.append(now - due)
    arguments.log.write_bytes(b"".join(RECORD.pack(*record) for record in written))
    print(sorted(lateness)[len(lateness) * 99 // 100])


if __name__ == "__main__":
    main()
