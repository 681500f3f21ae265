"""Event boundaries: the Event Payloads table, and the walk over the events that it makes possible.

Event Payloads 0x35 is the first event of the raw array and comes once per game. Its second byte is the size of what
follows, itself included; then come rows of three bytes: a command byte, and the payload size of that command as a
big-endian u16, which does not count the command byte.

`widths` here and in the other modules is a list of 256 event widths in bytes, by command byte. They include the command
byte; 0 stands for a command that the replay does not declare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slpstream.model.errors import FramingError

EVENT_PAYLOADS = 0x35

_HEAD_BYTES = 2
_ROW_BYTES = 3


class EventPayloads:
    """The sizes that an Event Payloads event declares."""

    def __init__(self, sizes: dict[int, int]) -> None:
        self.sizes = sizes
        self.widths = [0] * 256
        for command, size in sizes.items():
            self.widths[command] = size + 1

    def size(self, command: int) -> int | None:
        """The declared payload size in bytes, without the command byte; `None` for an undeclared command."""
        return self.sizes.get(command)


def walk_events(data: bytes, start: int, limit: int, widths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield command byte, start and end of each whole event in `data[start:limit]`.

    Stops at the first undeclared command byte and at an event that goes beyond `limit`.
    """
    while start < limit:
        command = data[start]
        end = start + widths[command]
        if end == start or end > limit:
            return
        yield command, start, end
        start = end


def width_of_event_payloads(data: bytes, start: int, offset: int) -> int | None:
    """Width in bytes of the Event Payloads event at `data[start]`; `None` while its size byte is missing.

    `offset` is the file offset of `data[start]`. Raises `FramingError` when another event is there, or when its size is
    not 3n + 1.
    """
    if data[start] != EVENT_PAYLOADS:
        raise FramingError(f"expected Event Payloads, found {data[start]:#04x}", offset=offset, command=data[start])
    if start + 1 >= len(data):
        return None
    size = data[start + 1]
    if size < 1 or size % _ROW_BYTES != 1:
        raise FramingError(f"Event Payloads has the impossible size {size}", offset=offset + 1, command=EVENT_PAYLOADS)
    return 1 + size


def read_event_payloads(event: bytes) -> EventPayloads:
    """The table of a complete Event Payloads event. The last declaration of a command counts."""
    sizes = {
        event[at]: int.from_bytes(event[at + 1 : at + _ROW_BYTES], "big")
        for at in range(_HEAD_BYTES, len(event), _ROW_BYTES)
    }
    return EventPayloads(sizes)
