"""Columns of values as byte planes, which means that all first bytes come first, then all second bytes, and so on.

The bytes of a plane are similar to each other, and where predictions are right, all of them are zero. Both helps
compression. So a block stores a list of parts, where each part is a plane or a list of values that belong to it. If a
part only contains zeros, it is left out. To know this, there is one bit for each part that tells us whether it is
stored.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence

from slpstream.model.errors import FieldError

_CODES = {1: "B", 2: "H", 4: "I"}
_LITTLE_ENDIAN = sys.byteorder == "little"


def column(matrix: bytes | bytearray, stride: int, offset: int, width: int) -> list[int]:
    """Return the big-endian values at `offset` in each row of `stride` bytes.

    A value has `width` bytes, which can be 1, 2 or 4.
    """
    if width == 1:
        return list(matrix[offset::stride])
    joined = bytearray(len(matrix) // stride * width)
    for k in range(width):
        joined[k::width] = matrix[offset + k :: stride]
    return from_octets(bytes(joined), width)


def set_column(matrix: bytearray, stride: int, offset: int, width: int, values: Sequence[int]) -> None:
    """Store values at `offset` in each row, so that you can get them again with `column`."""
    octets = to_octets(values, width)
    for k in range(width):
        matrix[offset + k :: stride] = octets[k::width]


def to_octets(values: Sequence[int], width: int) -> bytes:
    """Return values as consecutive big-endian integers of `width` bytes."""
    words = array(_CODES[width], values)
    if _LITTLE_ENDIAN:
        words.byteswap()
    return words.tobytes()


def from_octets(octets: bytes, width: int) -> list[int]:
    """The inverse of `to_octets`."""
    words = array(_CODES[width], octets)
    if _LITTLE_ENDIAN:
        words.byteswap()
    return words.tolist()


class PartsWriter:
    """Collects the parts of a block."""

    def __init__(self) -> None:
        self._present: list[bool] = []
        self._stored: list[bytes] = []

    def put(self, part: bytes) -> None:
        """Append a part of any length."""
        present = part.count(0) != len(part)
        self._present.append(present)
        if present:
            self._stored.append(part)

    def put_values(self, values: Sequence[int], width: int) -> None:
        """Append values of `width` bytes. Each of their planes becomes one part."""
        octets = to_octets(values, width)
        for k in range(width):
            self.put(octets[k::width])

    def to_bytes(self) -> tuple[bytes, bytes]:
        """Return the bits of the parts, beginning with the most significant one, and those parts that are stored."""
        bits = "".join("1" if present else "0" for present in self._present)
        bits = bits.ljust((len(bits) + 7) // 8 * 8, "0")
        return int(bits or "0", 2).to_bytes(len(bits) // 8, "big"), b"".join(self._stored)


class PartsReader:
    """Reads the output of a `PartsWriter`. If there are no more parts or bytes, its methods raise `FieldError`."""

    def __init__(self, present: bytes, stored: bytes) -> None:
        self._present = present
        self._next = 0
        self._stored = stored
        self._at = 0

    def take(self, size: int) -> bytes:
        """Return the next part, which has `size` bytes."""
        bit = self._next
        self._next = bit + 1
        if bit >> 3 >= len(self._present):
            raise FieldError("the block has too few parts", offset=0)
        if not self._present[bit >> 3] >> (7 - (bit & 7)) & 1:
            return bytes(size)
        at = self._at
        self._at = at + size
        if self._at > len(self._stored):
            raise FieldError("the block has too few bytes", offset=0)
        return self._stored[at : at + size]

    def take_values(self, count: int, width: int) -> list[int]:
        """Return the next `count` values of `width` bytes."""
        if width == 1:
            return list(self.take(count))
        octets = bytearray(count * width)
        for k in range(width):
            octets[k::width] = self.take(count)
        return from_octets(bytes(octets), width)

    def finish(self) -> None:
        """Check that nothing is left, and raise `FieldError` if there are more parts or bytes."""
        if self._at != len(self._stored) or (self._next + 7) >> 3 != len(self._present):
            raise FieldError("the block has more parts than its rows need", offset=0)
