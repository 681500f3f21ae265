"""A process that plays at many setups in real time, frame by frame, and logs the time of each write.

The setups write one after another within a sixtieth of a second, like unrelated setups, or simultaneously
(`--in-step`). With `--burst`, each writes this many frames together when the last of them is due. With
`--game-seconds`, setups play one game after another, each in its own file, and their games end at different times.
Otherwise each has one endless game. With `--disturbance`, the file of the first setup is disturbed every second.

The logged time is the time just before the write, so that the measured latency includes the write. The process prints
the due time of the first frame and, after the last one, the lateness of the writer itself (p99), both in nanoseconds,
and the number of games of each setup. SIGTERM ends it early.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

from slpstream.formats.slippi.commands import FRAMES_PER_SECOND
from tests.bench.clocks import RECORD, game_of_station
from tests.bench.games import FIRST_FRAME, EndlessGame

FILE_NAME = "Game_0000.slp"
"""The file of a setup's first game."""
_LEAD_NS = 300_000_000
_NOISE_BYTES = 20_000
_STAGGER_FRAMES = 3


class Setup:
    """One setup with its current game."""

    def __init__(self, folder: Path, game: EndlessGame, number: int, max_frames: int) -> None:
        self._folder = folder
        self._game = game
        self._number = number
        self._frames = max_frames - _STAGGER_FRAMES * number
        """The length of a game. Setups that begin together end at different times."""
        self._chance = random.Random(0)
        self._stalled = False
        self.games = 0
        self._begin()

    def _begin(self) -> None:
        self._file = (self._folder / f"Game_{self.games:04}.slp").open("xb", buffering=0)
        self._head = self._game.head(1000 * self._number + self.games)
        self._file.write(self._head)
        self.games += 1
        self.played = 0

    def continue_play(self) -> None:
        """Begin the next game if the current one is over."""
        if self.played >= self._frames:
            self.end()
            self._begin()

    def end(self) -> None:
        """End the current game."""
        self._game.end(self._file)
        self._file.close()

    def write(self, frame: bytes, count: int) -> None:
        """Append frames."""
        if not self._stalled:
            self._file.write(frame)
        self.played += count

    # Disturbances.

    def killed(self) -> None:
        """The game ends in the middle of a frame, its file disappears, and another game begins."""
        self._file.close()
        for path in self._folder.iterdir():
            path.unlink()
        self._begin()

    def stalled(self) -> None:
        """Writing stops."""
        self._stalled = True

    def corrupted(self) -> None:
        """Random bytes appear between two frames."""
        self._file.write(self._chance.randbytes(_NOISE_BYTES))

    def truncated(self) -> None:
        """The file is truncated to its beginning, and the game is written again."""
        self._file.truncate(0)
        self._file.seek(0)
        self._file.write(self._head)


DISTURBANCES: Mapping[str, Callable[[Setup], None]] = {
    "killed": Setup.killed,
    "stalled": Setup.stalled,
    "corrupted": Setup.corrupted,
    "truncated": Setup.truncated,
}


def main() -> None:
    """Play until the time is up or SIGTERM arrives."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--game-seconds", type=float)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--in-step", action="store_true")
    parser.add_argument("--burst", type=int, default=1)
    parser.add_argument("--disturbance", choices=DISTURBANCES)
    arguments = parser.parse_args()
    burst: int = arguments.burst
    count = int(arguments.seconds * FRAMES_PER_SECOND) // burst * burst
    stagger = _STAGGER_FRAMES * len(arguments.folders)
    ends = arguments.game_seconds is not None
    max_frames = stagger + (int(arguments.game_seconds * FRAMES_PER_SECOND) if ends else count)
    game = EndlessGame()
    frames = [game.frame(index) for index in range(min(max_frames, count))]
    setups = [Setup(folder, game, number, max_frames) for number, folder in enumerate(arguments.folders)]
    disturb = DISTURBANCES.get(arguments.disturbance)
    period_ns = 1_000_000_000 // FRAMES_PER_SECOND
    turn_ns = 0 if arguments.in_step else period_ns // len(setups)
    written: list[tuple[int, int, int]] = []
    lateness: list[int] = []
    stopping = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    began = time.monotonic_ns() + _LEAD_NS
    print(began, flush=True)
    for index in range(burst - 1, count, burst):
        if stopping.is_set():
            break
        if disturb is not None and index % FRAMES_PER_SECOND == FRAMES_PER_SECOND - 1:
            disturb(setups[0])
        for number, setup in enumerate(setups):
            due = began + index * period_ns + number * turn_ns
            wait = due - time.monotonic_ns()
            if wait > 0:
                time.sleep(wait / 1e9)
            setup.continue_play()
            first = setup.played
            data = b"".join(frames[first : first + burst])
            now = time.monotonic_ns()
            setup.write(data, burst)
            key = game_of_station(number, setup.games - 1) if ends else number
            written += [(key, FIRST_FRAME + each, now) for each in range(first, first + burst)]
            lateness.append(now - due)
    if ends:
        for setup in setups:
            setup.end()
    arguments.log.write_bytes(b"".join(RECORD.pack(*record) for record in written))
    print(sorted(lateness)[len(lateness) * 99 // 100])
    print(json.dumps([setup.games for setup in setups]), flush=True)


if __name__ == "__main__":
    main()
