"""The index of games: the time of a list among ten thousand games, and the speed of indexing."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import msgspec

from slpstream.store import FILE_NAME, Entry, open_database
from tests.bench.report import Figure, Form, quantile
from tests.daemons.process import running
from tests.store import samples
from tests.synthetic.match import synthetic_match

LIST_TARGET_MILLISECONDS = 20.0
GAMES, SHORT_GAMES = 10_000, 300
FILES, SHORT_FILES = 10_000, 30
_REQUESTS, _SHORT_REQUESTS = 200, 10
_LISTS = {
    "the newest": "/v1/games",
    "200, the newest": "/v1/games?limit=200",
    "of a station and a player": "/v1/games?station=side&player=ann",
    "far down": "/v1/games?cursor={cursor}",
}


def run(form: Form) -> list[Figure]:
    """Benchmark lists and indexing."""
    return [*lists(form), indexing(form)]


def lists(form: Form) -> list[Figure]:
    """Request each list over HTTP, sequentially on one connection: the 99th percentile."""
    games = SHORT_GAMES if form.short else GAMES
    taken: dict[str, list[float]] = {name: [] for name in _LISTS}
    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryDirectory() as folder:
        with closing(open_database(Path(state) / FILE_NAME)) as database:
            for first in range(0, games, 500):
                database.games.add(_entry(number) for number in range(first, min(first + 500, games)))
        with (
            running(Path(folder), state=Path(state)) as daemon,
            closing(http.client.HTTPConnection(urlsplit(daemon.url).netloc, timeout=10)) as connection,
        ):
            daemon.wait_ready()
            middle = f"{(samples.DAY_ONE + 30 * games) * 1000}.{'0' * 32}"
            for _ in range(form.runs if not form.short else 1):
                for name, path in _LISTS.items():
                    count = _SHORT_REQUESTS if form.short else _REQUESTS
                    times = sorted(seconds_of(connection, path.format(cursor=middle)) for _ in range(count))
                    taken[name].append(1000 * quantile(times, 0.99))
    return [
        Figure(f"GET /v1/games of {games:,}, {name}, p99", values, "ms", LIST_TARGET_MILLISECONDS)
        for name, values in taken.items()
    ]


def indexing(form: Form) -> Figure:
    """`slpstream reindex` over many short games, including the start of its processes."""
    files = SHORT_FILES if form.short else FILES
    rates: list[float] = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        write_games(Path(folder), files)
        environment = {**os.environ, "STATE_DIRECTORY": state}
        for _ in range(1 if form.short else form.runs):
            began = time.perf_counter()
            command = [sys.executable, "-m", "slpstream", "reindex", folder]
            subprocess.run(command, env=environment, check=True, capture_output=True)
            rates.append(files / (time.perf_counter() - began))
    return Figure(f"reindex of {files:,} files", rates, "files/s", note=f"{files / median(rates):.1f} s")


def write_games(folder: Path, count: int) -> None:
    """Write files with a short game, each with a different random seed in its Game Start, so that the games differ."""
    data = bytearray(synthetic_match(frames=60))
    seed_offset = data.index(b"\x36", 15 + data[16]) + 0x13D
    for number in range(count):
        data[seed_offset : seed_offset + 4] = number.to_bytes(4, "big")
        (folder / f"Game_{number:05}.slp").write_bytes(data)


def _entry(number: int) -> Entry:
    names = ("ann", f"player {number % 500}")
    entry = samples.entry(number, *names, station=("main", "side", "third")[number % 3])
    assert entry.record is not None
    settings = msgspec.json.decode(entry.record.settings)
    entry.record.settings = msgspec.json.encode({**settings, "padding": "x" * 2000})  # as long as those of a real game
    return entry


def seconds_of(connection: http.client.HTTPConnection, path: str) -> float:
    """The time to list games, in seconds."""
    began = time.perf_counter()
    connection.request("GET", path)
    response = connection.getresponse()
    response.read()
    took = time.perf_counter() - began
    assert response.status == 200, path
    return took
