"""The short form of the soak, and fifty times start and stop: what was held is given back."""

from __future__ import annotations

import gc
import os
import sys
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from slpstream.config import Config, StationConfig, check
from slpstream.daemon.daemon import Daemon
from tests.formats.games import games as finished_games
from tests.soak.clients import GET, UPGRADE
from tests.soak.curve import table, verdict
from tests.soak.run import soak
from tests.synthetic.match import synthetic_match

needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is held is read from /proc")
SECONDS = float(os.environ.get("SLPSTREAM_SOAK_SECONDS", "30"))
CYCLES = 50


@needs_proc
def test_what_the_daemon_holds_is_flat(tmp_path: Path) -> None:
    soaked = soak(tmp_path, seconds=SECONDS, stations=12, clients=24, every_seconds=0.5, say=lambda one: None)
    counts = soaked.counts
    assert (soaked.exit_code, soaked.tracebacks) == (0, [])
    assert counts["games"] > 10
    assert counts["watched"] > 10
    assert counts["answers"] > 10
    assert not verdict(soaked.samples, SECONDS / 2), table(soaked.samples)


_OF_CONNECTIONS = ("slpstream", "websockets", "h11", "trio")
"""Whose objects come and go with games and clients."""


@needs_proc
def test_fifty_times_start_and_stop(tmp_path: Path) -> None:
    folder = tmp_path / "station"
    folder.mkdir()
    (folder / "Game.slp").write_bytes(synthetic_match(seed=2, frames=130))
    config = check({"server": {"port": 0}, "store": {"folder": str(tmp_path / "state")}})
    held = []
    for _ in range(CYCLES):
        trio.run(_one_life, config, folder)
        gc.collect()
        held.append((sum(1 for _ in Path("/proc/self/fd").iterdir()), threading.active_count()))
    descriptors, threads = zip(*held, strict=True)
    assert max(descriptors[10:]) <= max(descriptors[:10]) + 2, held
    assert max(threads[10:]) <= max(threads[:10]) + 2, held


async def _one_life(config: Config, folder: Path) -> None:
    daemon = Daemon(config, [StationConfig(id="station", folder=str(folder))])
    async with trio.open_nursery() as nursery:
        port = await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
        answer = await trio.to_thread.run_sync(_asked, f"http://127.0.0.1:{port}/healthz")
        assert b"ok" in answer
        daemon.stop()


def _asked(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        body: bytes = answer.read()
        return body


@pytest.mark.trio
async def test_what_is_over_is_freed_without_a_search(tmp_path: Path) -> None:
    """A search for garbage stops a daemon with fifty stations for sixty milliseconds, four frames."""
    folder = tmp_path / "station"
    folder.mkdir()
    config = check({"server": {"port": 0}, "store": {"folder": str(tmp_path / "state")}})
    daemon = Daemon(config, [StationConfig(id="station", folder=str(folder))])
    queries = (
        "delivery=conflate",
        "delivery=lossless&topics=game",
        "frames=finalized&rate=20",
        "station=nobody",
        "op=%",
    )
    games = [synthetic_match(seed=seed, frames=400, rollbacks=True, items=True) for seed in range(4)]
    games[1::2] = [data[:40_000] + bytes(3000) + data[43_000:] for data in games[1::2]]  # broken
    race = finished_games()["race.gci"]
    gc.collect()  # how they were made
    async with trio.open_nursery() as nursery:
        port = await nursery.start(lambda task_status: daemon.run(handle_signals=False, task_status=task_status))
        await _live(folder, port, queries, games[:2], race)
        gc.collect()
        gc.disable()
        try:
            await _live(folder, port, queries, games[2:], race)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            found = [type(thing) for thing in gc.garbage if type(thing).__module__.partition(".")[0] in _OF_CONNECTIONS]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        nursery.cancel_scope.cancel()
    assert not found


async def _live(folder: Path, port: int, queries: Sequence[str], games: Sequence[bytes], race: bytes) -> None:
    """Games are played, and clients come and go."""
    async with trio.open_nursery() as nursery:
        for path in ("/v1/stream", "/v1/events"):
            for query in queries:
                nursery.start_soon(_watch, port, f"{path}?station=station&{query}")
        nursery.start_soon(_watch, port, "/v1/stream", "12")  # refused
        for data in games:
            with (folder / f"{hash(data)}.slp").open("xb", buffering=0) as file:
                for at in range(0, len(data), 20_000):
                    file.write(data[at : at + 20_000])
                    await trio.sleep(0.02)
            (folder / f"{hash(data)}.gci").write_bytes(race[: 5000 + len(data) % 7])  # cut off
    await trio.sleep(3)  # until what is broken is let go


async def _watch(port: int, target: str, version: str = "13") -> None:
    request = UPGRADE.format(target=target, version=version)
    if "stream" not in target:
        request = GET.format(path=target, connection="keep-alive")
    stream = await trio.open_tcp_stream("127.0.0.1", port)
    with trio.move_on_after(0.5):
        await stream.send_all(request.encode())
        while await stream.receive_some(65536):
            pass
    stream.socket.close()
