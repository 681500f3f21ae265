"""Yaz0, bounded: a block never becomes larger than it may, and never takes longer than it may.

16 bytes of header (`Yaz0`, u32 size, 8 bytes ignored), then groups: a flag byte read from its top bit, where 1 is a
literal byte and 0 a copy of earlier output. A copy is two bytes, 4 bits of length and 12 of distance; length 0 takes a
third byte. What follows the last byte of output is padding.

A group without third bytes is read with one `struct` call, since its flag byte then says where everything is; what is
odd about a group (third bytes, the end of the block, a copy of what is not there) is left to the slow way.
"""

from __future__ import annotations

import re
import struct

from slpstream.model.errors import FramingError

MAGIC = b"Yaz0"
HEADER_BYTES = 16
MAX_RATIO = 88
"""A group of 25 bytes makes 8 copies of 273 bytes at most, which is less than 88 for one."""


def declared_size(block: bytes, *, max_bytes: int, offset: int) -> int:
    """The size that the header of a block declares.

    `offset` is where the block is in the file, for errors. Raises `FramingError` for no header, a size above
    `max_bytes`, and a size that so few bytes cannot make.
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
    """A block to its content and the work that it was (see `_WORK`).

    Raises `FramingError` as `declared_size` does, for a block that ends before its content, a copy from before the
    start, and more than `max_work` (looked at before each group).
    """
    size = declared_size(block, max_bytes=max_bytes, offset=offset)
    out = bytearray()
    at, work, produced, end = HEADER_BYTES, 0, 0, len(block)
    while produced < size:
        if at >= end:
            raise _cut_off(produced, size, offset + end)
        flags = block[at]
        at += 1
        work += _WORK[flags]
        if work > max_work:
            raise FramingError("unpacking is more work than is allowed", offset=offset + at)
        group = _GROUPS[flags]
        for part in group.unpack_from(block, at) if at + group.size <= end else _ODD:
            if part.__class__ is bytes:
                out += part
                continue
            start = len(out) - (part & 0xFFF) - 1
            if part < _MIN_PAIR or start < 0:
                break
            length = (part >> 12) + 2
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
        work += _WORK_BY_PARTS
        at = _by_parts(block, at, flags, out, size, offset)
        produced = len(out)
    return bytes(out[:size]), work


def _by_parts(block: bytes, at: int, flags: int, out: bytearray, size: int, offset: int) -> int:
    """One group, as far as `size` asks for it; where the next one begins."""
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
        raise _cut_off(len(out), size, offset + len(block)) from None
    return at


def _cut_off(produced: int, size: int, offset: int) -> FramingError:
    return FramingError(f"a Yaz0 block ends after {produced} of the {size} bytes it declares", offset=offset)


def _group(flags: int) -> struct.Struct:
    """What a flag byte says: literals that follow each other as bytes, copies as integers."""
    bits = f"{flags:08b}"
    return struct.Struct(">" + "".join(f"{len(run)}s" if run[0] == "1" else "H" * len(run) for run in _RUNS(bits)))


_RUNS = re.compile("1+|0+").findall
_GROUPS = tuple(_group(flags) for flags in range(0x100))
_MIN_PAIR = 0x1000
"""A pair below has a third byte."""
_ODD = (0,)
"""Stands for a group that does not fit into the block."""

# In units of about a tenth of a microsecond: a group is one, a run of literals too, a copy two, one
# that goes on into itself three.
_WORK = tuple(1 + len(re.findall("1+", f"{flags:08b}")) + 2 * f"{flags:08b}".count("0") for flags in range(0x100))
_WORK_BY_PARTS = 40
