"""The protocol of consoles: messages of UBJSON behind a length, to values and back. Sans-IO.

A message is a big-endian u32, the number of bytes that follow, and one UBJSON object `{type, payload}`. We decode
them ourselves: they are made of typed arrays, which are what py-ubjson must never see from a stranger
(`slippi.metadata` says why), and of 25,000 bytes of events we want bytes, not a list of numbers. What is accepted is
bounded everywhere: length, depth, number of values. Two more forms of the same stream exist and are recognised by
their first byte: consoles up to 1.8 and the launcher's relay send bare events, with `HELO` now and then.

What we send is laid out by hand, key by key, in the types that consoles and slippi-js write. A console does not parse
the handshake of a client but reads it by offset. And slippi-js tells the two forms apart by the first nine bytes of a
console's handshake, the type of the length of the first key among them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from slpstream.model.errors import FieldError, FormatError, FramingError

HANDSHAKE, REPLAY, KEEP_ALIVE = 1, 2, 3

PORT = 51441
MAX_REPLAY_BYTES = 25_000
"""Events in one replay message, as a console sends them."""

MAX_MESSAGE_BYTES = 1 << 20
"""What we take; a console's own are below 25,200 bytes."""

HELO = b"HELO\0"
"""What the bare form says when it is quiet."""

KEEP_ALIVE_SECONDS = 0.5
"""A console says so after so long a quiet."""

HANDSHAKE_SECONDS = 5.0
"""A console closes the connection when no handshake comes for so long."""

CLIENT_HANDSHAKE_BYTES = 79
"""Body of the handshake of a client, in the one layout that consoles read."""

NO_TOKEN = 0
"""Client token of who was given none."""

_TYPE_AT, _CURSOR_AT, _TOKEN_AT, _REALTIME_AT = 8, 33, 60, 76
_LENGTH = struct.Struct(">I")
_CURSOR = struct.Struct(">Q")
_MAX_DEPTH = 8
_MAX_VALUES = 64
_MAX_TEXT_BYTES = 4096
_NICK_BYTES = 32
_INTEGERS = {ord(c): struct.Struct(f) for c, f in zip("iUIlL", (">b", ">B", ">h", ">i", ">q"), strict=True)}
_FLOATS = {ord("d"): struct.Struct(">f"), ord("D"): struct.Struct(">d")}
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
_OBJECT, _OBJECT_END, _ARRAY, _ARRAY_END, _TEXT, _TYPED, _COUNTED, _NOTHING = b"{}[]S$#N"
_BYTES_TYPES = b"Ui"


class ClientHandshake(Struct, frozen=True):
    """A client says where it wants to go on. `token` is `NO_TOKEN` when it was never here."""

    cursor: int
    token: int
    realtime: bool


class ConsoleHandshake(Struct, frozen=True):
    """The console answers: its name, its version, the client's token from now on, the cursor of what comes next."""

    nick: str
    version: str
    token: int
    cursor: int


class Replay(Struct, frozen=True):
    """Bytes of events from `cursor` on; the next message has `next_cursor`. `forced`: what was before it is lost."""

    cursor: int
    next_cursor: int
    forced: bool
    data: bytes


class KeepAlive(Struct, frozen=True):
    """Nothing happens, and the console is there."""


ConsoleMessage: TypeAlias = ConsoleHandshake | Replay | KeepAlive


# -- writing ----------------------------------------------------------------------------------------------------------


def client_handshake(cursor: int, token: int, *, realtime: bool = True) -> bytes:
    """The message of a client: type at offset 8 of the body, cursor at 33, token at 60, `isRealtime` at 76."""
    body = b"".join(
        (
            b"{i\x04typei\x01i\x07payload{",
            b"i\x06cursor",
            _typed(_CURSOR.pack(cursor)),
            b"i\x0bclientToken",
            _typed(_LENGTH.pack(token)),
            b"i\x0aisRealtime",
            b"T" if realtime else b"F",
            b"}}",
        )
    )
    return _LENGTH.pack(len(body)) + body


def console_handshake(handshake: ConsoleHandshake) -> bytes:
    """The message of a console that takes a client. The name is cut to the 32 bytes that consoles have for it."""
    body = b"".join(
        (
            _head(HANDSHAKE),
            b"i\x04nick",
            _text(handshake.nick, _NICK_BYTES),
            b"i\x11nintendontVersion",
            _text(handshake.version, _NICK_BYTES),
            b"i\x0bclientToken",
            _typed(_LENGTH.pack(handshake.token)),
            b"i\x03pos",
            _typed(_CURSOR.pack(handshake.cursor)),
            b"}}",
        )
    )
    return _LENGTH.pack(len(body)) + body


def replay(message: Replay) -> bytes:
    """The message with the bytes of events."""
    body = b"".join(
        (
            _head(REPLAY),
            b"i\x03pos",
            _typed(_CURSOR.pack(message.cursor)),
            b"i\x07nextPos",
            _typed(_CURSOR.pack(message.next_cursor)),
            b"i\x08forcePosT" if message.forced else b"i\x08forcePosF",
            b"i\x04data[$U#l",
            _LENGTH.pack(len(message.data)),
            message.data,
            b"}}",
        )
    )
    return _LENGTH.pack(len(body)) + body


KEEP_ALIVE_MESSAGE = _LENGTH.pack(10) + b"{i\x04typeU\x03}"


def _head(kind: int) -> bytes:
    return b"{i\x04typeU%ci\x07payload{" % kind


def _typed(data: bytes) -> bytes:
    return b"[$U#i%c" % len(data) + data


def _text(text: str, max_bytes: int) -> bytes:
    data = text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore").encode()
    return b"SU%c" % len(data) + data


# -- reading ----------------------------------------------------------------------------------------------------------


class Messages:
    """Bytes of one connection, cut anywhere, to the bodies of its messages."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._offset = 0

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The next bytes. Each body that is complete, with its offset in the connection. Raises `FramingError`."""
        self._buffer += data
        bodies: list[tuple[int, bytes]] = []
        at = 0
        buffer = self._buffer
        while len(buffer) - at >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(buffer, at)
            if not 0 < size <= self._max_bytes:
                raise FramingError(f"a message of {size} bytes", offset=self._offset + at)
            start = at + _LENGTH.size
            if len(buffer) - start < size:
                break
            bodies.append((self._offset + start, bytes(buffer[start : start + size])))
            at = start + size
        del buffer[:at]
        self._offset += at
        return bodies

    @property
    def waiting_bytes(self) -> int:
        """What is held of a message that is not complete."""
        return len(self._buffer)


def read_console_message(body: bytes, offset: int = 0) -> ConsoleMessage:
    """What a console says. Raises `FormatError`; `offset` is that of the body, for its words."""
    values = _Values(body, offset).message()
    kind = values.get("type")
    if kind == KEEP_ALIVE:
        return KeepAlive()
    payload = _Payload(values.get("payload"), offset)
    if kind == REPLAY:
        data = payload.octets("data")
        cursor = payload.cursor("pos")
        return Replay(cursor, payload.cursor("nextPos"), payload.get("forcePos") is True, data)
    if kind == HANDSHAKE:
        return ConsoleHandshake(
            payload.text("nick"), payload.text("nintendontVersion"), payload.token(), payload.cursor("pos")
        )
    raise FieldError(f"a message of the type {kind!r}", offset=offset)


def read_client_handshake(body: bytes, offset: int = 0) -> ClientHandshake:
    """What a client says. Parsed, not read by offset: more than one library speaks to consoles. Raises
    `FormatError`."""
    values = _Values(body, offset).message()
    if values.get("type") != HANDSHAKE:
        raise FieldError(f"expected a handshake, found the type {values.get('type')!r}", offset=offset)
    payload = _Payload(values.get("payload"), offset)
    return ClientHandshake(payload.cursor("cursor"), payload.token(), payload.get("isRealtime") is True)


def read_client_handshake_as_a_console(body: bytes) -> ClientHandshake | None:
    """The same as a console reads it: by offset alone. `None` when it is too short or of another type."""
    if len(body) < _REALTIME_AT + 1 or body[_TYPE_AT] != HANDSHAKE:
        return None
    (cursor,) = _CURSOR.unpack_from(body, _CURSOR_AT)
    (token,) = _LENGTH.unpack_from(body, _TOKEN_AT)
    return ClientHandshake(cursor, token, body[_REALTIME_AT] == ord("T"))


class _Payload:
    """The values of a message, each with the type that it must have."""

    def __init__(self, values: Any, offset: int) -> None:
        if not isinstance(values, dict):
            raise FieldError("a message without payload", offset=offset)
        self._values: Mapping[str, Any] = values
        self._offset = offset

    def get(self, key: str) -> Any:
        """As it came; `None` when it is not there."""
        return self._values.get(key)

    def octets(self, key: str, size: int | None = None) -> bytes:
        """An array of bytes."""
        value = self._values.get(key)
        if isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
            value = bytes(value)
        if not isinstance(value, bytes) or (size is not None and len(value) != size):
            raise FieldError(f"`{key}` is not an array of {size or ''} bytes".replace("  ", " "), offset=self._offset)
        return value

    def cursor(self, key: str) -> int:
        """Eight bytes, big-endian."""
        number: int = _CURSOR.unpack(self.octets(key, _CURSOR.size))[0]
        return number

    def token(self) -> int:
        """Four bytes, big-endian."""
        number: int = _LENGTH.unpack(self.octets("clientToken", _LENGTH.size))[0]
        return number

    def text(self, key: str) -> str:
        """A text; empty when it is not there."""
        value = self._values.get(key)
        return value.rstrip("\0") if isinstance(value, str) else ""


class _Values:
    """One UBJSON object, of the kinds of value that the protocol has."""

    def __init__(self, data: bytes, offset: int) -> None:
        self._data = data
        self._offset = offset
        self._at = 0
        self._left = _MAX_VALUES

    def message(self) -> dict[str, Any]:
        """The whole body, which must be one object and nothing behind it."""
        value = self._value(0)
        if not isinstance(value, dict):
            raise self._wrong("a message that is no object")
        if self._at != len(self._data):
            raise self._wrong("bytes behind the message")
        return value

    def _value(self, depth: int, code: int | None = None) -> Any:
        self._left -= 1
        if self._left < 0:
            raise self._wrong(f"more than {_MAX_VALUES} values")
        if code is None:
            code = self._take(1)[0]
        if code in _INTEGERS:
            return self._number(_INTEGERS[code])
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code in _FLOATS:
            return self._number(_FLOATS[code])
        if code == _TEXT:
            return self._text()
        if depth == _MAX_DEPTH:
            raise self._wrong(f"deeper than {_MAX_DEPTH}")
        if code == _ARRAY:
            return self._array(depth + 1)
        if code == _OBJECT:
            return self._object(depth + 1)
        raise self._wrong(f"the marker {code:#04x}")

    def _object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        count = None
        if self._peek() == _COUNTED:
            self._at += 1
            count = self._count()
        while True:
            if count is None and self._peek() == _OBJECT_END:
                self._at += 1
                return values
            if count is not None and len(values) >= count:
                return values
            key = self._text()
            if key in values:
                raise self._wrong("a key that is there twice")
            values[key] = self._value(depth)

    def _array(self, depth: int) -> bytes | list[Any]:
        marker = self._peek()
        if marker == _TYPED:
            self._at += 1
            code = self._take(1)[0]
            if code not in _BYTES_TYPES or self._take(1)[0] != _COUNTED:
                raise self._wrong("a typed array of something else than bytes")
            return self._take(self._count())
        items: list[Any] = []
        if marker == _COUNTED:
            self._at += 1
            count = self._count()
            if count > self._left:
                raise self._wrong(f"more than {_MAX_VALUES} values")
            items += [self._value(depth) for _ in range(count)]
            return items
        while self._peek() != _ARRAY_END:
            items.append(self._value(depth))
        self._at += 1
        return items

    def _text(self) -> str:
        count = self._count()
        if count > _MAX_TEXT_BYTES:
            raise self._wrong(f"a text of {count} bytes")
        return self._take(count).decode("utf-8", "replace")

    def _count(self) -> int:
        kind = _INTEGERS.get(self._take(1)[0])
        if kind is None:
            raise self._wrong("a length that is no integer")
        count: int = self._number(kind)
        if count < 0:
            raise self._wrong(f"a length of {count}")
        return count

    def _number(self, kind: struct.Struct) -> Any:
        return kind.unpack(self._take(kind.size))[0]

    def _peek(self) -> int:
        while self._at < len(self._data) and self._data[self._at] == _NOTHING:
            self._at += 1
        if self._at >= len(self._data):
            raise self._wrong("a message that is cut short")
        return self._data[self._at]

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise self._wrong("a message that is cut short")
        data = self._data[self._at : end]
        self._at = end
        return data

    def _wrong(self, what: str) -> FormatError:
        return FieldError(what, offset=self._offset + self._at)
