"""Serves one station to many clients.

They can use the protocol of consoles, or get raw events, like from the launcher's relay.

A real console only takes one client, but this server takes as many as the configuration allows. Each client has its own
task, which reads from the feed at its own pace. A slow client doesn't delay any others. When its next bytes are no
longer in the memory of the feed, it continues from the file.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import trio

from slpstream.model.errors import FormatError
from slpstream.parts.consoles import wire
from slpstream.parts.consoles.feed import RelayFeed
from slpstream.system.logs import get_logger

CONSOLE_VERSION = "1.9.0"
"""The version of Nintendont that this protocol belongs to. Clients receive it as the version of the console."""

_SEND_SECONDS = 30.0
"""If a client doesn't take a message within this time, it counts as gone."""
_MAX_TOKENS = 1024
_MAX_HANDSHAKE_BYTES = 4096
_READ_BYTES = 4096
_GONE = (trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError)


class RelayServer:
    """The server of one station. Each call of `serve` and `serve_raw` handles one connection."""

    def __init__(self, feed: RelayFeed, nick: str, max_clients: int) -> None:
        """Clients receive `nick` as the name of the console."""
        self._feed = feed
        self._nick = nick
        self._max_clients = max_clients
        self._tokens: OrderedDict[int, None] = OrderedDict()
        self._log = get_logger()
        self.clients = 0
        """The number of open connections."""

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve a client in the protocol of consoles, until it leaves."""
        await self._accept(stream, self._serve_messages)

    async def serve_raw(self, stream: trio.SocketStream) -> None:
        """Serve raw events to a client, until it leaves."""
        await self._accept(stream, self._serve_raw_events)

    async def _accept(self, stream: trio.SocketStream, serve: Callable[[trio.SocketStream], Awaitable[None]]) -> None:
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

    async def _serve_messages(self, stream: trio.SocketStream) -> None:
        with trio.fail_after(wire.HANDSHAKE_SECONDS):
            handshake = await _read_handshake(stream)
        if handshake is None:
            return
        token, cursor = handshake.token, handshake.cursor
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
        await _send(stream, wire.encode_console_handshake(answer))
        await _send_until_closed(stream, partial(self._send_messages, stream, cursor))

    async def _send_messages(self, stream: trio.SocketStream, cursor: int) -> None:
        feed = self._feed
        forced = False
        while True:
            data = await feed.read(cursor, wire.MAX_REPLAY_BYTES)
            if data is None:
                # The end of the stream is the only position that is certain to be an event boundary.
                cursor, forced = feed.end_cursor, True
            elif data:
                message = wire.Replay(cursor, cursor + len(data), forced, data)
                await _send(stream, wire.encode_replay(message))
                cursor, forced = message.next_cursor, False
            else:
                with trio.move_on_after(wire.KEEP_ALIVE_SECONDS) as idle:
                    await feed.changed()
                if idle.cancelled_caught:
                    await _send(stream, wire.KEEP_ALIVE_MESSAGE)

    async def _serve_raw_events(self, stream: trio.SocketStream) -> None:
        await _send_until_closed(stream, partial(self._send_raw_events, stream))

    async def _send_raw_events(self, stream: trio.SocketStream) -> None:
        feed = self._feed
        cursor = feed.start_cursor
        while True:
            data = await feed.read(cursor, wire.MAX_REPLAY_BYTES)
            if data is None:  # raw events cannot mark a gap
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
    """Read the first message of a client, or return `None` if it leaves without one.

    Raises `FormatError` if it is invalid.
    """
    messages = wire.MessageFramer(_MAX_HANDSHAKE_BYTES)
    while True:
        data = await stream.receive_some(_READ_BYTES)
        if not data:
            return None
        for offset, body in messages.feed(bytes(data)):
            return wire.decode_client_handshake(body, offset)


async def _send_until_closed(stream: trio.SocketStream, send: Callable[[], Awaitable[None]]) -> None:
    """Run `send` until the client closes the connection."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cancel_when_closed, stream, nursery.cancel_scope)
        with suppress(*_GONE):
            await send()
        nursery.cancel_scope.cancel()


async def _cancel_when_closed(stream: trio.SocketStream, scope: trio.CancelScope) -> None:
    # Anything that a client sends after its handshake is ignored, but only reading shows that it has left.
    with suppress(*_GONE):
        while await stream.receive_some(_READ_BYTES):
            pass
    scope.cancel()
