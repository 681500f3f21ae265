"""The metadata element. We first scan it to find its end and to refuse hostile input, and then let py-ubjson decode it.

We need the scan because py-ubjson trusts the counts and types in its input. With just nine bytes, you can make it ask
for a gigabyte, and a `$Z` container can abort the interpreter. So we walk over the bytes first, without recursion, and
with limits that are far above all real metadata. The library only gets to see those bytes that have passed. If metadata
arrives byte by byte, this doesn't take longer, because the scan keeps its position between calls.
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
        self._closers: list[int] = []
        self._key_next = False
        self._texts: list[tuple[int, int, int]] = []
        """The texts so far: where the length of each begins (or its type, if it is a single character), where its bytes
        begin, and where they end."""

    def advance(self, data: bytes) -> Decoded | None:
        """Return the object, or `None` if some of its bytes are still missing.

        `data` must contain the object from its first byte on. Some things are never written by a game, such as typed
        containers, unknown type markers, and objects beyond the limits. If we find one of these, or something that
        py-ubjson doesn't accept, this raises `FieldError`.
        """
        while True:
            step = self._token(data)
            if step is None:
                return None
            self._position += step
            if self._position > MAX_BYTES:
                raise self._too_long()
            if not self._closers:
                return self._decode(data[: self._position])

    def _decode(self, data: bytes) -> Decoded:
        """Decode the bytes of the object."""
        try:
            readable, bad_text = self._with_readable_texts(data)
            value = ubjson.loadb(readable, object_pairs_hook=dict)
        except (ubjson.DecoderException, ValueError) as error:
            raise FieldError(f"metadata cannot be read: {error}", offset=self._start) from error
        return Decoded(_finite(value), len(data), bad_text)

    def _with_readable_texts(self, data: bytes) -> tuple[bytes, int | None]:
        """Replace all bytes that aren't UTF-8 by U+FFFD. Returns the object, and where the first of these bytes are.

        We do this because games have written names like that, and it would be a pity to lose all other metadata because
        of one of them.
        """
        parts, past = [], 0
        bad_text: int | None = None
        for length_at, at, end in self._texts:
            raw = data[at:end]
            try:
                raw.decode()
            except UnicodeDecodeError as error:
                bad_text = at + error.start if bad_text is None else bad_text
                text = raw.decode(errors="replace").encode()
                type_ = b"S" if data[length_at] == _CHARACTER else b""
                parts += [data[past:length_at], type_, _encode_int(len(text)), text]
                past = end
        return b"".join([*parts, data[past:]]) if parts else data, bad_text

    def _token(self, data: bytes) -> int | None:
        """Note the token at the current position and return its length, or `None` if it is incomplete."""
        at = self._position
        if at >= len(data):
            return None
        code = data[at]
        if not self._closers and code != _OBJECT:
            raise self._refuse("metadata is not an object")
        if self._closers and code == self._closers[-1] and (code != _OBJECT_END or self._key_next):
            self._closers.pop()
            self._value_taken()
            return 1
        if self._key_next:
            width = self._counted(data, at)
            if width is not None:
                self._key_next = False
            return width
        if code in _FIXED_WIDTHS:
            width = 1 + _FIXED_WIDTHS[code]
            if at + width > len(data):
                return None
            if code == _CHARACTER:
                self._texts.append((at, at + 1, at + width))
            self._value_taken()
            return width
        if code == _STRING:
            width = self._counted(data, at + 1)
            if width is None:
                return None
            self._value_taken()
            return 1 + width
        if code in (_OBJECT, _ARRAY):
            if len(self._closers) == MAX_DEPTH:
                raise self._refuse(f"metadata is deeper than {MAX_DEPTH}")
            self._closers.append(_OBJECT_END if code == _OBJECT else _ARRAY_END)
            self._key_next = code == _OBJECT
            return 1
        raise self._refuse(f"metadata has the marker {code:#04x}, which is not accepted")

    def _value_taken(self) -> None:
        self._items += 1
        if self._items > MAX_ITEMS:
            raise self._refuse(f"metadata has more than {MAX_ITEMS} values")
        self._key_next = bool(self._closers) and self._closers[-1] == _OBJECT_END

    def _counted(self, data: bytes, at: int) -> int | None:
        """Return how many bytes the length field at `at` and the text after it take, or `None` if they are
        incomplete.
        """
        if at >= len(data):
            return None
        width = _LENGTHS.get(data[at])
        if width is None:
            raise self._refuse(f"metadata has the length type {data[at]:#04x}, which is not accepted")
        if at + 1 + width > len(data):
            return None
        count = int.from_bytes(data[at + 1 : at + 1 + width], "big", signed=data[at] != ord("U"))
        if not 0 <= count <= MAX_BYTES:
            raise self._refuse(f"metadata has a text of {count} bytes")
        total = 1 + width + count
        if at + total > MAX_BYTES:  # checked before the text is complete, so the result does not depend on the reads
            raise self._too_long()
        if at + total > len(data):
            return None
        self._texts.append((at, at + 1 + width, at + total))
        return total

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
    return _encode_int(len(raw)) + raw


def _encode_int(value: int) -> bytes:
    return b"U" + bytes([value]) if value < 256 else b"l" + value.to_bytes(4, "big")


def _finite(value: Any) -> Any:
    """Replace all numbers that aren't finite by null, which is their only form in JSON."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
