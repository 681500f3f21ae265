"""The rows of this format's tables. They are fields at byte offsets, or fields of a bit stream.

As in `slpstream.model.fields`, a row serves as documentation, as input of the decoder and as the subject of a test. We
can't use those tables here, because they are for events with a command byte and a declared size, and this format
doesn't have them.
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
        """Encode a value. If it doesn't fit into the field, this raises `ValueError`."""
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
    """Rows that cover a whole block without any gaps."""

    def __init__(self, rows: Sequence[ByteRow]) -> None:
        self.rows = tuple(rows)
        self._struct = struct.Struct(">" + "".join(row.code for row in rows))
        self.size_bytes = self._struct.size

    def unpack(self, data: bytes, offset: int = 0) -> dict[str, Any]:
        """Return the values by the names of their rows. `data` must contain the whole block at `offset`."""
        return dict(zip((row.name for row in self.rows), self._struct.unpack_from(data, offset), strict=True))

    def pack(self, values: object) -> bytes:
        """Encode an object that has one attribute for each row. If a value doesn't fit, this raises `ValueError`."""
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
    """Read those rows that are present, by name."""
    return {row.name: reader.take(row.bits, row.name) for row in rows if row.present(array_type, human)}


def as_float(pattern: int) -> float:
    """Convert a 32-bit pattern to the IEEE-754 binary32 that it stands for. The result might be NaN or infinite."""
    value: float = struct.unpack(">f", pattern.to_bytes(4, "big"))[0]
    return value
