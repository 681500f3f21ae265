"""A station in the event loop of the test, with short scan intervals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from slpstream.config import Watch
from slpstream.daemon.station import SharedServices, Station
from slpstream.store import GameIndex
from slpstream.system.metrics import Metrics

TIMEOUT_SECONDS = 30.0


@asynccontextmanager
async def running_station(
    folder: Path,
    *,
    stalled_seconds: float = 5.0,
    idle_seconds: float = 60.0,
    pace: bool = False,
    limiter: trio.CapacityLimiter | None = None,
    metrics: Metrics | None = None,
    index: GameIndex | None = None,
) -> AsyncIterator[Station]:
    """Run a station for the duration of the block, at most `TIMEOUT_SECONDS`. The block begins after the first scan."""
    station = Station(
        "setup",
        folder,
        name="",
        notifications=None,
        metrics=(metrics or Metrics()).station("setup"),
        watch=Watch(
            poll_seconds=0.01,
            scan_seconds=0.02,
            stalled_seconds=stalled_seconds,
            idle_seconds=idle_seconds,
            pace=pace,
        ),
        ring_bytes=1 << 20,
        shared=SharedServices(limiter or trio.CapacityLimiter(4), index),
    )
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(station.run)
            await until(lambda: station.channel.settled)
            yield station
            nursery.cancel_scope.cancel()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    while not condition():
        await trio.sleep(0.005)
