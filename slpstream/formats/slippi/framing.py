"""The boundaries of events: the Event Payloads table, and how you can use it to walk over the events.

Event Payloads (0x35) comes once per game, and is the first event of the raw array. Its second byte is the size of
everything that follows, including this byte. After that, there are rows of three bytes, which contain a command byte
and the payload size of this command. The size is a big-endian u16, and doesn't include the command byte.

In this module and others, `widths` is a tuple of 256 event widths in bytes, by command byte. These include the command
byte. If the replay doesn't declare a command, its width is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.model.errors import FramingError

EVENT_PAYLOADS = 0x35

_HEAD_BYTES = 2
_ROW_BYTES = 3
_KEPT = 64


class EventPayloads:
    """The sizes that are declared in an Event Payloads event."""

    def __init__(self, sizes: dict[int, int]) -> None:
        self.sizes = sizes
        """The declared payload sizes in bytes, without the command byte, by command byte."""
        self.widths = tuple(sizes.get(command, -1) + 1 for command in range(256))


def walk_events(data: bytes, start: int, limit: int, widths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the command byte, start and end of each whole event in `data[start:limit]`.

    This stops if it gets to an undeclared command byte, or to an event that goes beyond `limit`.
    """
    while start < limit:
        command = data[start]
        end = start + widths[command]
        if end == start or end > limit:
            return
        yield command, start, end
        start = end


def event_payloads_at(data: bytes, start: int, offset: int) -> tuple[EventPayloads, int] | None:
    """Return the Event Payloads event at `data[start]` and the position after it, or `None` if `data` ends before that.

    `offset` is the file offset of `data[start]`. Raises `FramingError` if there's another event, or if its size isn't
    3n + 1.
    """
    if start >= len(data):
        return None
    if data[start] != EVENT_PAYLOADS:
        raise FramingError(f"expected Event Payloads, found {data[start]:#04x}", offset=offset, command=data[start])
    if start + 1 >= len(data):
        return None
    size = data[start + 1]
    if size < 1 or size % _ROW_BYTES != 1:
        raise FramingError(f"Event Payloads has the impossible size {size}", offset=offset + 1, command=EVENT_PAYLOADS)
    end = start + 1 + size
    return (read_event_payloads(data[start:end]), end) if end <= len(data) else None


def event_payloads_of(data: bytes) -> tuple[EventPayloads, int] | None:
    """Return Event Payloads of a file, like `event_payloads_at`."""
    return event_payloads_at(data, HEADER_BYTES, HEADER_BYTES)


@lru_cache(maxsize=_KEPT)
def read_event_payloads(event: bytes) -> EventPayloads:
    """Parse a complete Event Payloads event. If a command is declared more than once, the last declaration counts."""
    sizes = {
        event[at]: int.from_bytes(event[at + 1 : at + _ROW_BYTES], "big")
        for at in range(_HEAD_BYTES, len(event), _ROW_BYTES)
    }
    return EventPayloads(sizes)
