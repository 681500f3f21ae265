"""Fairness: what one file, one request or one subscriber costs another station's frames, and `/healthz`.

A station with 20,000 old games, a station with a long game and one with a sparse file of a terabyte share a daemon with
a station whose game is written in real time. Clients ask for everything that is expensive, one kind after the other and
all at once, while a subscriber measures the frames of that game and another client asks for `/healthz`.
"""

from __future__ import annotations

import http.client
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from slpstream.api import read_game
from slpstream.game.log_reader import peek_game_id
from slpstream.game.record import record_of
from slpstream.store import FILE_NAME, Entry, open_database
from tests.bench.games import EndlessGame
from tests.bench.live import Load, Measured, measure_at
from tests.bench.report import Figure, Form
from tests.bench.store import write_games
from tests.daemons.process import running

FRAMES_TARGET_MILLISECONDS, HEALTH_TARGET_MILLISECONDS = 16.7, 50.0
OLD_GAMES, SHORT_OLD_GAMES = 20_000, 50
HOLE_BYTES = 1 << 40
_LONG_GAME_FRAMES, _SHORT_LONG_GAME_FRAMES = 8 * 3600, 600
_INDEXED_SECONDS = 60.0
_OLDEST_SECONDS = 7 * 86_400
_HEALTH_SECONDS = 0.01

CLIENTS = {
    "20 forged cursors": ("forged_cursors=20",),
    "lists of stations": ("lists_stations=4",),
    "searches": ("searches=4",),
    "a long game's pages": ("reads_games=4",),
    "a long game's log": ("reads_whole_logs=2",),
}
ALL_CLIENTS = tuple(count for counts in CLIENTS.values() for count in counts)


class Interference(NamedTuple):
    """One run: the frames of the live game, and how long each request for `/healthz` took, in ascending order."""

    measured: Measured
    health_milliseconds: list[float]


def run(form: Form) -> list[Figure]:
    """Benchmark each kind of client on its own, then everything at once.

    The short form leaves out the kinds on their own: everything at once has each of them.
    """
    figures: list[Figure] = []
    seconds = form.seconds(10.0)
    cases: dict[str, tuple[tuple[str, ...], bool]] = {"nothing else": ((), True)}
    if not form.short:
        cases |= {name: (counts, True) for name, counts in CLIENTS.items()} | {"old games being indexed": ((), False)}
    cases["everything at once"] = (ALL_CLIENTS, False)
    for name, (attackers, indexed) in cases.items():
        runs = [
            interfere(
                attackers,
                seconds=seconds,
                old_games=SHORT_OLD_GAMES if form.short else OLD_GAMES,
                long_game_frames=_SHORT_LONG_GAME_FRAMES if form.short else _LONG_GAME_FRAMES,
                indexed=indexed,
                hole=name == "everything at once",
            )
            for _ in range(form.times)
        ]
        figures += _figures(name, runs, has_target=name == "everything at once")
    return figures


def interfere(
    attackers: tuple[str, ...],
    *,
    seconds: float,
    old_games: int = OLD_GAMES,
    long_game_frames: int = _LONG_GAME_FRAMES,
    indexed: bool = False,
    hole: bool = False,
) -> Interference:
    """Measure once, with a daemon of its own.

    `indexed` puts the old games into the index beforehand; otherwise they are indexed meanwhile. With `hole`, a sparse
    file appears once the daemon is ready.
    """
    with (
        tempfile.TemporaryDirectory(prefix="slpstream-bench-") as name,
        tempfile.TemporaryDirectory(prefix="slpstream-bench-state-") as state,
    ):
        root = Path(name)
        live, old, long, sparse = (root / folder for folder in ("s00", "old", "long", "sparse"))
        for folder in (live, old, long, sparse):
            folder.mkdir()
        write_games(old, old_games)
        _write_long_game(long / "Game_long.slp", long_game_frames)
        _make_old(old, long)
        if indexed:
            _fill_index(Path(state) / FILE_NAME, old)
        with running(live, old, long, sparse, state=Path(state)) as daemon:
            daemon.wait_ready()
            daemon.until(
                lambda: any(_has_duration(game) for game in daemon.get("/v1/games?station=long")["games"]),
                _INDEXED_SECONDS,
            )
            if hole:
                with (sparse / "Game_hole.slp").open("wb") as file:
                    file.truncate(HOLE_BYTES)
            load = Load(stations=1, seconds=seconds, attackers=attackers)
            with _asking_for_health(daemon.url) as taken:
                measured = measure_at(load, daemon, root, [live])
            return Interference(measured, sorted(1000 * each for each in taken))


def _has_duration(game: dict[str, object]) -> bool:
    return game.get("durationSeconds") is not None


def _figures(name: str, runs: list[Interference], *, has_target: bool) -> list[Figure]:
    frames = sum(run.measured.frames for run in runs)
    worst = max(run.measured.latencies[-1] for run in runs)
    note = f"{frames:,} frames, max {worst:.1f} ms, missed {sum(run.measured.missed for run in runs)}; "
    note += f"daemon {max(run.measured.daemon_cpu for run in runs):.0f} %, "
    note += f"other processes {max(run.measured.others_cpu for run in runs):.0f} %"
    health = [run.health_milliseconds[int(0.99 * len(run.health_milliseconds))] for run in runs]
    return [
        Figure(
            f"fairness: {name}, frames of another station p99", [run.measured.quantile(0.99) for run in runs], "ms",
            FRAMES_TARGET_MILLISECONDS if has_target else None, note,
        ),
        Figure(
            f"fairness: {name}, /healthz p99", health, "ms", HEALTH_TARGET_MILLISECONDS if has_target else None,
            f"max {max(run.health_milliseconds[-1] for run in runs):.1f} ms",
        ),
    ]  # fmt: skip


def _write_long_game(path: Path, frames: int) -> None:
    game = EndlessGame()
    with path.open("wb") as file:
        file.write(game.head(1_000_000))
        for index in range(frames):
            file.write(game.frame(index))
        game.end(file)


def _make_old(*folders: Path) -> None:
    """Date all files back, each by a different time."""
    now = time.time()
    for folder in folders:
        for number, entry in enumerate(os.scandir(folder)):
            written = now - 3600 - number * _OLDEST_SECONDS / OLD_GAMES
            os.utime(entry.path, (written, written))


def _fill_index(path: Path, folder: Path) -> None:
    """Put the games of `write_games` into the index, which differ in nothing but their ids and times."""
    record = None
    entries = []
    for found in os.scandir(folder):
        if record is None:
            record = record_of(read_game(Path(found.path)))
        status = found.stat()
        game_id = peek_game_id(Path(found.path)) or ""
        its_record = msgspec.structs.replace(record, game_id=game_id, said_at_ms=status.st_mtime_ns // 1_000_000)
        entry = Entry(station=folder.name, path=os.fsencode(found.path), mtime_ns=status.st_mtime_ns,
                      size_bytes=status.st_size, record=its_record)  # fmt: skip
        entries.append(entry)
    with closing(open_database(path)) as database:
        for first in range(0, len(entries), 500):
            database.put(entries[first : first + 500])


@contextmanager
def _asking_for_health(url: str) -> Iterator[list[float]]:
    """Ask for `/healthz` during the block, and collect how long each answer took, in seconds."""
    taken: list[float] = []
    stop = threading.Event()

    def ask() -> None:
        with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)) as connection:
            while not stop.wait(_HEALTH_SECONDS):
                began = time.perf_counter()
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                taken.append(time.perf_counter() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield taken
    finally:
        stop.set()
        asking.join()
