"""A process that plays at many setups in real time: one game after another, each in its own file, like consoles do.

The setups write one after another within a sixtieth of a second, and their games end at different times. The logged
time of a frame is the time just before its write, so that the measured latency includes the write. The process prints
when the first frame is due and, after all games have ended, how late the writer itself was (p99), both in nanoseconds,
and the number of games of each setup.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import IO

from tests.bench.clocks import RECORD, game_of_station
from tests.bench.games import FIRST_FRAME, EndlessGame

_FRAMES_PER_SECOND = 60
_LEAD_NS = 300_000_000
_STAGGER_FRAMES = 3


class Setup:
    """One console with its present game."""

    def __init__(self, folder: Path, game: EndlessGame, station: int) -> None:
        self._folder = folder
        self._game = game
        self._station = station
        self.games = 0
        self.frames_left = 0
        """Frames of the present game that are not written yet."""
        self.played = 0
        self.file: IO[bytes] | None = None

    def begin(self, frames: int) -> None:
        """Begin the next game."""
        self.file = (self._folder / f"Game_{self.games:04}.slp").open("xb", buffering=0)
        self.file.write(self._game.head(1000 * self._station + self.games))
        self.games += 1
        self.frames_left, self.played = frames, 0

    def end(self) -> None:
        """End the present game."""
        if self.file is not None:
            self._game.end(self.file)
            self.file.close()
            self.file = None


def main() -> None:
    """Play until the time is up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--game-seconds", type=float, required=True)
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    game = EndlessGame()
    max_frames = int(arguments.game_seconds * _FRAMES_PER_SECOND) + _STAGGER_FRAMES * len(arguments.folders)
    count = int(arguments.seconds * _FRAMES_PER_SECOND)
    frames = [game.frame(index) for index in range(min(max_frames, count))]
    setups = [Setup(folder, game, station) for station, folder in enumerate(arguments.folders)]
    for setup in setups:
        setup.begin(_length(setup, setups, max_frames))
    period_ns = 1_000_000_000 // _FRAMES_PER_SECOND
    turn_ns = period_ns // len(setups)
    written: list[tuple[int, int, int]] = []
    lateness: list[int] = []
    began = time.monotonic_ns() + _LEAD_NS
    print(began, flush=True)
    for index in range(count):
        for station, setup in enumerate(setups):
            due = began + index * period_ns + station * turn_ns
            wait = due - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait / 1e9)
            if not setup.frames_left:
                setup.end()
                setup.begin(_length(setup, setups, max_frames))
            now = time.monotonic_ns()
            assert setup.file is not None
            setup.file.write(frames[setup.played])
            written.append((game_of_station(station, setup.games - 1), FIRST_FRAME + setup.played, now))
            lateness.append(now - due)
            setup.played += 1
            setup.frames_left -= 1
    for setup in setups:
        setup.end()
    arguments.log.write_bytes(b"".join(RECORD.pack(*record) for record in written))
    print(sorted(lateness)[len(lateness) * 99 // 100])
    print(json.dumps([setup.games for setup in setups]), flush=True)


def _length(setup: Setup, setups: list[Setup], max_frames: int) -> int:
    """Length of a game in frames. Setups that begin together end at different times."""
    return max_frames - _STAGGER_FRAMES * setups.index(setup)


if __name__ == "__main__":
    main()
