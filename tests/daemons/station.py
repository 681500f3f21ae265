"""A station in the event loop of the test, with short scan intervals."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from slpstream.config import Watch
from slpstream.daemon.station.context import StationContext, Timing
from slpstream.daemon.station.station import Station
from slpstream.model.messages import START, LogMessage
from slpstream.store import GameIndex
from slpstream.stream.game import Game
from slpstream.stream.log_consumer import LogConsumer
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.metrics import Metrics
from slpstream.system.ticks import SharedTicks

TIMEOUT_SECONDS = 60.0
QUICK = Timing(tick_seconds=0.01, release_seconds=0.1, played_seconds=0.05, retry_seconds=0.2, stable_seconds=0.5)
"""Short intervals for the timed work of a station."""


def new_context(folder: Path, watch: Watch | None = None, index: GameIndex | None = None) -> StationContext:
    """The context of a station that keeps no messages in memory."""
    return StationContext(
        "setup",
        folder,
        watch or Watch(),
        ring_bytes=1,
        metrics=Metrics().station("setup"),
        limiter=trio.CapacityLimiter(4),
        index=index,
    )


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
    errors: InternalErrors | None = None,
    timing: Timing = QUICK,
    ticks: SharedTicks | None = None,
) -> AsyncIterator[Station]:
    """Run a station for the duration of the block, at most `TIMEOUT_SECONDS`. The block begins after the first scan."""
    watch = Watch(
        poll_seconds=0.01, scan_seconds=0.02, stalled_seconds=stalled_seconds, idle_seconds=idle_seconds, pace=pace
    )
    context = StationContext(
        "setup",
        folder,
        watch,
        ring_bytes=1 << 20,
        metrics=(metrics or Metrics()).station("setup"),
        limiter=limiter or trio.CapacityLimiter(4),
        index=index,
        timing=timing,
        errors=errors or InternalErrors(),
        ticks=ticks or SharedTicks(),
    )
    station = Station(context)
    with trio.fail_after(TIMEOUT_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(station.run)
            await until(lambda: station.channel.settled)
            yield station
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def log_of(station: Station) -> AsyncIterator[list[bytes]]:
    """The messages that an output of the station has received."""
    received: list[bytes] = []

    async def consume() -> None:
        async for batch in LogConsumer(station.channel):
            received.extend(message.json() for message in batch.messages)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(consume)
        yield received
        nursery.cancel_scope.cancel()


async def whole_log(game: Game) -> list[LogMessage]:
    """The live log of a game, read back from its file."""
    read: list[LogMessage] = []
    with trio.fail_after(TIMEOUT_SECONDS):
        while more := await game.log_reader.messages("live", read[-1].position if read else START):
            read += more
    return read


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition is true."""
    while not condition():
        await trio.sleep(0.005)
