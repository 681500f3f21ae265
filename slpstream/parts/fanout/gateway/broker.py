"""Send queries to the broker. If the connection is lost, a query waits until it is back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import trio

from slpstream.parts.fanout.connection import BROKER_ERRORS, Client, StreamEntry, entries_of
from slpstream.system.changing import Changing

_RETRY_SECONDS = 0.1

T = TypeVar("T")


class Broker:
    """The broker, which you can use without caring about the connection. Over time, this can be a different one."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._connected = Changing()

    @asynccontextmanager
    async def using(self, client: Client) -> AsyncIterator[None]:
        """A context manager that makes everyone use this connection until the end of the block."""
        self._client = client
        self._connected.notify()
        try:
            yield
        finally:
            self._client = None

    async def ask(self, query: Callable[[Client], Awaitable[T]]) -> T:
        """Return the result of the given query. If the connection is lost, it is sent again."""
        while True:
            client = self._client
            if client is None:
                await self._connected.changed()
                continue
            try:
                return await query(client)
            except BROKER_ERRORS:
                await trio.sleep(_RETRY_SECONDS)
            except RuntimeError:
                # coredis raises it in tasks that wait for a connection of a pool that it has closed.
                if self._client is client:
                    raise

    async def first(self, stream: str) -> StreamEntry | None:
        """Return the oldest entry of the given stream."""
        found = entries_of(await self.ask(lambda client: client.xrange(stream, count=1)))
        return found[0] if found else None

    async def last(self, stream: str) -> StreamEntry | None:
        """Return the newest entry of the given stream."""
        found = entries_of(await self.ask(lambda client: client.xrevrange(stream, count=1)))
        return found[0] if found else None
