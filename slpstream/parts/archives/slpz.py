"""Slippi replays that are compressed as `.slpz`.

To compress a replay, its events are sorted by command, the payloads of each command are stored byte by byte, and then
zstd is applied. All numbers are big-endian. The sections follow each other without gaps, and the block goes up to the
end of the file:

| offset | type | field |
| --- | --- | --- |
| 0 | uint32 | version, 0 |
| 4 | uint32 | offset of the Event Payloads event, 24 |
| 8 | uint32 | offset of the Game Start event |
| 12 | uint32 | offset of the metadata |
| 16 | uint32 | offset of the compressed block |
| 20 | uint32 | size of the block when decompressed |

If you decompress the block, you first get the number of events after Game Start (uint32) and their command bytes in the
order of the file. Then, for each command in ascending order, there are the first bytes of all its payloads, then all
second bytes, and so on. If you put this together, you get the original file, byte for byte. Source:
AlexanderHarrison/slpz 1.3.0 (MIT or Apache-2.0).
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import GAME_START
from slpstream.formats.slippi.framing import EVENT_PAYLOADS
from slpstream.model.errors import FormatError, Unsupported, WrongFormat

_HEADER = struct.Struct(">6I")
_COUNT = struct.Struct(">I")
_ENTRY_BYTES = 3
_MAX_EVENTS = 4 << 20
"""A game of eight minutes with four players and many items has about 700,000."""
_EVENTS_AT_ONCE = 1 << 16
_METADATA_STARTS = (b"U\x08metadata", b"}")

Decompress = Callable[[bytes, int], bytes]
"""(zstd frame, size) to the decompressed bytes, at most one more than `size`. Raises `OSError` for damaged data."""


def unpack(data: bytes, decompress: Decompress, max_bytes: int) -> bytes:
    """Return the replay that is contained in a `.slpz` file. This needs about twice as much memory as the replay.

    If the file is damaged or isn't a `.slpz`, this raises `FormatError`. It does the same if the result would be larger
    than `max_bytes`. The size in the header is checked before we allocate anything.
    """
    if len(data) < _HEADER.size:
        raise WrongFormat("not a slpz file: shorter than its header", offset=len(data))
    version, payloads_at, start_at, metadata_at, block_at, block_bytes = _HEADER.unpack_from(data)
    if version:
        raise Unsupported(f"slpz version {version}, expected 0", offset=0)
    if payloads_at != _HEADER.size or not payloads_at < start_at < metadata_at <= block_at < len(data):
        raise WrongFormat("not a slpz file: the sections are not in order", offset=4)
    if block_bytes < _COUNT.size or block_bytes > max_bytes:
        raise FormatError(
            f"the compressed block claims {block_bytes:,} bytes, at most {max_bytes:,} are read", offset=20
        )
    sizes = _sizes(data[payloads_at:start_at], payloads_at)
    if sizes.get(GAME_START) != metadata_at - start_at - 1 or data[start_at] != GAME_START:
        raise FormatError("the Game Start is damaged", offset=start_at)
    metadata = data[metadata_at:block_at]
    if metadata and not (metadata.startswith(_METADATA_STARTS) and metadata.endswith(b"}")):
        raise FormatError("the metadata are damaged", offset=metadata_at)
    block = decompress(data[block_at:], block_bytes)
    if len(block) != block_bytes:
        raise FormatError(
            f"the compressed block has another size than the {block_bytes:,} bytes of the header", offset=20
        )
    order, rows = _rows(block, sizes, block_at)
    del block
    events = _in_order(order, rows, sizes)
    rows.clear()
    head = data[payloads_at:metadata_at]
    return b"".join((container.header(len(head) + len(events)), head, events, metadata))


def _sizes(event: bytes, offset: int) -> dict[int, int]:
    """Return the size of each command's payload, which is declared in the Event Payloads event."""
    if event[0] != EVENT_PAYLOADS or len(event) < 2 or len(event) != 1 + event[1] or event[1] % 3 != 1:
        raise FormatError("the Event Payloads are damaged", offset=offset)
    entries = range(2, len(event), _ENTRY_BYTES)
    return {event[at]: int.from_bytes(event[at + 1 : at + _ENTRY_BYTES], "big") for at in entries}


def _rows(block: bytes, sizes: dict[int, int], offset: int) -> tuple[bytes, dict[int, bytearray]]:
    """Return the commands in the order of the file, and for each command, all its events one after the other.

    You have to pass a decompressed block. `offset` is where the block is in its file.
    """
    (count,) = _COUNT.unpack_from(block)
    if count > len(block) - _COUNT.size:
        raise FormatError(f"{count:,} events do not fit into the compressed block", offset=offset)
    if count > _MAX_EVENTS:
        raise FormatError(
            f"{count:,} events are more than any game has, at most {_MAX_EVENTS:,} are read", offset=offset
        )
    order = block[_COUNT.size : _COUNT.size + count]
    at = _COUNT.size + count
    columns: list[tuple[int, int, int]] = []
    for command in sorted(set(order)):
        size = sizes.get(command)
        if size is None:
            raise FormatError(f"command 0x{command:02x} is not declared", offset=offset, command=command)
        times = order.count(command)
        columns.append((command, times, at))
        at += size * times
    if at != len(block):
        raise FormatError("the events do not fill the compressed block", offset=offset)
    found = {}
    for command, times, first in columns:
        width = 1 + sizes[command]
        rows = bytearray(width * times)
        rows[::width] = bytes([command]) * times
        for column in range(1, width):
            begin = first + (column - 1) * times
            rows[column::width] = block[begin : begin + times]
        found[command] = rows
    return order, found


def _in_order(order: bytes, rows: dict[int, bytearray], sizes: dict[int, int]) -> bytearray:
    """Put the events back into the order of the file."""
    widths, taken = [0] * 256, [0] * 256
    for command in rows:
        widths[command] = 1 + sizes[command]
    events = bytearray()
    for first_event in range(0, len(order), _EVENTS_AT_ONCE):
        some = []
        for command in order[first_event : first_event + _EVENTS_AT_ONCE]:
            width, begin = widths[command], taken[command]
            some.append(rows[command][begin : begin + width])
            taken[command] = begin + width
        events += b"".join(some)
    return events
