"""The client's side of the console protocol: bytes go in, and session events come out. This does no I/O.

A session lives longer than its connections, because it keeps the client token and the cursor of the next byte. When it
connects again, the console answers with the cursor from which it continues. There are three cases:

- Normally, this is our cursor.
- It is smaller if the console sends its game again from the beginning.
- It is larger if the bytes in between are no longer in the console's memory.

A console that doesn't know our token may have been switched off in the meantime. Its cursors mean nothing to us then,
and only the game itself shows where we are.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from slpstream.model.errors import FieldError
from slpstream.parts.consoles import wire

_RAW_FIRST_BYTES = frozenset({0x35, wire.HELO[0]})
"""The first byte of a connection without messages. This is either Event Payloads or `HELO`. In contrast, the length of
a message begins with 0."""

_MAX_KEEP_ALIVES = 100
"""The limit for keep-alives that arrive together with nothing else. A console sends two of them a second."""
_REPEATED = "the source repeats its keep-alive without a pause"


class HandshakeDone(Struct, frozen=True):
    """The console has accepted us.

    `restarted` means that the next bytes start at the beginning of a game, or between two games, and not where the last
    connection ended.
    """

    nick: str
    version: str
    restarted: bool


class EventBytes(Struct, frozen=True):
    """Event bytes. `end_cursor` is the cursor after them, or `None` for a source without cursors."""

    data: bytes
    end_cursor: int | None


class BytesLost(Struct, frozen=True):
    """Bytes are missing before the next ones. `size_bytes` is `None` if we don't know how many."""

    size_bytes: int | None


class Idle(Struct, frozen=True):
    """A keep-alive. The console is connected, but nothing is happening."""


SessionEvent: TypeAlias = HandshakeDone | EventBytes | BytesLost | Idle


class ConsoleSession:
    """A session with one console. At the start of each connection, call `connect`, and then `receive` for all bytes."""

    def __init__(self, token: int = wire.NO_TOKEN, cursor: int = 0) -> None:
        """With `token` and `cursor`, you can continue an earlier session."""
        self.token = token
        self.cursor = cursor
        self.handshake_done = False
        """Whether the console has answered on this connection."""
        self._messages = wire.MessageFramer()
        self._is_raw: bool | None = None

    def connect(self) -> bytes:
        """Begin a connection. Returns the bytes that you have to send first."""
        self._messages = wire.MessageFramer()
        self._is_raw = None
        self.handshake_done = False
        return wire.encode_client_handshake(self.cursor, self.token)

    def receive(self, data: bytes) -> list[SessionEvent]:
        """Take the next bytes. If this raises `FormatError`, you have to close the connection."""
        if self._is_raw is None and data:
            self._is_raw = data[0] in _RAW_FIRST_BYTES
        if self._is_raw:
            return self._receive_raw(data)
        events: list[SessionEvent] = []
        for offset, body in self._messages.feed(data):
            message = wire.decode_console_message(body, offset)
            if isinstance(message, wire.Replay):
                self._receive_replay(message, offset, events)
            elif isinstance(message, wire.ConsoleHandshake):
                self._receive_handshake(message, offset, events)
            else:
                events.append(Idle())
        if len(events) > _MAX_KEEP_ALIVES and all(isinstance(event, Idle) for event in events):
            raise FieldError(_REPEATED, offset=0)
        return events

    def _receive_raw(self, data: bytes) -> list[SessionEvent]:
        keep_alives = data.count(wire.HELO)
        # Without other bytes, at most one keep-alive is cut at each end.
        if keep_alives > _MAX_KEEP_ALIVES and len(data) < (keep_alives + 2) * len(wire.HELO):
            raise FieldError(_REPEATED, offset=0)
        events: list[SessionEvent] = []
        if not self.handshake_done:
            self.handshake_done = True
            self.token = wire.NO_TOKEN
            events.append(HandshakeDone("", "", True))
        events.append(EventBytes(data, None))
        return events

    def _receive_handshake(self, message: wire.ConsoleHandshake, offset: int, events: list[SessionEvent]) -> None:
        if self.handshake_done:
            raise FieldError("a second handshake", offset=offset)
        self.handshake_done = True
        known = self.token != wire.NO_TOKEN and message.token == self.token
        events.append(HandshakeDone(message.nick, message.version, not known or message.cursor < self.cursor))
        if known and message.cursor > self.cursor:
            events.append(BytesLost(message.cursor - self.cursor))
        self.token, self.cursor = message.token, message.cursor

    def _receive_replay(self, message: wire.Replay, offset: int, events: list[SessionEvent]) -> None:
        if not self.handshake_done:
            raise FieldError("events before the handshake", offset=offset)
        if message.cursor != self.cursor:
            if not message.forced or message.cursor < self.cursor:
                self.token = wire.NO_TOKEN  # our own cursor may be wrong: start a new session
                raise FieldError(f"expected cursor {self.cursor}, found {message.cursor}", offset=offset)
            events.append(BytesLost(message.cursor - self.cursor))
        self.cursor = message.next_cursor
        events.append(EventBytes(message.data, message.next_cursor))
