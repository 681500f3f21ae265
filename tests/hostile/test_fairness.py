"""Concurrent expensive work neither delays a live game on another station nor loses its messages.

A station with thousands of old games, one with a long game and one with a sparse file of a terabyte share a daemon with
a station whose game is written in real time, while clients send all slow requests. The bounds are loose, because other
tests run meanwhile.
"""

from __future__ import annotations

import http.client
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.bench.games import EndlessGame
from tests.bench.live import Load, measure_at
from tests.bench.store import write_games
from tests.daemons.process import running

MAX_MILLISECONDS = 500
OLD_GAMES, LONG_GAME_FRAMES, HOLE_BYTES = 3000, 3600, 1 << 40
INDEXED_SECONDS = 60.0
CLIENTS = ("forged_cursors=20", "lists_stations=4", "searches=4", "reads_games=4", "reads_whole_logs=2")

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the clients use epoll, and CPU time is in /proc"
)


def write_long_game(path: Path) -> None:
    game = EndlessGame()
    with path.open("wb") as file:
        file.write(game.head(1_000_000) + b"".join(game.frame(index) for index in range(LONG_GAME_FRAMES)))
        game.end(file)


def backdate(*folders: Path) -> None:
    """Date all files to the last week, each at another time."""
    now = time.time()
    for folder in folders:
        for number, entry in enumerate(os.scandir(folder)):
            written = now - 3600 - number * 200.0
            os.utime(entry.path, (written, written))


@contextmanager
def polling_health(url: str) -> Iterator[list[float]]:
    """Request `/healthz` repeatedly during the block, and collect the time of each answer in milliseconds."""
    taken: list[float] = []
    stop = threading.Event()

    def ask() -> None:
        with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)) as connection:
            while not stop.wait(0.01):
                began = time.perf_counter()
                connection.request("GET", "/healthz")
                connection.getresponse().read()
                taken.append(1000 * (time.perf_counter() - began))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield taken
    finally:
        stop.set()
        asking.join()


def test_live_game_is_not_delayed(tmp_path: Path) -> None:
    live, old, long, sparse = folders = [tmp_path / name for name in ("s00", "old", "long", "sparse")]
    for folder in folders:
        folder.mkdir()
    write_games(old, OLD_GAMES)
    write_long_game(long / "Game_long.slp")
    backdate(old, long)
    with running(*folders) as daemon:
        daemon.wait_ready()
        listed = "/v1/games?station=long"
        daemon.until(lambda: any("durationSeconds" in game for game in daemon.get(listed)["games"]), INDEXED_SECONDS)
        with (sparse / "Game_hole.slp").open("wb") as file:
            file.truncate(HOLE_BYTES)
        with polling_health(daemon.url) as health_milliseconds:
            measured = measure_at(Load(stations=1, seconds=5.0, attackers=CLIENTS), daemon, tmp_path, [live])
    assert (measured.missed, measured.lagged) == (0, 0)
    assert measured.quantile(0.99) < MAX_MILLISECONDS
    assert sorted(health_milliseconds)[int(0.99 * len(health_milliseconds))] < MAX_MILLISECONDS
