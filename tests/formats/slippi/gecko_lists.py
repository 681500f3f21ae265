"""Gecko lists for tests, code by code."""

from __future__ import annotations

import struct
from collections.abc import Iterable

INSERT, WRITE_32, STRING, SERIAL = 0xC2, 0x04, 0x06, 0x08


def code(address: int, type_: int = WRITE_32, words: int = 0, value: int = 0) -> bytes:
    """One code; `words` is the number of its lines for an insert, and that of its bytes for a string."""
    first = struct.pack(">I", (type_ << 24) | (address & 0x01FFFFFF))
    if type_ == INSERT:
        return first + struct.pack(">I", words) + struct.pack(">Q", value) * words
    if type_ == STRING:
        return first + struct.pack(">I", words) + bytes((words + 7) // 8 * 8)
    if type_ == SERIAL:
        return first + bytes(12)
    return first + struct.pack(">I", value)


def hooks(addresses: Iterable[int], value: int = 0) -> bytes:
    """An insert of two lines at each address."""
    return b"".join(code(address, INSERT, 2, value) for address in addresses)
