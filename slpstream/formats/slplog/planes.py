"""Columns as planes: all first bytes, all second bytes, ... of some values.

The bytes of one plane are alike, and most planes are zeros where a prediction holds. So a block writes one bit for
each part (a plane, or a list of values beside one) and leaves out those that are all zeros.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

from slpstream.model.errors import FieldError

_CODES = {1: "B", 2: "H", 4: "I"}
_LITTLE_ENDIAN = sys.byteorder == "little"


def column(matrix: bytes | bytearray, stride: int, offset: int, width: int) -> list[int]:
    """The big-endian values of `width` bytes (1, 2 or 4) at `offset` of each row."""
    if width == 1:
        return list(matrix[offset::stride])
    joined = bytearray(len(matrix) // stride * width)
    for k in range(width):
        joined[k::width] = matrix[offset + k :: stride]
    return from_octets(bytes(joined), width)


def set_column(matrix: bytearray, stride: int, offset: int, width: int, values: Sequence[int]) -> None:
    """The mirror of `column`."""
    octets = to_octets(values, width)
    for k in range(width):
        matrix[offset + k :: stride] = octets[k::width]


def to_octets(values: Sequence[int], width: int) -> bytes:
    """Values as big-endian bytes, one behind the other."""
    words = array(_CODES[width], values)
    if _LITTLE_ENDIAN:
        words.byteswap()
    return words.tobytes()


def from_octets(octets: bytes, width: int) -> list[int]:
    """The mirror of `to_octets`."""
    words = array(_CODES[width], octets)
    if _LITTLE_ENDIAN:
        words.byteswap()
    return words.tolist()


class PartsWriter:
    """Gathers parts."""

    def __init__(self) -> None:
        self._present: list[int] = []
        self._kept: list[bytes] = []

    def put(self, part: bytes) -> None:
        """A part of any length."""
        there = part.count(0) != len(part)
        self._present.append(there)
        if there:
            self._kept.append(part)

    def put_values(self, values: Sequence[int], width: int) -> None:
        """A part for each plane of some values."""
        octets = to_octets(values, width)
        for k in range(width):
            self.put(octets[k::width])

    def to_bytes(self) -> tuple[bytes, bytes]:
        """Which parts are there, a bit each from the most significant one on; and those that are."""
        bits = "".join("1" if there else "0" for there in self._present)
        bits = bits.ljust((len(bits) + 7) // 8 * 8, "0")
        return int(bits or "0", 2).to_bytes(len(bits) // 8, "big"), b"".join(self._kept)


class PartsReader:
    """The mirror of `PartsWriter`; raises `FieldError` when there are no more parts."""

    def __init__(self, present: bytes, kept: bytes) -> None:
        self._present = present
        self._next = 0
        self._kept = kept
        self._at = 0

    def take(self, size: int) -> bytes:
        """The next part, `size` bytes long."""
        bit = self._next
        self._next = bit + 1
        if bit >> 3 >= len(self._present):
            raise FieldError("the block has too few parts", offset=0)
        if not self._present[bit >> 3] >> (7 - (bit & 7)) & 1:
            return bytes(size)
        at = self._at
        self._at = at + size
        if self._at > len(self._kept):
            raise FieldError("the block has too few bytes", offset=0)
        return self._kept[at : at + size]

    def take_values(self, count: int, width: int) -> list[int]:
        """The mirror of `put_values`."""
        if width == 1:
            return list(self.take(count))
        octets = bytearray(count * width)
        for k in range(width):
            octets[k::width] = self.take(count)
        return from_octets(bytes(octets), width)

    def finish(self) -> None:
        """Raises `FieldError` when something is left."""
        if self._at != len(self._kept) or (self._next + 7) >> 3 != len(self._present):
            raise FieldError("the block has more than its rows", offset=0)
