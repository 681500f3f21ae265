"""A process that writes games frame by frame into many folders, in real time, and notes when each frame was written.

`python -m tests.bench.game_writer FOLDER... --seconds S --log FILE`. The stations take turns within a sixtieth of a
second, as unrelated setups would. The log has for each frame: station index and frame number (two int32), nanoseconds
of the monotonic clock (int64), which all processes of a machine share.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from tests.bench.clocks import RECORD
from tests.bench.games import Game

_FRAME_SECONDS = 1 / 60


def main() -> None:
    """Writes until the time is up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    game = Game()
    files = []
    for index, folder in enumerate(arguments.folders):
        files.append(os.open(folder / "Game.slp", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND))
        os.write(files[-1], game.head(index + 1))
    frames = [game.frame(index) for index in range(int(arguments.seconds * 60))]
    written: list[tuple[int, int, int]] = []
    began = time.monotonic() + 0.5
    for index, frame in enumerate(frames):
        for station, file in enumerate(files):
            due = began + (index + station / len(files)) * _FRAME_SECONDS
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            os.write(file, frame)
            written.append((station, index - 123, time.monotonic_ns()))
    arguments.log.write_bytes(b"".join(RECORD.pack(*record) for record in written))


if __name__ == "__main__":
    main()
