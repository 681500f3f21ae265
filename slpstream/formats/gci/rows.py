"""Rows of this format's tables: fields at byte offsets, and fields of a bit stream.

One row is documentation, decoder input and test subject at once, as in `slpstream.model.fields`. The tables there
describe events with a command byte and a declared size, which this format does not have.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from slpstream.formats.gci.bits import BitReader


class ByteRow(NamedTuple):
    """A field at a byte offset. `code` is its `struct` code, big-endian; floats are kept as their 32-bit pattern (`I`),
    because a NaN would not come back as it was."""

    name: str
    offset: int
    code: str
    doc: str
    sure: str = "documented"

    def pack(self, value: Any) -> bytes:
        """The field's bytes. Raises `ValueError` for what does not fit."""
        size_bytes = struct.calcsize(self.code)
        if self.code.endswith("s"):
            # `struct` would cut or pad silently.
            if len(value) != size_bytes:
                raise ValueError(f"{self.name}: exactly {size_bytes} bytes are needed, not {len(value)}")
            return bytes(value)
        try:
            return struct.pack(f">{self.code}", value)
        except struct.error as error:
            raise ValueError(f"{self.name}: {error}") from error


class ByteTable:
    """Rows that cover a block from its first byte to its last, with no gap."""

    def __init__(self, rows: Sequence[ByteRow]) -> None:
        self.rows = tuple(rows)
        self._struct = struct.Struct(">" + "".join(row.code for row in rows))
        self.size_bytes = self._struct.size

    def unpack(self, data: bytes, at: int = 0) -> dict[str, Any]:
        """The values by row name; `data` has the whole block at `at`."""
        return dict(zip((row.name for row in self.rows), self._struct.unpack_from(data, at), strict=True))

    def pack(self, values: object) -> bytes:
        """The block of an object that has an attribute for each row. Raises `ValueError` for what does not fit."""
        return b"".join(row.pack(getattr(values, row.name)) for row in self.rows)


class BitRow(NamedTuple):
    """A field of the bit stream. It is there when the racer array type lies in `since` to `until`, and for
    `human_only` when the racer is one."""

    name: str
    bits: int
    doc: str
    since: int = 0
    until: int = 127
    human_only: bool = False
    sure: str = "documented"

    def present(self, array_type: int, human: bool = True) -> bool:
        """Whether the field is there."""
        return self.since <= array_type <= self.until and (human or not self.human_only)


def take_rows(reader: BitReader, rows: Sequence[BitRow], array_type: int, human: bool = True) -> dict[str, int]:
    """The values of the rows that are there, by name."""
    return {row.name: reader.take(row.bits, row.name) for row in rows if row.present(array_type, human)}


def as_float(pattern: int) -> float:
    """The IEEE-754 binary32 of a 32-bit pattern; may be NaN or infinite."""
    value: float = struct.unpack(">f", pattern.to_bytes(4, "big"))[0]
    return value
