"""Dolphin's spectator server as a source: JSON texts in reliable ENet packets.

Dolphin says what a game does in `game_event`s, each with the cursor of the next one; to who joins in the middle of a
game it says the game from its beginning, and to who joins at menus only the next. Cursors count messages, not bytes,
and begin anew when Dolphin is started again, so they tell only whether a connection goes on where the one before
stopped; what was recorded already is recognised by the recorder, byte for byte. What is at menus is of no use here.

ENet is a C library and needs the extra `dolphin`. Its socket never blocks: trio waits for it, and the library is
asked in between.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import importlib.util
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Never

import msgspec
import trio

from slpstream.model.errors import FieldError
from slpstream.sources.console.reconnect import Attempts, Watcher
from slpstream.sources.console.recorder import Recorder
from slpstream.sources.console.session import Arrived, Greeted, Lost, Quiet, Said

PORT = 51441
PLAYED_ON = "dolphin"

_CHANNELS = 3
_CONNECT_DATA = 1337
"""What other spectators send with the connection; nothing is known to read it."""
_CONNECT_SECONDS = 5.0
_REST_SECONDS = 0.3
_TURN_SECONDS = 0.02
"""ENet has times to keep, acknowledgements and pings, and must be asked so often."""
_MAX_PACKET_BYTES = 16 << 20


def is_available() -> bool:
    """Whether the extra is installed."""
    return importlib.util.find_spec("enet") is not None


class DolphinSession:
    """What is said on connections to one Dolphin. Sans-IO: a packet in, what it means out."""

    def __init__(self) -> None:
        self.cursor = 0
        self.greeted = False
        self._was_greeted = False

    def connect(self) -> bytes:
        """A connection begins: the packet to send first."""
        self.greeted = False
        return msgspec.json.encode({"type": "connect_request", "cursor": self.cursor})

    def receive(self, packet: bytes) -> list[Said]:
        """The next packet. Raises `FormatError`."""
        if len(packet) > _MAX_PACKET_BYTES:
            raise FieldError(f"a packet of {len(packet)} bytes", offset=0)
        try:
            message = msgspec.json.decode(packet)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FieldError(f"a packet that is no JSON: {error}", offset=0) from error
        if not isinstance(message, dict):
            raise FieldError("a packet that is no object", offset=0)
        receive = self._RECEIVES.get(str(message.get("type")))
        return [] if receive is None else receive(self, message)

    def _connect_reply(self, message: Mapping[str, Any]) -> list[Said]:
        cursor = _cursor(message, "cursor")
        restarts = not self._was_greeted or cursor is None or cursor != self.cursor
        self.greeted = self._was_greeted = True
        self.cursor = cursor or 0
        return [Greeted(str(message.get("nick", "")), str(message.get("version", "")), restarts)]

    def _game_event(self, message: Mapping[str, Any]) -> list[Said]:
        if not self.greeted:
            raise FieldError("a game event before the reply to our request", offset=0)
        cursor, next_cursor = _cursor(message, "cursor"), _cursor(message, "next_cursor")
        if next_cursor is not None and next_cursor <= self.cursor:
            return []  # said already
        try:
            data = base64.b64decode(message.get("payload", ""), validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise FieldError(f"a payload that is no base64: {error}", offset=0) from error
        lost = cursor is not None and cursor > self.cursor
        self.cursor = self.cursor + 1 if next_cursor is None else next_cursor
        arrived = Arrived(data, None)
        return [Lost(None), arrived] if lost else [arrived]

    def _boundary(self, message: Mapping[str, Any]) -> list[Said]:
        """Some versions count it, some do not: the cursor is taken where there is one."""
        next_cursor = _cursor(message, "next_cursor")
        if next_cursor is not None:
            self.cursor = next_cursor
        return [Quiet()] if message["type"] == "end_game" else []

    _RECEIVES: Mapping[str, Callable[[DolphinSession, Mapping[str, Any]], list[Said]]] = {
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
        """A reliable packet on the one channel that is used."""
        self._peer.send(0, self._enet.Packet(packet, self._enet.PACKET_FLAG_RELIABLE))

    async def next(self) -> bytes | None:
        """The next packet, `None` for the connection itself. Raises `BrokenResourceError` when the other end is
        gone."""
        while True:
            event = self._host.service(0)
            if event.type == self._enet.EVENT_TYPE_RECEIVE:
                return bytes(event.packet.data)
            if event.type == self._enet.EVENT_TYPE_CONNECT:
                return None
            if event.type == self._enet.EVENT_TYPE_DISCONNECT:
                raise trio.BrokenResourceError("the other end has closed the connection")
            with trio.move_on_after(_TURN_SECONDS):
                await trio.lowlevel.wait_readable(self._host.socket.fileno())

    def close(self) -> None:
        """Tells the other end, if it can still be told."""
        trio.lowlevel.notify_closing(self._host.socket.fileno())
        self._peer.disconnect_now()
        self._host.flush()


@asynccontextmanager
async def open_connection(host: str, port: int) -> AsyncIterator[Connection]:
    """An ENet connection that is being made. Raises `OSError` for a name that leads nowhere."""
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
    """One Dolphin. `run` it once; it ends only by cancellation."""

    def __init__(
        self, host: str, port: int, recorder: Recorder, watcher: Watcher, *, chance: random.Random | None = None
    ) -> None:
        self._host, self._port = host, port
        self._recorder = recorder
        self._session = DolphinSession()
        self._attempts = Attempts(recorder, watcher, chance)

    async def run(self) -> None:
        """Receives until cancelled."""
        await self._recorder.prepare()
        await self._attempts.run(self._session, self._converse)

    async def _converse(self) -> Never:
        session = self._session
        async with open_connection(self._host, self._port) as connection:
            with trio.fail_after(_CONNECT_SECONDS):
                while await connection.next() is not None:
                    pass
                connection.send(session.connect())
                while not session.greeted:
                    self._attempts.take(session.receive(await connection.next() or b"{}"))
            while True:  # ENet itself finds out that the other end is gone
                with trio.move_on_after(_REST_SECONDS) as resting:
                    self._attempts.take(session.receive(await connection.next() or b"{}"))
                if resting.cancelled_caught:
                    self._recorder.rest()
