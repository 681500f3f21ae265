"""One station, many clients: served as a console would, and as bare events like the launcher's relay.

A real console holds one client; this one holds as many as are allowed. Each client is a task of its own that reads
from the feed at its own pace, so a slow one delays nobody: it falls behind the memory of the feed and reads on from
the file.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import trio

from slpstream.model.errors import FormatError
from slpstream.sources.console import wire
from slpstream.sources.console.feed import RelayFeed
from slpstream.system.logs import get_logger

CONSOLE_VERSION = "1.9.0"
"""The version of Nintendont whose protocol this is; clients are told it as the console's."""

_SEND_SECONDS = 30.0
"""A client that does not take one message in this time is gone."""
_MAX_TOKENS = 1024
_MAX_HANDSHAKE_BYTES = 4096
_READ_BYTES = 4096
_GONE = (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError)


class RelayServer:
    """Serves one station. `serve` and `serve_raw` handle one connection each."""

    def __init__(self, feed: RelayFeed, nick: str, max_clients: int) -> None:
        """`nick` is the console's name, as clients are told it."""
        self._feed = feed
        self._nick = nick
        self._max_clients = max_clients
        self._tokens: OrderedDict[int, None] = OrderedDict()
        self._log = get_logger()
        self.clients = 0
        """Connections that are open."""

    async def serve(self, stream: trio.SocketStream) -> None:
        """A client that speaks the protocol of consoles, until it leaves."""
        await self._hold(stream, self._converse)

    async def serve_raw(self, stream: trio.SocketStream) -> None:
        """A client that takes bare events, until it leaves."""
        await self._hold(stream, self._converse_raw)

    async def _hold(self, stream: trio.SocketStream, serve: Callable[[trio.SocketStream], Awaitable[None]]) -> None:
        async with stream:
            if self.clients >= self._max_clients:
                self._log.warning("relay client refused", clients=self.clients)
                return
            self.clients += 1
            try:
                await serve(stream)
            except _GONE:
                self._log.debug("relay client gone")
            except FormatError as error:
                self._log.warning("relay client refused", what=str(error))
            finally:
                self.clients -= 1

    async def _converse(self, stream: trio.SocketStream) -> None:
        with trio.fail_after(wire.HANDSHAKE_SECONDS):
            hello = await _read_handshake(stream)
        if hello is None:
            return
        token, cursor = hello.token, hello.cursor
        if token not in self._tokens:
            token = secrets.randbelow((1 << 32) - 1) + 1
            cursor = self._feed.start_cursor
        elif not self._feed.has(cursor):
            cursor = self._feed.start_cursor
        self._tokens[token] = None
        self._tokens.move_to_end(token)
        while len(self._tokens) > _MAX_TOKENS:
            self._tokens.popitem(last=False)
        answer = wire.ConsoleHandshake(self._nick, CONSOLE_VERSION, token, cursor)
        await _send(stream, wire.console_handshake(answer))
        await _while_it_is_there(stream, partial(self._send_messages, stream, cursor))

    async def _send_messages(self, stream: trio.SocketStream, cursor: int) -> None:
        feed = self._feed
        forced = False
        while True:
            data = await feed.read(cursor, wire.MAX_REPLAY_BYTES)
            if data is None:
                # What comes next is the only place that is surely a boundary.
                cursor, forced = feed.end_cursor, True
            elif data:
                message = wire.Replay(cursor, cursor + len(data), forced, data)
                await _send(stream, wire.replay(message))
                cursor, forced = message.next_cursor, False
            else:
                with trio.move_on_after(wire.KEEP_ALIVE_SECONDS) as quiet:
                    await feed.changed()
                if quiet.cancelled_caught:
                    await _send(stream, wire.KEEP_ALIVE_MESSAGE)

    async def _converse_raw(self, stream: trio.SocketStream) -> None:
        await _while_it_is_there(stream, partial(self._send_raw, stream))

    async def _send_raw(self, stream: trio.SocketStream) -> None:
        feed = self._feed
        cursor = feed.start_cursor
        while True:
            data = await feed.read(cursor, wire.MAX_REPLAY_BYTES)
            if data is None:  # bare events have no way to say that some are missing
                return
            if data:
                await _send(stream, data)
                cursor += len(data)
            else:
                await feed.changed()


async def _send(stream: trio.SocketStream, data: bytes) -> None:
    with trio.fail_after(_SEND_SECONDS):
        await stream.send_all(data)


async def _read_handshake(stream: trio.SocketStream) -> wire.ClientHandshake | None:
    """The first message of a client; `None` when it left. Raises `FormatError`."""
    messages = wire.Messages(_MAX_HANDSHAKE_BYTES)
    while True:
        data = await stream.receive_some(_READ_BYTES)
        if not data:
            return None
        for offset, body in messages.feed(bytes(data)):
            return wire.read_client_handshake(body, offset)


async def _while_it_is_there(stream: trio.SocketStream, send: Callable[[], Awaitable[None]]) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_until_it_leaves, stream, nursery.cancel_scope)
        with suppress(*_GONE):
            await send()
        nursery.cancel_scope.cancel()


async def _until_it_leaves(stream: trio.SocketStream, scope: trio.CancelScope) -> None:
    """What a client says after its handshake means nothing, but it must be read to see it leave."""
    with suppress(*_GONE):
        while await stream.receive_some(_READ_BYTES):
            pass
    scope.cancel()
