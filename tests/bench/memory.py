"""Resident memory: idle, and what each game in progress of 30,000 frames adds."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from tests.bench.games import Game
from tests.bench.report import Figure
from tests.daemon_process import DaemonProcess, running

_GAMES = 4
_FRAMES_PER_WRITE = 50


def resident_megabytes(process_id: int) -> float:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{process_id}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def run(*, short: bool) -> list[Figure]:
    """Idle, then with four games in progress."""
    count = 3_000 if short else 30_000
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name:
        folders = [Path(name) / f"s{station:02}" for station in range(_GAMES)]
        for folder in folders:
            folder.mkdir()
        with running(*folders) as daemon:
            daemon.wait_ready()
            idle = resident_megabytes(daemon.process.pid)
            _write_games(daemon, folders, count)
            playing = resident_megabytes(daemon.process.pid)
    growth = (playing - idle) / _GAMES
    return [
        Figure("memory, idle", idle, "MB", 60.0),
        Figure(f"memory for each game in progress of {count:,} frames", growth, "MB", 15.0, f"{_GAMES} games at once"),
    ]


def _write_games(daemon: DaemonProcess, folders: list[Path], count: int) -> None:
    game = Game()
    files = [(folder / "Game.slp").open("wb", buffering=0) for folder in folders]
    for index, file in enumerate(files):
        file.write(game.head(index + 1))
    for start in range(0, count, _FRAMES_PER_WRITE):
        piece = b"".join(game.frame(index) for index in range(start, min(start + _FRAMES_PER_WRITE, count)))
        for file in files:
            file.write(piece)
        time.sleep(0.002)  # a little pace, so that the daemon follows rather than catches up
    for file in files:
        file.close()
    total = f'slpstream_frames_total{{station="{folders[-1].name}"}} {float(count)}'
    daemon.until(lambda: total in daemon.text("/metrics"), seconds=120)
