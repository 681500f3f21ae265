"""What is said on a connection to a console, from our side. Sans-IO: bytes in, what they mean out.

A session outlives its connections: it keeps the client token and the cursor of what comes next. When it connects
again, the console says from where it goes on. That is our cursor; or less, when it sends its game again from the
beginning; or more, when what we want is no longer in its memory. A console that does not know our token may have been
switched off meanwhile, so that its cursors mean nothing any more: then only the game itself can tell where we are.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from slpstream.model.errors import FieldError
from slpstream.sources.console import wire

_BARE_FIRST_BYTES = frozenset({0x35, wire.HELO[0]})
"""The first byte of a connection that has no messages: Event Payloads, or `HELO`. A length begins with 0."""


class Greeted(Struct, frozen=True):
    """The console has taken us. `restarts`: what comes now begins at a game's beginning, or behind one."""

    nick: str
    version: str
    restarts: bool


class Arrived(Struct, frozen=True):
    """Bytes of events; `end_cursor` is the cursor behind them, `None` where there are no cursors."""

    data: bytes
    end_cursor: int | None


class Lost(Struct, frozen=True):
    """So many bytes of events are missing before what comes next; `None`: nobody knows how many."""

    size_bytes: int | None


class Quiet(Struct, frozen=True):
    """The console is there, and nothing happens."""


Said: TypeAlias = Greeted | Arrived | Lost | Quiet


class ConsoleSession:
    """One console. `connect` at the start of each connection, then `receive` whatever comes."""

    def __init__(self, token: int = wire.NO_TOKEN, cursor: int = 0) -> None:
        """`token` and `cursor` of an earlier session."""
        self.token = token
        self.cursor = cursor
        self.greeted = False
        """The console has answered on this connection."""
        self._messages = wire.Messages()
        self._bare: bool | None = None

    def connect(self) -> bytes:
        """A connection begins: what to send first."""
        self._messages = wire.Messages()
        self._bare = None
        self.greeted = False
        return wire.client_handshake(self.cursor, self.token)

    def receive(self, data: bytes) -> list[Said]:
        """The next bytes of the connection. Raises `FormatError`: the connection is of no use any more."""
        if self._bare is None and data:
            self._bare = data[0] in _BARE_FIRST_BYTES
        if self._bare:
            return self._receive_bare(data)
        said: list[Said] = []
        for offset, body in self._messages.feed(data):
            message = wire.read_console_message(body, offset)
            if isinstance(message, wire.Replay):
                self._take_replay(message, offset, said)
            elif isinstance(message, wire.ConsoleHandshake):
                self._take_handshake(message, offset, said)
            else:
                said.append(Quiet())
        return said

    def _receive_bare(self, data: bytes) -> list[Said]:
        said: list[Said] = []
        if not self.greeted:
            self.greeted = True
            self.token = wire.NO_TOKEN
            said.append(Greeted("", "", True))
        said.append(Arrived(data, None))
        return said

    def _take_handshake(self, message: wire.ConsoleHandshake, offset: int, said: list[Said]) -> None:
        if self.greeted:
            raise FieldError("a second handshake", offset=offset)
        self.greeted = True
        known = self.token != wire.NO_TOKEN and message.token == self.token
        said.append(Greeted(message.nick, message.version, not known or message.cursor < self.cursor))
        if known and message.cursor > self.cursor:
            said.append(Lost(message.cursor - self.cursor))
        self.token, self.cursor = message.token, message.cursor

    def _take_replay(self, message: wire.Replay, offset: int, said: list[Said]) -> None:
        if not self.greeted:
            raise FieldError("events before the handshake", offset=offset)
        if message.cursor != self.cursor:
            if not message.forced or message.cursor < self.cursor:
                self.token = wire.NO_TOKEN  # our cursor may be what is wrong: begin anew
                raise FieldError(f"expected cursor {self.cursor}, found {message.cursor}", offset=offset)
            said.append(Lost(message.cursor - self.cursor))
        self.cursor = message.next_cursor
        said.append(Arrived(message.data, message.next_cursor))
