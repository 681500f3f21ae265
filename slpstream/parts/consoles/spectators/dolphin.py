"""Receive games from Dolphin's spectator server, which sends JSON texts in reliable ENet packets.

A game arrives as `game_event` messages, and each of them has the cursor of the next one. If you join in the middle of a
game, you get it from its beginning, and if you join at the menus, you get the next game. Cursors count messages and not
bytes. When Dolphin is started again, they begin again too, so all they can tell us is whether a connection continues
the previous one. To find out whether a game was already recorded, the recorder compares the bytes themselves. We ignore
events from the menus.

ENet is a C library, and you need the extra `dolphin` to get it. Its socket never blocks, so we let trio wait for it,
and poll the library in between. As long as a packet is waiting in the library, it isn't acknowledged. This means that
if we do not process packets, Dolphin stops sending them.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Never

import msgspec
import trio

from slpstream.model.errors import FieldError
from slpstream.model.foreign_data import read_json
from slpstream.parts.consoles.reconnect import ConnectionObserver, Reconnector
from slpstream.parts.consoles.recorder import Recorder
from slpstream.parts.consoles.session import BytesLost, EventBytes, HandshakeDone, Idle, SessionEvent
from slpstream.parts.consoles.turns import Turns
from slpstream.parts.consoles.wire import NO_TOKEN

_CHANNELS = 3
_CONNECT_DATA = 1337
"""The connection data that other spectators send. No known server reads it."""
_CONNECT_SECONDS = 5.0
_IDLE_SECONDS = 0.3
"""A game that has ended is closed after this long without data."""
_POLL_SECONDS = 0.02
"""How often we poll, so that acknowledgements and pings are sent in time."""
_MAX_PACKET_BYTES = 1 << 20
"""This is far above the size of Dolphin's packets. A packet is decoded in one go, and the event loop has to wait for
this."""


class DolphinSession:
    """A session with one Dolphin, which can go over several connections.

    You put in packets, and get out session events.
    """

    def __init__(self) -> None:
        self.cursor = 0
        self.token = NO_TOKEN
        self.handshake_done = False
        """Whether Dolphin has answered on this connection."""
        self._ever_connected = False

    def connect(self) -> bytes:
        """Begin a connection. Returns the packet that you have to send first."""
        self.handshake_done = False
        return msgspec.json.encode({"type": "connect_request", "cursor": self.cursor})

    def receive(self, packet: bytes) -> list[SessionEvent]:
        """Take the next packet. Raises `FormatError` if there's something wrong with it."""
        if len(packet) > _MAX_PACKET_BYTES:
            raise FieldError(f"a packet of {len(packet)} bytes is too large", offset=0)
        message = read_json(
            packet, dict[str, Any], lambda what: FieldError(f"a packet is not a JSON object: {what}", offset=0)
        )
        receive = self._RECEIVES.get(str(message.get("type")))
        return [] if receive is None else receive(self, message)

    def _connect_reply(self, message: Mapping[str, Any]) -> list[SessionEvent]:
        if self.handshake_done:
            raise FieldError("a second reply to our request", offset=0)
        cursor = _cursor(message, "cursor")
        restarted = not self._ever_connected or cursor is None or cursor != self.cursor
        self.handshake_done = self._ever_connected = True
        self.cursor = cursor or 0
        return [HandshakeDone(str(message.get("nick", "")), str(message.get("version", "")), restarted)]

    def _game_event(self, message: Mapping[str, Any]) -> list[SessionEvent]:
        if not self.handshake_done:
            raise FieldError("a game event before the reply to our request", offset=0)
        cursor, next_cursor = _cursor(message, "cursor"), _cursor(message, "next_cursor")
        if next_cursor is not None and next_cursor <= self.cursor:
            return []  # received already
        try:
            data = base64.b64decode(message.get("payload", ""), validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise FieldError(f"a payload is not base64: {error}", offset=0) from error
        lost = cursor is not None and cursor > self.cursor
        self.cursor = self.cursor + 1 if next_cursor is None else next_cursor
        received = EventBytes(data, None)
        return [BytesLost(None), received] if lost else [received]

    def _boundary(self, message: Mapping[str, Any]) -> list[SessionEvent]:
        # only some versions of Dolphin count these messages
        next_cursor = _cursor(message, "next_cursor")
        if next_cursor is not None:
            self.cursor = next_cursor
        return [Idle()] if message["type"] == "end_game" else []

    _RECEIVES: Mapping[str, Callable[[DolphinSession, Mapping[str, Any]], list[SessionEvent]]] = {
        "connect_reply": _connect_reply,
        "game_event": _game_event,
        "start_game": _boundary,
        "end_game": _boundary,
    }


def _cursor(message: Mapping[str, Any], key: str) -> int | None:
    value = message.get(key)
    return value if type(value) is int and 0 <= value < 1 << 63 else None


class Connection:
    """An ENet connection to one peer."""

    def __init__(self, host: Any, peer: Any, enet: Any) -> None:
        self._host = host
        self._peer = peer
        self._enet = enet

    def send(self, packet: bytes) -> None:
        """Send a reliable packet. There is only one channel that we use."""
        self._peer.send(0, self._enet.Packet(packet, self._enet.PACKET_FLAG_RELIABLE))

    async def next(self) -> bytes | None:
        """Wait for the next packet. When the connection is established, this returns `None` once.

        Raises `BrokenResourceError` if the other end has closed the connection.
        """
        while True:
            await trio.lowlevel.checkpoint_if_cancelled()  # waiting packets must not delay a deadline
            event = self._host.service(0)
            if event.type == self._enet.EVENT_TYPE_RECEIVE:
                return bytes(event.packet.data)
            if event.type == self._enet.EVENT_TYPE_CONNECT:
                return None
            if event.type == self._enet.EVENT_TYPE_DISCONNECT:
                raise trio.BrokenResourceError("the other end has closed the connection")
            with trio.move_on_after(_POLL_SECONDS):
                await trio.lowlevel.wait_readable(self._host.socket.fileno())

    def close(self) -> None:
        """Close the connection. If possible, tell the other end about it."""
        trio.lowlevel.notify_closing(self._host.socket.fileno())
        self._peer.disconnect_now()
        self._host.flush()


@asynccontextmanager
async def open_connection(host: str, port: int) -> AsyncIterator[Connection]:
    """Start an ENet connection. It isn't established before the first `receive` returns.

    Raises `OSError` if the name cannot be resolved.
    """
    enet = importlib.import_module("enet")
    [(*_, address), *_] = await trio.socket.getaddrinfo(host, port, trio.socket.AF_INET, trio.socket.SOCK_DGRAM)
    client = enet.Host(None, 1, _CHANNELS, 0, 0)
    peer = client.connect(enet.Address(str(address[0]).encode(), port), _CHANNELS, _CONNECT_DATA)
    connection = Connection(client, peer, enet)
    try:
        yield connection
    finally:
        connection.close()


class DolphinSource:
    """Records one Dolphin. You should call `run` once. It only ends if it is cancelled."""

    def __init__(
        self,
        host: str,
        port: int,
        recorder: Recorder,
        observer: ConnectionObserver,
        *,
        rng: random.Random | None = None,
        turns: Turns | None = None,
    ) -> None:
        self._host, self._port = host, port
        self._recorder = recorder
        self._session = DolphinSession()
        self._reconnector = Reconnector(recorder, observer, rng, turns)

    async def run(self) -> None:
        """Receive until cancelled."""
        await self._recorder.prepare()
        await self._reconnector.run(self._session, self._run_connection)

    async def _run_connection(self) -> Never:
        session = self._session
        async with open_connection(self._host, self._port) as connection:
            # No timeout cancels `Reconnector.receive`, which must finish once the session has counted a packet.
            deadline = trio.current_time() + _CONNECT_SECONDS
            with trio.fail_at(deadline):
                while await connection.next() is not None:
                    pass
                connection.send(session.connect())
            while not session.handshake_done:
                with trio.fail_at(deadline):
                    packet = await connection.next()
                if packet is not None:
                    await self._reconnector.receive(session, packet)
            while True:  # ENet itself notices when the other end is gone
                with trio.move_on_after(_IDLE_SECONDS) as idle:
                    packet = await connection.next()
                if idle.cancelled_caught:
                    self._recorder.close_ended_game()
                elif packet is not None:
                    await self._reconnector.receive(session, packet)
