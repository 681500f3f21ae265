"""Gateways without a web server, and subscribers that move between them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from slpstream.model.messages import FramesMode
from slpstream.parts.fanout.connection import address_of
from slpstream.parts.fanout.gateway.feed import Feed
from slpstream.stream.channel import Hub
from slpstream.system.internal_errors import InternalErrors
from tests.parts.fanout.ingest import until
from tests.stream.fakes import Client, LineEncoding, subscription

EVERYTHING: dict[str, Any] = {"stations": ["main"], "delivery": "lossless"}


class Gateway:
    """A feed and its hub, without a web server."""

    def __init__(
        self, url: str, event: str, ring_bytes: int = 1 << 20, *, errors: InternalErrors | None = None
    ) -> None:
        self.hub = Hub()
        self.reconnects = 0
        self.received = 0
        self.feed = Feed(
            address_of(url),
            event,
            self.hub,
            ring_bytes=ring_bytes,
            on_received=self._count,
            on_reconnect=self._count_reconnect,
            errors=errors,
        )

    def _count(self, messages: int) -> None:
        self.received += messages

    def _count_reconnect(self) -> None:
        self.reconnects += 1

    @asynccontextmanager
    async def running(self, *stations: str) -> AsyncIterator[Gateway]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.feed.run)
            await until(lambda: set(stations) <= set(self.hub.channels))
            yield self
            nursery.cancel_scope.cancel()


class Follower:
    """A subscriber that connects repeatedly and keeps all messages."""

    def __init__(self, mode: FramesMode = "live") -> None:
        self.lines: list[bytes] = []
        self.mode: FramesMode = mode
        self.cursor = "start"

    @asynccontextmanager
    async def at(self, gateway: Gateway) -> AsyncIterator[Client]:
        """Connect to a gateway for the duration of the block."""
        client = Client(encoding=LineEncoding())
        requested = subscription(**EVERYTHING, frames=self.mode, cursor=self.cursor)
        async with client.subscribed(gateway.hub, requested):
            try:
                yield client
            finally:
                self.lines += client.log
                if client.log:
                    self.cursor = client.cursor()


def block(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> trio.Event:
    """Keep the station `main` of a gateway from reading entries until the event is set."""
    station, gate = gateway.feed.stations["main"], trio.Event()
    take = station.take

    async def gated(mode: FramesMode, entries: Any) -> int:
        await gate.wait()
        return await take(mode, entries)

    monkeypatch.setattr(station, "take", gated)
    return gate
