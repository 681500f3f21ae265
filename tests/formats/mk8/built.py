"""Synthetic ghosts for tests without real data. Only the fields that the reader uses are filled in."""

from __future__ import annotations

import binascii
import random
import struct
import zlib
from collections.abc import Sequence

from slpstream.formats.mk8.header import (
    BODY_BYTES,
    BODY_MAGIC,
    LAP_OFFSETS,
    MII_CRC_OFFSET,
    MII_NAME_OFFSET,
    MII_OFFSET,
    TOTAL_OFFSET,
)
from slpstream.formats.mk8.reader import Mk8Reader
from slpstream.formats.mk8.sections import BLOCK_BYTES, INFO_BYTES
from slpstream.model.events import Event
from tests.formats import logs

LAPS = (32033, 20317, 30866)
NAME = "Ghost\u3000え"
FILLER = "93b3e7"
FILE_NAME = "".join(
    (
        "gs2f3f1c00001d0f0b",
        *("1170d8", "020021", "01413d", "01e362", FILLER, FILLER),
        NAME.encode("utf-16-be").hex().ljust(40, "0"),
        *("31", "00", "0000", FILLER, FILLER),
    )
)


def time_record(milliseconds: int) -> bytes:
    minutes, rest = divmod(milliseconds, 60_000)
    return struct.pack(">HBxH6x", minutes, *divmod(rest, 1000))


def header(
    body_bytes: int, laps: Sequence[int] = LAPS, lap_offsets: Sequence[int] = LAP_OFFSETS, track: int = 63
) -> bytes:
    """The body's header; unused laps are 0:00.000."""
    data = bytearray(BODY_BYTES)

    def put(at: int, code: str, *values: int | bytes) -> None:
        struct.pack_into(">" + code, data, at, *values)

    data[:6] = BODY_MAGIC
    put(6, "2sI7I", b"\x08\x00", body_bytes, 2016, 8, 4, 4, 17, 58, 16)
    for index in range(12):
        driver = (29, 15, 11, 28, 0, 0, 0, 2) if index == 0 else (0, 0, 0, 0, 0, 0, 4, 2)
        put(0x2C + 0x1C * index, "4I2B2x2I", *driver)
    put(0x17C, "6I2B", track, 0, 1, 2, 0, 2, 0, 0)
    put(0x1A8, "I", 1)
    data[MII_OFFSET + 4 : MII_OFFSET + 8] = b"MII!"
    name = NAME.encode("utf-16-le")
    data[MII_OFFSET + MII_NAME_OFFSET : MII_OFFSET + MII_NAME_OFFSET + len(name)] = name
    put(MII_CRC_OFFSET, "H", binascii.crc_hqx(bytes(data[MII_OFFSET:MII_CRC_OFFSET]), 0))
    put(0x2A4, "2B", 49, 36)
    data[0x2F4:0x304] = b"profile-profile-"
    name = NAME.encode("utf-16-be")
    data[0x304 : 0x304 + len(name)] = name
    for at, lap in zip(lap_offsets, laps, strict=False):
        data[at : at + 12] = time_record(lap)
    data[TOTAL_OFFSET : TOTAL_OFFSET + 12] = time_record(sum(laps))
    return bytes(data)


def yaz0(data: bytes, *, padded: bool = True) -> bytes:
    """Compress `data`, copying from the nearest earlier occurrence of the next three bytes."""
    out, at = bytearray(b"Yaz0" + struct.pack(">I8x", len(data))), 0
    while at < len(data):
        flags, group = 0, bytearray()
        for bit in range(7, -1, -1):
            if at >= len(data):
                break
            found = data.rfind(data[at : at + 3], max(0, at - 0x1000), at + 2) if at + 3 <= len(data) else -1
            if found < 0 or found == at:
                flags |= 1 << bit
                group.append(data[at])
                at += 1
                continue
            length = 3
            while length < 273 and at + length < len(data) and data[found + length] == data[at + length]:
                length += 1
            distance = at - found - 1
            if length < 18:
                group += bytes([(length - 2) << 4 | distance >> 8, distance & 0xFF])
            else:
                group += bytes([distance >> 8, distance & 0xFF, length - 18])
            at += length
        out.append(flags)
        out += group
    return bytes(out).ljust(-(-len(out) // 0x40) * 0x40, b"\0") if padded else bytes(out)


def section(sizes: Sequence[int | None], *, marker: int = 0xFFFF, seed: int = 0) -> bytes:
    """A section whose subsections hold runs of a few byte values."""
    dice = random.Random(seed)
    body = struct.pack(f">{len(sizes)}H", *(marker if size is None else size for size in sizes))
    for size in sizes:
        data = b""
        while len(data) < (size or 0):
            data += bytes([dice.randrange(8)]) * dice.randint(1, 9)
        body += data[: size or 0]
    return struct.pack(">I", zlib.crc32(body)) + body


def some_sections(count: int = 20, subsections: int = 17, seed: int = 0) -> list[bytes]:
    dice = random.Random(seed)
    sizes = [[None if i == 4 else dice.choice((0, 2, 64, 300, 768)) for i in range(subsections)] for _ in range(count)]
    return [section(row, seed=index) for index, row in enumerate(sizes)]


def replay_part(sections: Sequence[bytes], subsections: int = 17, blocks: Sequence[bytes] | None = None) -> bytes:
    """A replay part. `blocks` replaces the packed sections."""
    image = b"".join(sections)
    if blocks is None:
        blocks = [yaz0(image[at : at + BLOCK_BYTES]) for at in range(0, len(image), BLOCK_BYTES)]
    first = -(-(INFO_BYTES + 4 * (len(sections) + len(blocks)) + 4) // 0x40) * 0x40
    starts, at = [], first
    for data in sections:
        starts.append(at)
        at += len(data)
    block_starts, block_at = [], first
    for block in blocks:
        block_starts.append(block_at)
        block_at += len(block)
    info = bytearray(first)
    frames = 64 * len(sections)
    struct.pack_into(">3I", info, 4, first, 0x4ABB8, frames)
    struct.pack_into(">I4x2I", info, 0x10, subsections, 0x8C, 0x30)
    struct.pack_into(">I", info, 0x28, subsections)
    struct.pack_into(">5I", info, 0x58, at, len(sections), frames, 0x7F7FFFFF, len(blocks))
    struct.pack_into(f">{len(starts) + len(block_starts)}I", info, INFO_BYTES, *starts, *block_starts)
    struct.pack_into(">I", info, 0, zlib.crc32(bytes(info[4:])))
    return bytes(info) + b"".join(blocks)


def with_outer(body: bytes) -> bytes:
    """A body with an outer header before it."""
    outer = struct.pack(">4s2I44xI12x", b"CTG0", 0x04010004, len(body) + 0x48, zlib.crc32(body))
    return outer + body


def ghost(part: bytes | None = None, laps: Sequence[int] = LAPS, *, outer: bool = True) -> bytes:
    """A whole file."""
    part = replay_part(some_sections()) if part is None else part
    body = header(BODY_BYTES + len(part), laps) + part
    return with_outer(body) if outer else body


def log_of(data: bytes, name: str = "", *, strict: bool = False, personal: bool = False) -> list[Event]:
    """All events of a file. Raises the reader's failure."""
    reader = Mk8Reader(name=name, strict=strict, personal=personal)
    events = logs.log_of(reader, data)
    if reader.failure is not None:
        raise reader.failure
    return events
