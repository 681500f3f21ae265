"""The protocol of consoles: decodes and encodes UBJSON messages with a length prefix. This doesn't do any I/O.

A message is a big-endian u32 with the number of bytes that follow, and then one UBJSON object `{type, payload}`. We
decode it here and not like metadata (see `slippi.metadata`), because messages consist of typed arrays, and 25,000 bytes
of events should become bytes, and not a list of numbers. The length, the depth and the number of values are limited.

There is a second form without messages, which we recognise by its first byte. Consoles up to 1.8 and the launcher's
relay send raw events, with `HELO` from time to time.

When we send messages, we lay them out by hand, key by key, with the types that consoles and slippi-js write. This is
because a console does not parse the handshake of a client, but reads fixed offsets. slippi-js, on the other hand, tells
the two forms apart by the first nine bytes of a console's handshake, which include the type of the first key's length.
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
"""The limit for the event bytes in one replay message. It is the same as that of consoles."""

MAX_MESSAGE_BYTES = 1 << 20
"""The limit for the length of a message. Messages of a console stay below 25,200 bytes."""

HELO = b"HELO\0"
"""The keep-alive of the form without messages."""

KEEP_ALIVE_SECONDS = 0.5
"""A console sends a keep-alive after this long without events."""

HANDSHAKE_SECONDS = 5.0
"""If no handshake arrives on a connection within this time, a console closes it."""

NO_TOKEN = 0
"""The token of a client that hasn't received one yet."""

_LENGTH = struct.Struct(">I")
_CURSOR = struct.Struct(">Q")
_MAX_DEPTH = 8
_MAX_VALUES = 64
_MAX_TEXT_BYTES = 4096
_NICK_BYTES = 32
_INTEGERS = {ord(c): struct.Struct(f) for c, f in zip("iUIlL", (">b", ">B", ">h", ">i", ">q"), strict=True)}
_FLOATS = {ord("d"): struct.Struct(">f"), ord("D"): struct.Struct(">d")}
_CONSTANTS = {ord("Z"): None, ord("T"): True, ord("F"): False}
_OBJECT, _OBJECT_END, _ARRAY, _ARRAY_END, _TEXT, _TYPED, _COUNTED, _NOOP = b"{}[]S$#N"
_BYTES_TYPES = b"Ui"


class ClientHandshake(Struct, frozen=True):
    """The first message of a client. It contains the cursor at which the client wants to continue. A new client has
    `NO_TOKEN`.
    """

    cursor: int
    token: int
    realtime: bool


class ConsoleHandshake(Struct, frozen=True):
    """The answer of a console. It contains its name and version, the token that the client has from now on, and the
    cursor of the next byte.
    """

    nick: str
    version: str
    token: int
    cursor: int


class Replay(Struct, frozen=True):
    """Event bytes from `cursor` on. `forced` means that bytes before `cursor` may be missing."""

    cursor: int
    next_cursor: int
    forced: bool
    data: bytes


class KeepAlive(Struct, frozen=True):
    """A keep-alive. The console is connected, but nothing is happening."""


ConsoleMessage: TypeAlias = ConsoleHandshake | Replay | KeepAlive


def encode_client_handshake(cursor: int, token: int, *, realtime: bool = True) -> bytes:
    """Encode the handshake of a client.

    Consoles read it by the offset into the body: the type at 8, the cursor at 33, the token at 60, and `isRealtime` at
    76.
    """
    body = b"".join(
        (
            b"{i\x04typei\x01i\x07payload{",
            b"i\x06cursor",
            _encode_bytes(_CURSOR.pack(cursor)),
            b"i\x0bclientToken",
            _encode_bytes(_LENGTH.pack(token)),
            b"i\x0aisRealtime",
            b"T" if realtime else b"F",
            b"}}",
        )
    )
    return _LENGTH.pack(len(body)) + body


def encode_console_handshake(handshake: ConsoleHandshake) -> bytes:
    """Encode the handshake of a console. The name is cut to 32 bytes, which is the size that a console has for it."""
    body = b"".join(
        (
            _encode_start(HANDSHAKE),
            b"i\x04nick",
            _encode_text(handshake.nick, _NICK_BYTES),
            b"i\x11nintendontVersion",
            _encode_text(handshake.version, _NICK_BYTES),
            b"i\x0bclientToken",
            _encode_bytes(_LENGTH.pack(handshake.token)),
            b"i\x03pos",
            _encode_bytes(_CURSOR.pack(handshake.cursor)),
            b"}}",
        )
    )
    return _LENGTH.pack(len(body)) + body


def encode_replay(message: Replay) -> bytes:
    """Encode a message with event bytes."""
    body = b"".join(
        (
            _encode_start(REPLAY),
            b"i\x03pos",
            _encode_bytes(_CURSOR.pack(message.cursor)),
            b"i\x07nextPos",
            _encode_bytes(_CURSOR.pack(message.next_cursor)),
            b"i\x08forcePosT" if message.forced else b"i\x08forcePosF",
            b"i\x04data[$U#l",
            _LENGTH.pack(len(message.data)),
            message.data,
            b"}}",
        )
    )
    return _LENGTH.pack(len(body)) + body


KEEP_ALIVE_MESSAGE = _LENGTH.pack(10) + b"{i\x04typeU\x03}"


def _encode_start(kind: int) -> bytes:
    return b"{i\x04typeU%ci\x07payload{" % kind


def _encode_bytes(data: bytes) -> bytes:
    return b"[$U#i%c" % len(data) + data


def _encode_text(text: str, max_bytes: int) -> bytes:
    data = text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore").encode()
    return b"SU%c" % len(data) + data


class MessageFramer:
    """Splits the bytes of one connection into the bodies of messages."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._offset = 0

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Take the next bytes, which can be split anywhere.

        Returns each complete body with its offset in the connection. Raises `FramingError` if the bytes are wrong.
        """
        self._buffer += data
        bodies: list[tuple[int, bytes]] = []
        position = 0
        buffer = self._buffer
        while len(buffer) - position >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(buffer, position)
            if not 0 < size <= self._max_bytes:
                raise FramingError(f"impossible message length {size}", offset=self._offset + position)
            start = position + _LENGTH.size
            if len(buffer) - start < size:
                break
            bodies.append((self._offset + start, bytes(buffer[start : start + size])))
            position = start + size
        del buffer[:position]
        self._offset += position
        return bodies

    @property
    def buffered_bytes(self) -> int:
        """How many bytes of an incomplete message we hold."""
        return len(self._buffer)


def decode_console_message(body: bytes, offset: int = 0) -> ConsoleMessage:
    """Decode a message of a console.

    `offset` is that of the body in the connection. Raises `FormatError` if it is invalid.
    """
    values = _UbjsonReader(body, offset).message()
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
    raise FieldError(f"unknown message type {kind!r}", offset=offset)


def decode_client_handshake(body: bytes, offset: int = 0) -> ClientHandshake:
    """Decode the handshake of a client. Raises `FormatError` if it is invalid.

    We parse it instead of reading it by offset, because not every client library uses the layout that consoles read.
    """
    values = _UbjsonReader(body, offset).message()
    if values.get("type") != HANDSHAKE:
        raise FieldError(f"expected a handshake, found message type {values.get('type')!r}", offset=offset)
    payload = _Payload(values.get("payload"), offset)
    return ClientHandshake(payload.cursor("cursor"), payload.token(), payload.get("isRealtime") is True)


class _Payload:
    """The payload of a message, whose values you can get by key and type.

    The methods raise `FieldError` for a wrong type.
    """

    def __init__(self, values: Any, offset: int) -> None:
        if not isinstance(values, dict):
            raise FieldError("the message has no payload", offset=offset)
        self._values: Mapping[str, Any] = values
        self._offset = offset

    def get(self, key: str) -> Any:
        """Return the value as it was decoded, or `None` if it is absent."""
        return self._values.get(key)

    def octets(self, key: str, size: int | None = None) -> bytes:
        """Return an array of bytes. If you pass a `size`, it must have this many bytes."""
        value = self._values.get(key)
        if isinstance(value, list) and all(type(item) is int and 0 <= item < 256 for item in value):
            value = bytes(value)
        if not isinstance(value, bytes) or (size is not None and len(value) != size):
            raise FieldError(f"`{key}` is not an array of {size or ''} bytes".replace("  ", " "), offset=self._offset)
        return value

    def cursor(self, key: str) -> int:
        """Return a cursor, which is eight bytes, big-endian."""
        number: int = _CURSOR.unpack(self.octets(key, _CURSOR.size))[0]
        return number

    def token(self) -> int:
        """Return the client token, which is four bytes, big-endian."""
        number: int = _LENGTH.unpack(self.octets("clientToken", _LENGTH.size))[0]
        return number

    def text(self, key: str) -> str:
        """Return a string. If it is absent, this is empty."""
        value = self._values.get(key)
        return value.rstrip("\0") if isinstance(value, str) else ""


class _UbjsonReader:
    """Reads one UBJSON object, with those kinds of values that the protocol uses."""

    def __init__(self, data: bytes, offset: int) -> None:
        self._data = data
        self._offset = offset
        self._position = 0
        self._values_left = _MAX_VALUES

    def message(self) -> dict[str, Any]:
        """Return the whole body, which must be a single object. Raises `FieldError` if it isn't."""
        value = self._value(0)
        if not isinstance(value, dict):
            raise self._error("the message is not an object")
        if self._position != len(self._data):
            raise self._error("bytes after the end of the message")
        return value

    def _value(self, depth: int) -> Any:
        self._values_left -= 1
        if self._values_left < 0:
            raise self._error(f"more than {_MAX_VALUES} values")
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
            raise self._error(f"nested deeper than {_MAX_DEPTH} levels")
        if code == _ARRAY:
            return self._array(depth + 1)
        if code == _OBJECT:
            return self._object(depth + 1)
        raise self._error(f"unknown type marker {code:#04x}")

    def _object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        count = None
        if self._peek() == _COUNTED:
            self._position += 1
            count = self._count()
        while True:
            if count is None and self._peek() == _OBJECT_END:
                self._position += 1
                return values
            if count is not None and len(values) >= count:
                return values
            key = self._text()
            if key in values:
                raise self._error("duplicate key")
            values[key] = self._value(depth)

    def _array(self, depth: int) -> bytes | list[Any]:
        marker = self._peek()
        if marker == _TYPED:
            self._position += 1
            code = self._take(1)[0]
            if code not in _BYTES_TYPES or self._take(1)[0] != _COUNTED:
                raise self._error("a typed array that does not hold bytes")
            return self._take(self._count())
        items: list[Any] = []
        if marker == _COUNTED:
            self._position += 1
            count = self._count()
            if count > self._values_left:
                raise self._error(f"more than {_MAX_VALUES} values")
            items += [self._value(depth) for _ in range(count)]
            return items
        while self._peek() != _ARRAY_END:
            items.append(self._value(depth))
        self._position += 1
        return items

    def _text(self) -> str:
        count = self._count()
        if count > _MAX_TEXT_BYTES:
            raise self._error(f"a string of {count} bytes is too long")
        return self._take(count).decode("utf-8", "replace")

    def _count(self) -> int:
        kind = _INTEGERS.get(self._take(1)[0])
        if kind is None:
            raise self._error("a length is not an integer")
        count: int = self._number(kind)
        if count < 0:
            raise self._error(f"negative length {count}")
        return count

    def _number(self, kind: struct.Struct) -> Any:
        return kind.unpack(self._take(kind.size))[0]

    def _peek(self) -> int:
        while self._position < len(self._data) and self._data[self._position] == _NOOP:
            self._position += 1
        if self._position >= len(self._data):
            raise self._error("the message is truncated")
        return self._data[self._position]

    def _take(self, count: int) -> bytes:
        end = self._position + count
        if end > len(self._data):
            raise self._error("the message is truncated")
        data = self._data[self._position : end]
        self._position = end
        return data

    def _error(self, what: str) -> FormatError:
        return FieldError(what, offset=self._offset + self._position)
