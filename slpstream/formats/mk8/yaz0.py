"""Yaz0 decompression. There are limits for the size of the output, and for how much work it takes.

A block has a header of 16 bytes (`Yaz0`, u32 size, 8 ignored bytes), and then groups. A group is a flag byte and 8
items, one for each bit from the top: a 1 is a literal byte, and a 0 is a copy of earlier output. A copy takes two
bytes, with 4 bits for the length and 12 for the distance. If the length is 0, it is in a third byte. If there are more
bytes after the last byte of output, they are padding.

If none of the copies in a group has a third byte, the flag byte is enough to know the layout of the group, so we can
read it with a single `struct` call. All other groups (with third bytes, at the end of the block, or with a copy from
before the start) are read item by item.
"""

from __future__ import annotations

import re
import struct

from slpstream.model.errors import FramingError

MAGIC = b"Yaz0"
HEADER_BYTES = 16
# A group of 25 bytes makes at most 8 copies of 273 bytes each, less than 88 bytes of output per byte of input.
MAX_RATIO = 88


def declared_size(block: bytes, *, max_bytes: int, offset: int) -> int:
    """Return the size that is declared in the header of a block.

    `offset` is where the block is in the file, and is used for errors. Raises `FramingError` if the header is missing,
    if the size is above `max_bytes`, or if it is impossible that a block of this length contains so many bytes.
    """
    if len(block) < HEADER_BYTES:
        raise FramingError(f"a Yaz0 block of {len(block)} bytes has no room for its header", offset=offset)
    if block[:4] != MAGIC:
        raise FramingError(f"a Yaz0 block begins with {block[:4].hex(' ')}", offset=offset)
    size = int.from_bytes(block[4:8], "big")
    if size > max_bytes:
        raise FramingError(f"a Yaz0 block declares {size} bytes; {max_bytes} are the most", offset=offset + 4)
    if size > MAX_RATIO * (len(block) - HEADER_BYTES):
        raise FramingError(f"a Yaz0 block of {len(block)} bytes cannot hold the {size} it declares", offset=offset + 4)
    return size


def decompress(block: bytes, *, max_bytes: int, max_work: int, offset: int) -> tuple[bytes, int]:
    """Return the content of a block, and how much work it took to unpack it (see `_WORK`).

    Raises `FramingError` in the same cases as `declared_size`. It is also raised if the block ends too early, if a copy
    begins before the start of the output, or if the work exceeds `max_work`, which is checked at each group.
    """
    size = declared_size(block, max_bytes=max_bytes, offset=offset)
    out = bytearray()
    at, work, produced, end = HEADER_BYTES, 0, 0, len(block)
    while produced < size:
        if at >= end:
            raise _ends_early(produced, size, offset + end)
        flags = block[at]
        at += 1
        work += _WORK[flags]
        if work > max_work:
            raise FramingError("unpacking is more work than is allowed", offset=offset + at)
        group = _GROUPS[flags]
        for item in group.unpack_from(block, at) if at + group.size <= end else _PAST_THE_END:
            if item.__class__ is bytes:
                out += item
                continue
            start = len(out) - (item & 0xFFF) - 1
            if item < _MIN_PAIR or start < 0:
                break
            length = (item >> 12) + 2
            copy = out[start : start + length]
            if len(copy) < length:
                work += 1
                copy = (copy * length)[:length]
            out += copy
        else:
            at += group.size
            produced = len(out)
            continue
        del out[produced:]
        work += _WORK_BY_ITEM
        at = _unpack_by_item(block, at, flags, out, size, offset)
        produced = len(out)
    return bytes(out[:size]), work


def _unpack_by_item(block: bytes, at: int, flags: int, out: bytearray, size: int, offset: int) -> int:
    """Unpack one group, but stop as soon as `out` has `size` bytes. Returns where the next group begins."""
    try:
        for bit in range(7, -1, -1):
            if len(out) >= size:
                break
            if flags >> bit & 1:
                out.append(block[at])
                at += 1
                continue
            pair = block[at] << 8 | block[at + 1]
            at += 2
            length, distance = (pair >> 12) + 2, (pair & 0xFFF) + 1
            if pair < _MIN_PAIR:
                length = block[at] + 0x12
                at += 1
            start = len(out) - distance
            if start < 0:
                raise FramingError(f"a copy from {-start} bytes before the start of a Yaz0 block", offset=offset + at)
            out += (out[start:] * (length // distance + 1))[:length]
    except IndexError:
        raise _ends_early(len(out), size, offset + len(block)) from None
    return at


def _ends_early(produced: int, size: int, offset: int) -> FramingError:
    return FramingError(f"a Yaz0 block ends after {produced} of the {size} bytes it declares", offset=offset)


def _group(flags: int) -> struct.Struct:
    """Return the layout that belongs to a flag byte. Literals in a row are bytes, and each copy is an integer."""
    bits = f"{flags:08b}"
    return struct.Struct(">" + "".join(f"{len(run)}s" if run[0] == "1" else "H" * len(run) for run in _RUNS(bits)))


_RUNS = re.compile("1+|0+").findall
_GROUPS = tuple(_group(flags) for flags in range(0x100))
_MIN_PAIR = 0x1000
"""A copy of a smaller value has a third byte."""
_PAST_THE_END = (0,)
"""Replaces the items of a group that does not fit into the block, and is below `_MIN_PAIR`."""

# Units of about 0.1 microseconds: 1 for a group, 1 for a run of literals, 2 for a copy, 3 for a copy that overlaps
# its own output.
_WORK = tuple(1 + len(re.findall("1+", f"{flags:08b}")) + 2 * f"{flags:08b}".count("0") for flags in range(0x100))
_WORK_BY_ITEM = 40
