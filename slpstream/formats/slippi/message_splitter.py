"""Message Splitter (0x10, since 3.3.0) contains a part of an event that is too large for one.

Up to now, this is only the Gecko List.
"""

from __future__ import annotations

from slpstream.formats.slippi.commands import GECKO_LIST

MAX_BYTES = 1 << 20
"""Limit for the Gecko List; the longest known one has 70,496 bytes."""

_USED, _COMMAND, _LAST = 0x201, 0x203, 0x204
"""Offsets: the number of bytes used in the block of 512, as u16; the inner command; 1 in the last part."""
MIN_SIZE_BYTES = _LAST
"""Message Splitters with a smaller payload have no effect."""


def block(buffer: bytes, start: int, end: int) -> tuple[bytes, bool] | None:
    """Return the part of the Gecko List in the Message Splitter `buffer[start:end]`, and whether it is the last one.

    If it is too small, or a part of another event, this returns `None`. We ignore the declared size of the Gecko List,
    because it doesn't fit into 16 bits.
    """
    if end - start <= MIN_SIZE_BYTES or buffer[start + _COMMAND] != GECKO_LIST:
        return None
    used_bytes = int.from_bytes(buffer[start + _USED : start + _COMMAND], "big")
    return buffer[start + 1 : start + 1 + min(used_bytes, _USED - 1)], bool(buffer[start + _LAST])
