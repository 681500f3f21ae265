"""Resident memory of an idle daemon, and the memory that each game in progress of 30,000 frames adds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from tests.bench import machine
from tests.bench.game_writer import FILE_NAME
from tests.bench.games import EndlessGame
from tests.bench.live import stations
from tests.bench.report import Figure, Form
from tests.daemons.process import DaemonProcess

_GAMES = 4
_SPEED = 100
"""The speed at which games are written, as a multiple of real time."""
_FRAMES_PER_WRITE = 10
_TIMEOUT_SECONDS = 120.0


class Measured(NamedTuple):
    """The resident memory in one run, in MB (1e6 bytes)."""

    idle: float
    playing: float
    peak: float

    @property
    def per_game(self) -> float:
        """The memory added by each game."""
        return (self.playing - self.idle) / _GAMES


def run(form: Form) -> list[Figure]:
    """Measure the memory of an idle daemon, and with four games in progress."""
    frames = 1_000 if form.short else 30_000
    runs = [measure(frames) for _ in range(1 if form.short else form.runs)]
    peak = max(m.peak for m in runs)
    note = f"{_GAMES} games at once, at {_SPEED} times real speed; peak of the whole process {peak:.0f} MB"
    return [
        Figure("memory, idle", [m.idle for m in runs], "MB", 60.0),
        Figure(f"memory, a game in progress of {frames:,} frames", [m.per_game for m in runs], "MB", 15.0, note),
    ]


def measure(frames: int) -> Measured:
    """Run a daemon once."""
    with stations(_GAMES) as (daemon, _, folders):
        idle, _ = machine.resident_megabytes(daemon.process.pid)
        _write_games(daemon, folders, frames)
        playing, peak = machine.resident_megabytes(daemon.process.pid)
    return Measured(idle, playing, peak)


def _write_games(daemon: DaemonProcess, folders: list[Path], frames: int) -> None:
    """Write all games in parallel, without their ends, and wait until the daemon has published every frame."""
    game = EndlessGame()
    files = [(folder / FILE_NAME).open("wb", buffering=0) for folder in folders]
    for seed, file in enumerate(files):
        file.write(game.head(seed))
    began = time.monotonic()
    for start in range(0, frames, _FRAMES_PER_WRITE):
        piece = b"".join(game.frame(index) for index in range(start, min(start + _FRAMES_PER_WRITE, frames)))
        time.sleep(max(0.0, began + start / 60 / _SPEED - time.monotonic()))
        for file in files:
            file.write(piece)
    for file in files:
        file.close()
    published = [f'slpstream_frames_total{{station="{folder.name}"}} {float(frames)}' for folder in folders]
    daemon.until(lambda: all(line in daemon.text("/metrics") for line in published), seconds=_TIMEOUT_SECONDS)
