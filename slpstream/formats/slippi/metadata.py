"""The metadata element, a UBJSON object after the raw array.

We decode it here, because general libraries trust the counts and types in their input. With just nine bytes, you can
make one ask for a gigabyte. This decoder only accepts those types that a game writes, doesn't use recursion, and has
limits that are far above all real metadata. If metadata arrives byte by byte, this doesn't take longer, because the
decoder keeps its position between calls.
"""

from __future__ import annotations

import copy
import math
import struct
from typing import Any, NamedTuple, Self

from slpstream.model.errors import FieldError

MARKER = b"U\x08metadata"
"""The key of the element, which follows the raw array."""

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_ITEMS = 4096

_OBJECT, _OBJECT_END, _ARRAY, _ARRAY_END, _STRING, _CHARACTER = b"{}[]SC"
_CONSTANTS = {b"Z"[0]: None, b"T"[0]: True, b"F"[0]: False}
_INTEGERS = {ord(code): struct.Struct(">" + kind) for code, kind in zip("iUIlL", "bBhiq", strict=True)}
"""These types can also be those of a length."""
_NUMBERS = _INTEGERS | {ord(code): struct.Struct(">" + kind) for code, kind in zip("dD", "fd", strict=True)}


class Decoded(NamedTuple):
    """An object. Its values have the types of JSON, so numbers that aren't finite became null."""

    values: dict[str, Any]
    length_bytes: int
    bad_text: int | None
    """The position of the first bytes that are not UTF-8; they became U+FFFD."""


class _IncompleteError(Exception):
    """Some bytes of a token are still missing."""


class MetadataDecoder:
    """Decodes one UBJSON object, which may still be incomplete."""

    def __init__(self, start: int) -> None:
        """`start` is the file offset of the brace that opens the object."""
        self._start = start
        self._position = 0
        self._items = 0
        self._open: list[dict[str, Any] | list[Any]] = []
        """The containers around the position."""
        self._key: str | None = None
        """The key whose value comes next."""
        self._bad_text: int | None = None

    def copy(self) -> Self:
        """Return a copy that is at the same position, but independent from now on."""
        return copy.deepcopy(self)

    def advance(self, data: bytes) -> Decoded | None:
        """Return the object, or `None` if some of its bytes are still missing.

        `data` must contain the object from its first byte on. Some things are never written by a game, such as typed
        containers, unknown type markers, and objects beyond the limits. If we find one of these, this raises
        `FieldError`.
        """
        try:
            while True:
                closed = self._take_token(data)
                if self._position > MAX_BYTES:
                    raise self._too_long()
                if isinstance(closed, dict) and not self._open:
                    return Decoded(closed, self._position, self._bad_text)
        except _IncompleteError:
            return None

    def _take_token(self, data: bytes) -> dict[str, Any] | list[Any] | None:
        """Take the token at the position. If it closes a container, return that."""
        end = self._position + 1
        code = _bytes(data, self._position, end)[0]
        container = self._open[-1] if self._open else None
        closed: dict[str, Any] | list[Any] | None = None
        if container is None and code != _OBJECT:
            raise self._error("metadata is not an object")
        if code == (_OBJECT_END if isinstance(container, dict) else _ARRAY_END) and self._key is None:
            self._count()
            closed = self._open.pop()
        elif isinstance(container, dict) and self._key is None:
            self._key, end = self._text(data, self._position)
        elif code in (_OBJECT, _ARRAY):
            if len(self._open) == MAX_DEPTH:
                raise self._error(f"metadata is deeper than {MAX_DEPTH}")
            opened: dict[str, Any] | list[Any] = {} if code == _OBJECT else []
            self._add(opened)
            self._open.append(opened)
        else:
            value, end = self._value(data, end, code)
            self._count()
            self._add(value)
        self._position = end
        return closed

    def _value(self, data: bytes, at: int, code: int) -> tuple[Any, int]:
        """Return a value that isn't a container, and its end. `at` is the position after its type marker."""
        if code in _CONSTANTS:
            return _CONSTANTS[code], at
        if code in _NUMBERS:
            number, end = _number(data, at, _NUMBERS[code])
            return number if math.isfinite(number) else None, end
        if code == _CHARACTER:
            return self._decoded(data, at, at + 1), at + 1
        if code == _STRING:
            return self._text(data, at)
        raise self._error(f"metadata has the marker {code:#04x}, which is not accepted")

    def _text(self, data: bytes, at: int) -> tuple[str, int]:
        """Return the text whose length field is at `at`, and its end."""
        code = _bytes(data, at, at + 1)[0]
        if code not in _INTEGERS:
            raise self._error(f"metadata has the length type {code:#04x}, which is not accepted")
        count, start = _number(data, at + 1, _INTEGERS[code])
        if not 0 <= count <= MAX_BYTES:
            raise self._error(f"metadata has a text of {count} bytes")
        if start + count > MAX_BYTES:  # checked before the text is complete, so the result does not depend on the reads
            raise self._too_long()
        return self._decoded(data, start, start + count), start + count

    def _decoded(self, data: bytes, start: int, end: int) -> str:
        """Decode a text. Games have written names that aren't UTF-8, and these must not lose all other metadata."""
        raw = _bytes(data, start, end)
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            if self._bad_text is None:
                self._bad_text = start + error.start
            return raw.decode(errors="replace")

    def _add(self, value: Any) -> None:
        """Add a value to the container around it."""
        container = self._open[-1] if self._open else None
        if isinstance(container, dict) and self._key is not None:
            container[self._key] = value
            self._key = None
        elif isinstance(container, list):
            container.append(value)

    def _count(self) -> None:
        self._items += 1
        if self._items > MAX_ITEMS:
            raise self._error(f"metadata has more than {MAX_ITEMS} values")

    def _too_long(self) -> FieldError:
        return self._error(f"metadata is longer than {MAX_BYTES} bytes")

    def _error(self, what: str) -> FieldError:
        return FieldError(what, offset=self._start + self._position)


def _bytes(data: bytes, start: int, end: int) -> bytes:
    if end > len(data):
        raise _IncompleteError
    return data[start:end]


def _number(data: bytes, at: int, kind: struct.Struct) -> tuple[Any, int]:
    """Return a number, and its end."""
    end = at + kind.size
    return kind.unpack(_bytes(data, at, end))[0], end


def read_element(data: bytes, at: int) -> dict[str, Any] | None:
    """Return the values of the metadata element at `at`, or `None` if it is missing, incomplete or damaged."""
    if not data.startswith(MARKER, at):
        return None
    start = at + len(MARKER)
    try:
        decoded = MetadataDecoder(start).advance(data[start:])
    except FieldError:
        return None
    return None if decoded is None else decoded.values


def encode(value: Any) -> bytes:
    """Return the bytes of an object, or of another value of JSON.

    Integers are written as `U` (lengths), `l` or `L`, and never as `i` or `I`, just like in the game.
    """
    if isinstance(value, dict):
        return b"{" + b"".join(_encode_text(str(key)) + encode(item) for key, item in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b"".join(map(encode, value)) + b"]"
    if isinstance(value, str):
        return b"S" + _encode_text(value)
    if isinstance(value, float):
        return b"D" + struct.pack(">d", value)
    if value is None or isinstance(value, bool):
        return {None: b"Z", True: b"T", False: b"F"}[value]
    return b"l" + struct.pack(">i", value) if -(2**31) <= value < 2**31 else b"L" + struct.pack(">q", value)


def _encode_text(text: str) -> bytes:
    raw = text.encode()
    return (b"U" + bytes([len(raw)]) if len(raw) < 256 else b"l" + struct.pack(">i", len(raw))) + raw
