"""Event boundaries: the Event Payloads table, and what it says of every byte that follows.

The loop itself, `code = buffer[at]; at += widths[code]`, is in the reader, where it pays to have it inline. This
module reads the table: a list of 256 widths, command byte included, where 0 stands for a command that was not
declared.
"""

from __future__ import annotations

from slpstream.formats.slippi.commands import EVENT_PAYLOADS
from slpstream.model.errors import FramingError

_HEAD_BYTES = 2
_ROW_BYTES = 3


class EventPayloads:
    """What Event Payloads 0x35 declares."""

    def __init__(self, sizes: dict[int, int]) -> None:
        self.sizes = sizes
        self.widths = [0] * 256
        for command, size in sizes.items():
            self.widths[command] = size + 1

    def size(self, command: int) -> int | None:
        """Declared payload size in bytes without the command byte; `None` when it was not declared."""
        return self.sizes.get(command)


def width_of_event_payloads(data: bytes, at: int, offset: int) -> int | None:
    """Bytes of the Event Payloads event at `data[at]`; `None` while its size byte is missing.

    Raises `FramingError` when something else stands there or its size is no 3n+1.
    """
    if data[at] != EVENT_PAYLOADS:
        raise FramingError(f"expected Event Payloads, found {data[at]:#04x}", offset=offset, command=data[at])
    if at + 1 >= len(data):
        return None
    size = data[at + 1]
    if size < 1 or size % _ROW_BYTES != 1:
        raise FramingError(f"Event Payloads has the impossible size {size}", offset=offset + 1, command=EVENT_PAYLOADS)
    return 1 + size


def read_event_payloads(event: bytes) -> EventPayloads:
    """A complete Event Payloads event to its table. The last declaration of a command counts."""
    sizes = {
        event[at]: int.from_bytes(event[at + 1 : at + _ROW_BYTES], "big")
        for at in range(_HEAD_BYTES, len(event), _ROW_BYTES)
    }
    return EventPayloads(sizes)
