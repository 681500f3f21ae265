"""The short form of the soak, and fifty times start and stop: what was held is given back."""

from __future__ import annotations

import gc
import os
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
import trio

from slpstream.config import Config, StationConfig, check
from slpstream.daemon import Daemon
from slpstream.simulate.match import synthetic_match
from tests.soak.curve import table, verdict
from tests.soak.run import soak

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
