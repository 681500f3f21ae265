"""A Redis sink with fake stations, and queries for the messages in the broker.

The broker is real, so the tests must not depend on timing: they wait for a condition (`until`) and then check the
result.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from slpstream.model.messages import FramesMode
from slpstream.parts.fanout.connection import Client, address_of, connected
from slpstream.parts.fanout.sink import RedisSink
from slpstream.parts.fanout.streams import FIELD, StationKeys
from tests.stream.fakes import FakeLog, FakeStation, lines

TIMEOUT_SECONDS = 30.0


class Ingest:
    """A sink that can be stopped at any moment and restarted."""

    def __init__(self, url: str, event: str, *stations: FakeStation, **options: Any) -> None:
        self.stations = {station.channel.station: station.channel for station in stations}
        self.sent = 0
        self.reconnects = 0
        self._url = url
        self._event = event
        self._options = {"max_messages": 1_000_000, "max_age_seconds": 0.0, **options}
        self._scope: trio.CancelScope | None = None
        self.sink = self._make()

    def _make(self) -> RedisSink:
        return RedisSink(
            address_of(self._url),
            self._event,
            lambda: self.stations,
            on_sent=self._count,
            on_reconnect=self._count_reconnect,
            **self._options,
        )

    def _count(self, station: str, messages: int) -> None:
        self.sent += messages

    def _count_reconnect(self) -> None:
        self.reconnects += 1

    @property
    def is_running(self) -> bool:
        return self._scope is not None

    def start(self, nursery: trio.Nursery) -> None:
        """Start a new sink without any state, like a new process."""
        self._scope = trio.CancelScope()
        self.sink = self._make()
        nursery.start_soon(self._run, self._scope)

    async def started(self) -> None:
        """Wait until the sink reads all logs."""
        await until(lambda: self.sink.begun)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[trio.Nursery]:
        """Run the sink for the duration of the block. Yields a nursery in which it can be restarted."""
        async with trio.open_nursery() as nursery:
            self.start(nursery)
            await self.started()
            yield nursery
            nursery.cancel_scope.cancel()

    def stop(self) -> None:
        assert self._scope is not None
        self._scope.cancel()
        self._scope = None

    async def _run(self, scope: trio.CancelScope) -> None:
        with scope:
            await self.sink.run()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    with trio.fail_after(TIMEOUT_SECONDS):
        while not condition():
            await trio.sleep(0.005)


@asynccontextmanager
async def broker_client(url: str) -> AsyncIterator[Client]:
    """A client for the queries of a test."""
    async with connected(address_of(url)) as client:
        yield client


async def stored(client: Client, event: str, station: str, mode: FramesMode = "live") -> list[bytes]:
    """All lines of a log in the broker."""
    entries = await client.xrange(StationKeys(event, station).stream(mode))
    found = [entry.field_values[FIELD] for entry in entries]
    return [line if isinstance(line, bytes) else line.encode() for line in found]


async def until_stored(client: Client, event: str, counts: Mapping[tuple[str, FramesMode], int]) -> None:
    """Wait until each log, given by station and mode, has at least this number of messages."""
    with trio.fail_after(TIMEOUT_SECONDS):
        for (station, mode), count in counts.items():
            while await client.xlen(StationKeys(event, station).stream(mode)) < count:
                await trio.sleep(0.01)


def of_game(found: list[bytes], log: FakeLog) -> list[bytes]:
    """The lines of one game."""
    return [line for line in found if b'"gameId":"%b"' % log.game_id.encode() in line]


def expected(log: FakeLog, station: str = "main", mode: FramesMode = "live") -> list[bytes]:
    """The expected lines of one game in the broker."""
    return lines(log, station, mode=mode)
