"""Notices if a client leaves while it waits for a response, for example a phone that waits for a change, or a slow
search.

Usually, only a write shows that a client is gone, but nothing is written while a response is waiting.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h11
import trio

from slpstream.web.connection import Connection

LEFT_SECONDS = 1.0
"""If a client only shuts down its sending side, this looks the same to us. Such a client gets its response within this
time."""
_MAX_AHEAD_BYTES = 16 * 1024
"""How many bytes of further requests we read in the meantime, at most. If there are more, we don't notice the end of
the connection."""


class Departures:
    """Watches the connections whose requests are being answered. This only works inside the block of `running`."""

    def __init__(self) -> None:
        self._watchers: trio.Nursery

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch connections during this block. When it ends, all of their requests must have been answered."""
        async with trio.open_nursery() as self._watchers:
            yield

    @asynccontextmanager
    async def watched(self, connection: Connection, http: h11.Connection) -> AsyncIterator[None]:
        """Cancel the block if the client leaves before its response begins.

        After that, the connection can't be used any more. The request must not have a body, because nothing else may
        read from the connection in the meantime.
        """
        watching, ended = trio.CancelScope(), trio.Event()
        with trio.CancelScope() as responding:
            self._watchers.start_soon(_watch, connection, http, responding, watching, ended)
            try:
                yield
            finally:
                watching.cancel()
                with trio.CancelScope(shield=True):
                    await ended.wait()  # two tasks cannot wait for one socket


async def _watch(
    connection: Connection,
    http: h11.Connection,
    responding: trio.CancelScope,
    watching: trio.CancelScope,
    ended: trio.Event,
) -> None:
    try:
        with watching:
            ahead = 0
            while data := await connection.read():
                http.receive_data(data)
                ahead += len(data)
                if ahead > _MAX_AHEAD_BYTES:
                    return
            if not connection.gone:
                await trio.sleep(LEFT_SECONDS)
            if http.our_state is h11.SEND_RESPONSE:
                connection.gone = True
                responding.cancel()
    finally:
        ended.set()
