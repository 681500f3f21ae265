"""The metadata element. We walk over its tokens, with limits that are far above all real metadata, and keep the
position between calls, so metadata that arrives byte by byte doesn't take longer.

Only numbers and constants are decoded by py-ubjson. It doesn't get the whole element, because it trusts the counts and
types in its input: with just nine bytes, you can make it ask for a gigabyte, and a `$Z` container can abort the
interpreter.
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import ubjson

from slpstream.model.errors import FieldError

MARKER = b"U\x08metadata"
"""The key of the element, which follows the raw array."""

MAX_BYTES = 64 * 1024
MAX_DEPTH = 16
MAX_ITEMS = 4096

_OBJECT, _OBJECT_END, _ARRAY, _ARRAY_END, _STRING, _CHARACTER = b"{}[]SC"
_FIXED_WIDTHS = {ord("Z"): 0, ord("T"): 0, ord("F"): 0} | {
    ord(code): width for code, width in zip("iUCIldLD", (1, 1, 1, 2, 4, 4, 8, 8), strict=True)
}
"""Bytes after the type marker, for types of a fixed width."""

_LENGTHS = {ord("i"): 1, ord("U"): 1, ord("I"): 2, ord("l"): 4, ord("L"): 8}
"""Width in bytes of the integer types that a length can have."""


class Decoded(NamedTuple):
    """An object. Its values have the types of JSON, so numbers that aren't finite became null."""

    values: dict[str, Any]
    length_bytes: int
    bad_text: int | None
    """The position of the first bytes that are not UTF-8; they became U+FFFD."""


class MetadataDecoder:
    """Decodes one UBJSON object, which may still be incomplete."""

    def __init__(self, start: int) -> None:
        """`start` is the file offset of the brace that opens the object."""
        self._start = start
        self._position = 0
        self._items = 0
        self._found: list[dict[str, Any]] = []
        """Contains the object as soon as it is open."""
        self._open: list[Any] = [self._found]
        """The containers that are open, from the outermost to the innermost."""
        self._key: str | None = None
        """The key of the next value. In an object, this is `None` if a key comes next."""
        self._bad_text: int | None = None

    def advance(self, data: bytes) -> Decoded | None:
        """Return the object, or `None` if some of its bytes are still missing.

        `data` must contain the object from its first byte on. Some things are never written by a game, such as typed
        containers, unknown type markers, and objects beyond the limits. If we find one of these, this raises
        `FieldError`.
        """
        while (width := self._token(data)) is not None:
            self._position += width
            if self._position > MAX_BYTES:
                raise self._too_long()
            if len(self._open) == 1:
                return Decoded(self._found[0], self._position, self._bad_text)
        return None

    def _token(self, data: bytes) -> int | None:
        """Take the token at the current position and return its length, or `None` if it is incomplete."""
        at, inner = self._position, self._open[-1]
        if at >= len(data):
            return None
        code = data[at]
        if inner is self._found and code != _OBJECT:
            raise self._refuse("metadata is not an object")
        key_next = type(inner) is dict and self._key is None
        if (code == _OBJECT_END and key_next) or (code == _ARRAY_END and type(inner) is list):
            self._open.pop()
            self._count_value()
            return 1
        read = self._text(data, at) if key_next else self._value(data, at)
        if read is None:
            return None
        value, width = read
        if key_next:
            self._key = value
            return width
        if type(inner) is dict:
            inner[self._key], self._key = value, None
        else:
            inner.append(value)
        if isinstance(value, dict | list):
            self._open.append(value)
        else:
            self._count_value()
        return width

    def _value(self, data: bytes, at: int) -> tuple[Any, int] | None:
        """Return the value at `at` and how many bytes it takes, or `None` if they are incomplete. A container is empty,
        because only its first byte is taken.
        """
        code = data[at]
        if code in (_OBJECT, _ARRAY):
            if len(self._open) > MAX_DEPTH:
                raise self._refuse(f"metadata is deeper than {MAX_DEPTH}")
            return ({} if code == _OBJECT else []), 1
        if code == _STRING:
            text = self._text(data, at + 1)
            return None if text is None else (text[0], 1 + text[1])
        if code not in _FIXED_WIDTHS:
            raise self._refuse(f"metadata has the marker {code:#04x}, which is not accepted")
        end = at + 1 + _FIXED_WIDTHS[code]
        if end > len(data):
            return None
        if code == _CHARACTER:
            return self._readable(data, at + 1, end), end - at
        value = ubjson.loadb(data[at:end])
        return None if isinstance(value, float) and not math.isfinite(value) else value, end - at

    def _text(self, data: bytes, at: int) -> tuple[str, int] | None:
        """Return the text whose length field is at `at`, and how many bytes both take, or `None` if they are
        incomplete.
        """
        if at >= len(data):
            return None
        width = _LENGTHS.get(data[at])
        if width is None:
            raise self._refuse(f"metadata has the length type {data[at]:#04x}, which is not accepted")
        start = at + 1 + width
        if start > len(data):
            return None
        count = int.from_bytes(data[at + 1 : start], "big", signed=data[at] != ord("U"))
        if not 0 <= count <= MAX_BYTES:
            raise self._refuse(f"metadata has a text of {count} bytes")
        end = start + count
        if end > MAX_BYTES:  # checked before the text is complete, so the result does not depend on the reads
            raise self._too_long()
        return None if end > len(data) else (self._readable(data, start, end), end - at)

    def _readable(self, data: bytes, start: int, end: int) -> str:
        """Return a text with U+FFFD for all bytes that aren't UTF-8. Games have written names like that."""
        try:
            return data[start:end].decode()
        except UnicodeDecodeError as error:
            if self._bad_text is None:
                self._bad_text = start + error.start
            return data[start:end].decode(errors="replace")

    def _count_value(self) -> None:
        self._items += 1
        if self._items > MAX_ITEMS:
            raise self._refuse(f"metadata has more than {MAX_ITEMS} values")

    def _too_long(self) -> FieldError:
        return self._refuse(f"metadata is longer than {MAX_BYTES} bytes")

    def _refuse(self, what: str) -> FieldError:
        return FieldError(what, offset=self._start + self._position)


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
    if isinstance(value, float):  # py-ubjson would write the smallest ones as a type that no game writes
        return b"D" + struct.pack(">d", value)
    if isinstance(value, int) and not isinstance(value, bool):
        fits = -(2**31) <= value < 2**31
        return b"l" + value.to_bytes(4, "big", signed=True) if fits else b"L" + value.to_bytes(8, "big", signed=True)
    encoded: bytes = ubjson.dumpb(value)
    return encoded


def _encode_text(text: str) -> bytes:
    raw = text.encode()
    length = b"U" + bytes([len(raw)]) if len(raw) < 256 else b"l" + len(raw).to_bytes(4, "big")
    return length + raw
