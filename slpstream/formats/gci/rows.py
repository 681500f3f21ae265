"""Rows of this format's tables: fields at byte offsets, and fields of a bit stream.

One row is documentation, decoder input and test subject, as in `slpstream.model.fields`. The tables there
describe events with a command byte and a declared size, which this format does not have.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from slpstream.formats.gci.bits import BitReader


class ByteRow(NamedTuple):
    """A field at a byte offset.

    `code` is its `struct` code, big-endian. Floats are kept as their 32-bit patterns (`I`), because a NaN might not
    survive a conversion unchanged.
    """

    name: str
    offset: int
    code: str
    doc: str
    sure: str = "documented"

    def pack(self, value: Any) -> bytes:
        """Encode a value. Raises `ValueError` when it does not fit the field."""
        size_bytes = struct.calcsize(self.code)
        if self.code.endswith("s"):
            # struct would truncate or pad silently.
            if len(value) != size_bytes:
                raise ValueError(f"{self.name}: exactly {size_bytes} bytes are needed, not {len(value)}")
            return bytes(value)
        try:
            return struct.pack(f">{self.code}", value)
        except struct.error as error:
            raise ValueError(f"{self.name}: {error}") from error


class ByteTable:
    """Rows that cover a block from its first byte to its last, without gaps."""

    def __init__(self, rows: Sequence[ByteRow]) -> None:
        self.rows = tuple(rows)
        self._struct = struct.Struct(">" + "".join(row.code for row in rows))
        self.size_bytes = self._struct.size

    def unpack(self, data: bytes, offset: int = 0) -> dict[str, Any]:
        """Return the values by row name. `data` must have the whole block at `offset`."""
        return dict(zip((row.name for row in self.rows), self._struct.unpack_from(data, offset), strict=True))

    def pack(self, values: object) -> bytes:
        """Encode an object that has an attribute for each row. Raises `ValueError` for a value that does not fit."""
        return b"".join(row.pack(getattr(values, row.name)) for row in self.rows)


class BitRow(NamedTuple):
    """A field of the bit stream.

    It is present when the racer array type is in `since` to `until` and, if `human_only` is set, the racer is human.
    """

    name: str
    bits: int
    doc: str
    since: int = 0
    until: int = 127
    human_only: bool = False
    sure: str = "documented"

    def present(self, array_type: int, human: bool = True) -> bool:
        """Whether the field is present."""
        return self.since <= array_type <= self.until and (human or not self.human_only)


def take_rows(reader: BitReader, rows: Sequence[BitRow], array_type: int, human: bool = True) -> dict[str, int]:
    """Read the rows that are present, by name."""
    return {row.name: reader.take(row.bits, row.name) for row in rows if row.present(array_type, human)}


def as_float(pattern: int) -> float:
    """The IEEE-754 binary32 of a 32-bit pattern; may be NaN or infinite."""
    value: float = struct.unpack(">f", pattern.to_bytes(4, "big"))[0]
    return value
