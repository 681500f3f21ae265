"""The boundaries of events: the Event Payloads table, and how you can use it to walk over the events.

Event Payloads (0x35) comes once per game, and is the first event of the raw array. Its second byte is the size of
everything that follows, including this byte. After that, there are rows of three bytes, which contain a command byte
and the payload size of this command. The size is a big-endian u16, and doesn't include the command byte.

Message Splitter (0x10, since 3.3.0) contains a part of an event that is too large for one. Up to now, this is only the
Gecko List.

In this module and others, `widths` is a tuple of 256 event widths in bytes, by command byte. These include the command
byte. If the replay doesn't declare a command, its width is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from slpstream.formats.slippi.commands import GECKO_LIST
from slpstream.formats.slippi.container import HEADER_BYTES
from slpstream.model.errors import FramingError

EVENT_PAYLOADS = 0x35
MAX_GECKO_LIST_BYTES = 1 << 20
"""Limit for the Gecko List; the longest known one has 70,496 bytes."""

_HEAD_BYTES = 2
_ROW_BYTES = 3
_KEPT = 64
_USED, _COMMAND, _LAST = 0x201, 0x203, 0x204
"""Offsets: the number of bytes used in the block of 512, as u16; the inner command; 1 in the last part."""
MIN_SPLITTER_BYTES = _LAST + 1
"""Narrower Message Splitters have no effect."""


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


def width_of_event_payloads(data: bytes, start: int, offset: int) -> int | None:
    """Return how many bytes the Event Payloads event at `data[start]` has, or `None` if its size byte is still missing.

    `offset` is the file offset of `data[start]`. Raises `FramingError` if there's another event, or if its size isn't
    3n + 1.
    """
    if data[start] != EVENT_PAYLOADS:
        raise FramingError(f"expected Event Payloads, found {data[start]:#04x}", offset=offset, command=data[start])
    if start + 1 >= len(data):
        return None
    size = data[start + 1]
    if size < 1 or size % _ROW_BYTES != 1:
        raise FramingError(f"Event Payloads has the impossible size {size}", offset=offset + 1, command=EVENT_PAYLOADS)
    return 1 + size


@lru_cache(maxsize=_KEPT)
def read_event_payloads(event: bytes) -> EventPayloads:
    """Parse a complete Event Payloads event. If a command is declared more than once, the last declaration counts."""
    sizes = {
        event[at]: int.from_bytes(event[at + 1 : at + _ROW_BYTES], "big")
        for at in range(_HEAD_BYTES, len(event), _ROW_BYTES)
    }
    return EventPayloads(sizes)


def event_payloads_of(data: bytes) -> tuple[EventPayloads, int] | None:
    """Return Event Payloads of a file and the file offset after it, or `None` if `data` ends before that.

    Raises `FramingError` like `width_of_event_payloads`.
    """
    if len(data) <= HEADER_BYTES:
        return None
    end = HEADER_BYTES + (width_of_event_payloads(data, HEADER_BYTES, HEADER_BYTES) or len(data))
    return (read_event_payloads(data[HEADER_BYTES:end]), end) if end <= len(data) else None


def gecko_list_part(splitter: bytes) -> tuple[bytes, bool] | None:
    """Return the part of the Gecko List in a Message Splitter, and whether it is the last one.

    If it is too small, or a part of another event, this returns `None`. We ignore the declared size of the Gecko List,
    because it doesn't fit into 16 bits.
    """
    if len(splitter) < MIN_SPLITTER_BYTES or splitter[_COMMAND] != GECKO_LIST:
        return None
    used_bytes = int.from_bytes(splitter[_USED:_COMMAND], "big")
    return splitter[1 : 1 + min(used_bytes, _USED - 1)], bool(splitter[_LAST])
