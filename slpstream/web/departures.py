"""Notices clients that leave while they wait for a response: a phone that waits for a change, a slow search.

Otherwise only a write shows that a client is gone, and a waiting response writes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h11
import trio

from slpstream.web.connection import Connection

LEFT_SECONDS = 1.0
"""A client that only shuts down its sending side, which looks the same, gets its response within this time."""
_MAX_AHEAD_BYTES = 16 * 1024
"""Maximum number of bytes of further requests that are read meanwhile. After more, the end of the connection goes
unnoticed."""


class Departures:
    """Watches connections whose request is being answered, while the block of `running` runs."""

    def __init__(self) -> None:
        self._watchers: trio.Nursery

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Watch connections during the block. Their requests must have been answered when the block ends."""
        async with trio.open_nursery() as self._watchers:
            yield

    @asynccontextmanager
    async def watched(self, connection: Connection, http: h11.Connection) -> AsyncIterator[None]:
        """Cancel the block if the client leaves before its response begins. The connection is then gone.

        The request must have no body: nothing else may read from the connection meanwhile.
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
