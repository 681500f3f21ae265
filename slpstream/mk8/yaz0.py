"""Yaz0, bounded: a block never becomes larger than it may, and never takes longer than it may.

16 bytes of header (`Yaz0`, u32 size, 8 bytes ignored), then groups: a flag byte read from its top bit, where 1 is a
literal byte and 0 a copy of earlier output. A copy is two bytes, 4 bits of length and 12 of distance; length 0 takes a
third byte. What follows the last byte of output is padding.
"""

from __future__ import annotations

from slpstream.errors import FramingError

MAGIC = b"Yaz0"
HEADER_BYTES = 16
MOST_RATIO = 88
"""A group of 25 bytes makes 8 copies of 273 bytes at most, which is less than 88 for one."""


def declared_size(block: bytes, *, most_bytes: int, offset: int) -> int:
    """The size that the header of a block declares.

    `offset` is where the block is in the file, for errors. Raises `FramingError` for no header, a size above
    `most_bytes`, and a size that so few bytes cannot make.
    """
    if len(block) < HEADER_BYTES:
        raise FramingError(f"a Yaz0 block of {len(block)} bytes has no room for its header", offset=offset)
    if block[:4] != MAGIC:
        raise FramingError(f"a Yaz0 block begins with {block[:4].hex(' ')}", offset=offset)
    size = int.from_bytes(block[4:8], "big")
    if size > most_bytes:
        raise FramingError(f"a Yaz0 block declares {size} bytes; {most_bytes} are the most", offset=offset + 4)
    if size > MOST_RATIO * (len(block) - HEADER_BYTES):
        raise FramingError(f"a Yaz0 block of {len(block)} bytes cannot hold the {size} it declares", offset=offset + 4)
    return size


def decompress(block: bytes, *, most_bytes: int, most_steps: int, offset: int) -> tuple[bytes, int]:
    """A block to its content and the steps that were taken: groups, runs of literals in them, copies.

    Raises `FramingError` as `declared_size` does, for a block that ends before its content, a copy from before the
    start, and more than `most_steps` steps (looked at after each group).
    """
    size = declared_size(block, most_bytes=most_bytes, offset=offset)
    out = bytearray()
    at, steps, produced = HEADER_BYTES, 0, 0
    try:
        while produced < size:
            plan = _PLANS[block[at]]
            at += 1
            steps += 1 + len(plan)
            if steps > most_steps:
                raise FramingError(f"unpacking takes more than the {most_steps} steps allowed", offset=offset + at)
            for literals in plan:
                if literals:
                    # At the end of the block these may be fewer; then the next read is behind it, unless all is there.
                    out += block[at : at + literals]
                    at += literals
                else:
                    pair = block[at] << 8 | block[at + 1]
                    at += 2
                    length, distance = pair >> 12, (pair & 0xFFF) + 1
                    if length:
                        length += 2
                    else:
                        length = block[at] + 0x12
                        at += 1
                    start = produced - distance
                    if start < 0:
                        raise FramingError(
                            f"a copy from {-start} bytes before the start of a Yaz0 block", offset=offset + at
                        )
                    if distance >= length:
                        out += out[start : start + length]
                    else:
                        out += (out[start:] * (length // distance + 1))[:length]
                produced = len(out)
                if produced >= size:
                    break
    except IndexError:
        raise FramingError(
            f"a Yaz0 block ends after {produced} of the {size} bytes it declares", offset=offset + len(block)
        ) from None
    return bytes(out[:size]), steps


def _plan(flags: int) -> tuple[int, ...]:
    """What a flag byte says: how many literals follow each other, and 0 for a copy."""
    plan: list[int] = []
    for bit in range(7, -1, -1):
        if not flags >> bit & 1:
            plan.append(0)
        elif plan and plan[-1]:
            plan[-1] += 1
        else:
            plan.append(1)
    return tuple(plan)


_PLANS = tuple(_plan(flags) for flags in range(0x100))
