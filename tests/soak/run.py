"""Run a soak: the daemon in its own process, setups and clients in this one, and regular samples."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import trio

from tests.daemons.process import running
from tests.soak.clients import Client
from tests.soak.curve import Sample, sample
from tests.soak.setups import Setup

_RING_BYTES = 128 * 1024
"""Small rings fill soon, so that they do not count as growth."""
_STOP_SECONDS = 0.3
_MAX_STOP_INTERVAL_SECONDS = 20.0


class SoakResult(NamedTuple):
    """The samples of a soak, counts of events, and the end of the daemon."""

    samples: list[Sample]
    counts: dict[str, int]
    exit_code: int
    tracebacks: list[str]


def soak(
    folder: Path,
    *,
    seconds: float,
    stations: int,
    clients: int,
    sample_seconds: float,
    speed: float = 1,
    on_sample: Callable[[Sample], None] = lambda sample: None,
) -> SoakResult:
    """Run a soak, with games at `speed` times real time. Raises `AssertionError` if the daemon dies."""
    folders = [folder / f"s{number:02}" for number in range(stations)]
    for station_folder in folders:
        station_folder.mkdir()
    counts: dict[str, int] = {}
    samples: list[Sample] = []
    config = folder / "slpstream.toml"
    config.write_text(f"[stream]\nring_bytes = {_RING_BYTES}\n")
    with running(*folders, arguments=("--config", str(config))) as daemon:
        daemon.wait_ready()
        pid = daemon.process.pid
        port = int(daemon.url.rpartition(":")[2])

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                for number, station_folder in enumerate(folders):
                    nursery.start_soon(Setup(station_folder, number, counts, speed).run)
                for number in range(clients):
                    nursery.start_soon(Client(port, stations, number, counts).run)
                nursery.start_soon(_suspend_repeatedly)
                began = trio.current_time()
                while (elapsed := trio.current_time() - began) < seconds:
                    await trio.sleep(sample_seconds)
                    assert daemon.process.poll() is None, daemon.lines[-20:]
                    metrics = await trio.to_thread.run_sync(daemon.text, "/metrics")
                    samples.append(sample(pid, elapsed, metrics))
                    on_sample(samples[-1])
                nursery.cancel_scope.cancel()

        async def _suspend_repeatedly() -> None:
            while True:
                await trio.sleep(min(_MAX_STOP_INTERVAL_SECONDS, seconds / 3))
                daemon.process.send_signal(signal.SIGSTOP)
                await trio.sleep(_STOP_SECONDS)
                daemon.process.send_signal(signal.SIGCONT)
                counts["suspended"] = counts.get("suspended", 0) + 1

        trio.run(main)
        code = daemon.terminate()
        tracebacks = [str(line["text"]) for line in daemon.lines if line.get("event") == "not json"]
    return SoakResult(samples, counts, code, tracebacks)
