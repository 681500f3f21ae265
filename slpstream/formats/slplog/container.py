"""The blocks of a `.slplog`: how they are marked, checked and found.

    file header | block | block | ... | index | end

Every block has a header of its own with a checksum, and stands alone: a reader that finds one damaged looks for the
next mark and goes on. Blocks are only appended. The index and the end are the last two of a finished log; without them
(the game still runs, or the writer was killed) the blocks are found one after the other, up to the last whole one.
"""

from __future__ import annotations

import binascii
import struct
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

from slpstream.formats.slplog.bits import MemoryStream
from slpstream.formats.slplog.frames import expand, squeeze
from slpstream.model.errors import FieldError, FormatError, FramingError, Unsupported, WrongFormat

MAGIC = b"\x93SLPLOG\n"
VERSION = 1
SUFFIX = ".slplog"
MAX_PAYLOAD_BYTES = 8 << 20
MAX_SOURCE_BYTES = 1 << 32
_MARK = b"\xb1K"
_HEAD = struct.Struct(">2sBIIIiiI")
"""Mark, kind, bytes of the payload, offset in the replay, bytes there, first and last frame, CRC-32 of the payload."""
_CHECK = struct.Struct(">H")
HEADER_BYTES = _HEAD.size + _CHECK.size
_END = struct.Struct(">32sQQI")
END_BYTES = HEADER_BYTES + _END.size
_MAX_NAME_BYTES = 1024
_LENGTH = struct.Struct(">H")
_INDEX_ENTRY_BYTES = 32
_SCAN_BYTES = 1 << 16

ReadAt = Callable[[int, int], bytes]
"""(offset, size) to the bytes there; fewer at the end."""


class Kind(IntEnum):
    """What a block has."""

    RAW = 1
    """Bytes of the replay."""
    FRAMES = 2
    """Events of Slippi frames."""
    STRIPES = 3
    """Events of one width, the middle of each split off."""
    PADS = 4
    """The bytes of a replay's inputs, from what the pads did."""
    REWRITE = 5
    """Bytes at the start of the replay that were written again; they take the place of the first ones."""
    INDEX = 6
    END = 7


SOURCE_KINDS = frozenset({Kind.RAW, Kind.FRAMES, Kind.STRIPES, Kind.PADS})
"""Blocks that stand for bytes of the replay."""


class LogHeader(NamedTuple):
    """What a log says of its replay at the start."""

    format: str
    name: str
    """The file's name. Some formats keep data in it."""
    keyframe_frames: int


class Block(NamedTuple):
    """A block: what it is and where, without its payload."""

    kind: int
    offset: int
    """Of its header in the log."""
    payload_bytes: int
    source_offset: int
    source_bytes: int
    first_frame: int = 0
    last_frame: int = -1
    """Lowest and highest number of its frames; the last one is the lower when it has none."""
    checksum: int = 0

    @property
    def past(self) -> int:
        """Offset of the next block."""
        return self.offset + HEADER_BYTES + self.payload_bytes

    @property
    def has_frames(self) -> bool:
        """It is a keyframe."""
        return self.last_frame >= self.first_frame


class End(NamedTuple):
    """What the last block says: of the whole replay."""

    sha256: bytes
    source_bytes: int
    index_offset: int
    blocks: int


def write_header(header: LogHeader) -> bytes:
    """The bytes before the first block."""
    stream = MemoryStream()
    stream.write_octets(header.format.encode())
    stream.write_octets(header.name.encode("utf-8", "surrogateescape")[:_MAX_NAME_BYTES])
    stream.write_number(header.keyframe_frames)
    body = stream.to_bytes()
    head = MAGIC + bytes([VERSION]) + _LENGTH.pack(len(body)) + body
    return head + zlib.crc32(head).to_bytes(4, "big")


def read_header(read_at: ReadAt) -> tuple[LogHeader, int]:
    """The header, and where the blocks begin. Raises `WrongFormat`, `Unsupported` for another version."""
    fixed = len(MAGIC) + 1 + _LENGTH.size
    head = read_at(0, fixed)
    if not head.startswith(MAGIC):
        raise WrongFormat("not a replay log", offset=0)
    if len(head) < fixed:
        raise FramingError("the replay log ends inside its header", offset=len(head))
    if head[len(MAGIC)] != VERSION:
        raise Unsupported(f"a replay log of version {head[len(MAGIC)]}; {VERSION} is known", offset=len(MAGIC))
    (size,) = _LENGTH.unpack(head[-_LENGTH.size :])
    rest = read_at(fixed, size + 4)
    if len(rest) < size + 4 or zlib.crc32(head + rest[:size]) != int.from_bytes(rest[size:], "big"):
        raise FramingError("the header of the replay log is damaged", offset=fixed)
    stream = MemoryStream(rest[:size], offset=fixed)
    try:
        format_ = stream.read_octets(_MAX_NAME_BYTES).decode()
    except UnicodeDecodeError:
        raise FieldError("the format of the replay is no text", offset=fixed) from None
    name = stream.read_octets(_MAX_NAME_BYTES).decode("utf-8", "surrogateescape")
    return LogHeader(format_, name, stream.read_number()), fixed + size + 4


def write_block(block: Block, payload: bytes) -> bytes:
    """A block with its payload; the two lengths and checksums of `block` are set here."""
    head = _HEAD.pack(
        _MARK,
        block.kind,
        len(payload),
        block.source_offset,
        block.source_bytes,
        block.first_frame,
        block.last_frame,
        zlib.crc32(payload),
    )
    return head + _CHECK.pack(binascii.crc_hqx(head, 0xFFFF)) + payload


def parse_block(head: bytes, offset: int) -> Block | None:
    """The block whose header these bytes are; `None` when they are none."""
    if len(head) < HEADER_BYTES or head[:2] != _MARK:
        return None
    if _CHECK.unpack_from(head, _HEAD.size)[0] != binascii.crc_hqx(head[: _HEAD.size], 0xFFFF):
        return None
    _, kind, payload_bytes, source_offset, source_bytes, first, last, checksum = _HEAD.unpack_from(head)
    if payload_bytes > MAX_PAYLOAD_BYTES or not Kind.RAW <= kind <= Kind.END:
        return None
    return Block(kind, offset, payload_bytes, source_offset, source_bytes, first, last, checksum)


def payload_of(read_at: ReadAt, block: Block, number: int) -> bytes:
    """The checked payload of a block. Raises `FramingError`, which names the block."""
    payload = read_at(block.offset + HEADER_BYTES, block.payload_bytes)
    if len(payload) < block.payload_bytes:
        raise FramingError(f"block {number} is cut off", offset=block.offset)
    if zlib.crc32(payload) != block.checksum:
        raise FramingError(f"block {number} is damaged", offset=block.offset)
    return payload


def scan(read_at: ReadAt, start: int, size: int) -> Iterator[Block | FormatError]:
    """All blocks in order of the file, found by their marks; an error for each place where something else stands."""
    at, number = start, 0
    while at < size:
        block = parse_block(read_at(at, HEADER_BYTES), at)
        if block is not None and block.past <= size:
            yield block
            at, number = block.past, number + 1
            continue
        found = _next_mark(read_at, at + 1, size)
        what = f"block {number} is cut off" if found is None else f"block {number} has no header"
        yield FramingError(what, offset=at)
        if found is None:
            return
        at, number = found, number + 1


def _next_mark(read_at: ReadAt, at: int, size: int) -> int | None:
    while at < size:
        data = read_at(at, _SCAN_BYTES + HEADER_BYTES)
        if not data:
            return None
        place = data.find(_MARK)
        while place >= 0:
            block = parse_block(data[place : place + HEADER_BYTES], at + place)
            if block is not None and block.past <= size:
                return at + place
            place = data.find(_MARK, place + 1)
        at += _SCAN_BYTES
    return None


def write_index(blocks: list[Block]) -> bytes:
    """The payload of the index: of each block kind, payload, bytes of the replay, frames."""
    stream = MemoryStream()
    stream.write_number(len(blocks))
    frame = 0
    for block in blocks:
        stream.write_number(block.kind)
        stream.write_number(block.payload_bytes)
        stream.write_number(block.source_bytes)
        stream.write_number(int(block.has_frames))
        if block.has_frames:
            stream.write_signed(block.first_frame - frame)
            stream.write_number(block.last_frame - block.first_frame)
            frame = block.last_frame + 1
    return squeeze(stream.to_bytes())


def read_index(payload: bytes, start: int, size: int) -> list[Block]:
    """The blocks of an index; `start` is where the first of them is, `size` that of the log. Their checksums are in
    their own headers. Raises `FieldError`."""
    max_blocks = size // HEADER_BYTES
    stream = MemoryStream(expand(payload, _INDEX_ENTRY_BYTES * (max_blocks + 1)))
    blocks: list[Block] = []
    at, source_offset, frame = start, 0, 0
    for _ in range(stream.read_number(max_blocks)):
        kind = stream.read_number(max(Kind))
        payload_bytes = stream.read_number(MAX_PAYLOAD_BYTES)
        source_bytes = stream.read_number(MAX_SOURCE_BYTES)
        first, last = 0, -1
        if stream.read_number(1):
            first = frame + stream.read_signed()
            last = first + stream.read_number(1 << 32)
            frame = last + 1
        begins = source_offset if kind in SOURCE_KINDS else 0
        block = Block(kind, at, payload_bytes, begins, source_bytes, first, last)
        blocks.append(block)
        at = block.past
        if kind in SOURCE_KINDS:
            source_offset += source_bytes
    if at > size:
        raise FieldError("the index has more blocks than the log", offset=start)
    return blocks


def write_end(end: End) -> bytes:
    """The payload of the end."""
    return _END.pack(*end)


def read_end(read_at: ReadAt, size: int) -> End | None:
    """What the last bytes of a log say; `None` when it has no end (yet)."""
    if size < END_BYTES:
        return None
    block = parse_block(read_at(size - END_BYTES, HEADER_BYTES), size - END_BYTES)
    if block is None or block.kind != Kind.END or block.past != size:
        return None
    try:
        return End(*_END.unpack(payload_of(read_at, block, 0)))
    except FormatError:
        return None
