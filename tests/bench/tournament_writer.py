"""A process that plays at many setups at once, in real time: game after game, each in a file of its own, as consoles
write them.

The setups take turns within a sixtieth of a second, and their games end at different times. Notes when each frame was
written: just before the write, so that the write is a part of what is measured. On stdout: when the first frame is due,
then, when all games have ended, how late the writer itself was (p99), both in nanoseconds, and how many games there are
at each setup.
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
    """One console: the game that is being played."""

    def __init__(self, folder: Path, game: EndlessGame, station: int) -> None:
        self._folder = folder
        self._game = game
        self._station = station
        self.games = 0
        self.left = 0
        """Frames of this game that are still to come."""
        self.played = 0
        self.file: IO[bytes] | None = None

    def begin(self, frames: int) -> None:
        """The next game."""
        self.file = (self._folder / f"Game_{self.games:04}.slp").open("xb", buffering=0)
        self.file.write(self._game.head(1000 * self._station + self.games))
        self.games += 1
        self.left, self.played = frames, 0

    def end(self) -> None:
        """The game is over."""
        if self.file is not None:
            self._game.end(self.file)
            self.file.close()
            self.file = None


def main() -> None:
    """Plays until the time is up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--game-seconds", type=float, required=True)
    parser.add_argument("--log", type=Path, required=True)
    arguments = parser.parse_args()
    game = EndlessGame()
    longest = int(arguments.game_seconds * _FRAMES_PER_SECOND) + _STAGGER_FRAMES * len(arguments.folders)
    count = int(arguments.seconds * _FRAMES_PER_SECOND)
    frames = [game.frame(index) for index in range(min(longest, count))]
    setups = [Setup(folder, game, station) for station, folder in enumerate(arguments.folders)]
    for setup in setups:
        setup.begin(_length(setup, setups, longest))
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
            if not setup.left:
                setup.end()
                setup.begin(_length(setup, setups, longest))
            at = time.monotonic_ns()
            assert setup.file is not None
            setup.file.write(frames[setup.played])
            written.append((game_of_station(station, setup.games - 1), FIRST_FRAME + setup.played, at))
            lateness.append(at - due)
            setup.played += 1
            setup.left -= 1
    for setup in setups:
        setup.end()
    arguments.log.write_bytes(b"".join(RECORD.pack(*record) for record in written))
    print(sorted(lateness)[len(lateness) * 99 // 100])
    print(json.dumps([setup.games for setup in setups]), flush=True)


def _length(setup: Setup, setups: list[Setup], longest: int) -> int:
    """In frames; no two setups that begin together end together."""
    return longest - _STAGGER_FRAMES * setups.index(setup)


if __name__ == "__main__":
    main()
