"""The broker as a gateway asks it: whoever asks while it is away waits until it is back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import trio

from slpstream.outputs.redis.connection import BROKER_ERRORS, Client, Entry, entries_of

_AGAIN_SECONDS = 0.1

T = TypeVar("T")


class Broker:
    """The connection of the moment."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._changed = trio.Event()

    @asynccontextmanager
    async def using(self, client: Client) -> AsyncIterator[None]:
        """As long as this connection is there."""
        self._client = client
        changed, self._changed = self._changed, trio.Event()
        changed.set()
        try:
            yield
        finally:
            self._client = None

    async def ask(self, question: Callable[[Client], Awaitable[T]]) -> T:
        """The answer to a question that may be asked again."""
        while True:
            client = self._client
            if client is None:
                await self._changed.wait()
                continue
            try:
                return await question(client)
            except BROKER_ERRORS:
                await trio.sleep(_AGAIN_SECONDS)
            except RuntimeError:
                if self._client is client:
                    raise
                # What coredis says to who still waited for one of its connections when it has closed them all.

    async def first(self, stream: str) -> Entry | None:
        """The oldest entry of a stream."""
        found = entries_of(await self.ask(lambda client: client.xrange(stream, count=1)))
        return found[0] if found else None

    async def last(self, stream: str) -> Entry | None:
        """The newest entry of a stream."""
        found = entries_of(await self.ask(lambda client: client.xrevrange(stream, count=1)))
        return found[0] if found else None
