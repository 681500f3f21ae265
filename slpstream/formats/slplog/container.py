"""The container of a `.slplog`. It consists of a file header, blocks, an index and an end:

    file header | block | block | ... | index | end

Each block has its own header with checksums, so you can read it without the others. If a block is damaged, the reader
searches for the mark of the next one. We only ever append blocks. When a log is finished, its last two blocks are the
index and the end. If it isn't (because the game is still running, or the writer was killed), we find the blocks by
their headers, up to the last complete one.
"""

from __future__ import annotations

import binascii
import struct
import zlib
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import NamedTuple

from slpstream.formats.slplog.bits import MemoryStream
from slpstream.formats.slplog.frames import compress, decompress
from slpstream.model.errors import FieldError, FormatError, FramingError, Unsupported, WrongFormat
from slpstream.model.foreign_data import read_text

MAGIC = b"\x93SLPLOG\n"
VERSION = 1
SUFFIX = ".slplog"
MAX_PAYLOAD_BYTES = 8 << 20
MAX_SOURCE_BYTES = 1 << 32
_MARK = b"\xb1K"
_HEAD = struct.Struct(">2sBIIIiiI")
"""Mark, kind, payload length, offset and length in the replay, first and last frame, CRC-32 of the payload."""
_CHECK = struct.Struct(">H")
HEADER_BYTES = _HEAD.size + _CHECK.size
_END = struct.Struct(">32sQQI")
END_BYTES = HEADER_BYTES + _END.size
_MAX_NAME_BYTES = 1024
_LENGTH = struct.Struct(">H")
_INDEX_ENTRY_BYTES = 32
_SCAN_BYTES = 1 << 16

ReadAt = Callable[[int, int], bytes]
"""Returns the bytes at (offset, size) in the log, fewer at its end."""


class Kind(IntEnum):
    """Kind of a block."""

    RAW = 1
    """Bytes of the replay, compressed."""
    FRAMES = 2
    """Events of Slippi frames, as columns."""
    STRIPES = 3
    """Events of equal width, with their middle parts joined."""
    PADS = 4
    """Inputs of a replay of another format, coded in bits."""
    REWRITE = 5
    """The first bytes of the replay as they were rewritten later; they replace the original ones."""
    INDEX = 6
    END = 7


SOURCE_KINDS = frozenset({Kind.RAW, Kind.FRAMES, Kind.STRIPES, Kind.PADS})
"""Kinds of blocks that contain a part of the replay."""


class LogHeader(NamedTuple):
    """The file header of a log."""

    format: str
    """Name of the replay's format, or empty when it is unknown."""
    name: str
    """Name of the replay file. In some formats it carries data."""
    keyframe_frames: int


class Block(NamedTuple):
    """A block without its payload. It knows where it is in the log, and the fields of its header."""

    kind: int
    offset: int
    """Offset of the block's header in the log."""
    payload_bytes: int
    source_offset: int
    source_bytes: int
    first_frame: int = 0
    last_frame: int = -1
    """Lowest and highest frame number. In a block without frames `last_frame` is less than `first_frame`."""
    checksum: int = 0

    @property
    def next_offset(self) -> int:
        """Offset of the next block."""
        return self.offset + HEADER_BYTES + self.payload_bytes

    @property
    def has_frames(self) -> bool:
        """Whether the block has frames, which makes it a keyframe."""
        return self.last_frame >= self.first_frame


class End(NamedTuple):
    """The payload of the last block, which contains the hash and length of the whole replay, and where the index is."""

    sha256: bytes
    source_bytes: int
    index_offset: int
    blocks: int
    """Number of blocks before the index."""


def write_header(header: LogHeader) -> bytes:
    """Encode the file header, which includes all bytes before the first block."""
    stream = MemoryStream()
    stream.write_octets(header.format.encode())
    stream.write_octets(header.name.encode("utf-8", "surrogateescape")[:_MAX_NAME_BYTES])
    stream.write_number(header.keyframe_frames)
    body = stream.to_bytes()
    head = MAGIC + bytes([VERSION]) + _LENGTH.pack(len(body)) + body
    return head + zlib.crc32(head).to_bytes(4, "big")


def read_header(read_at: ReadAt) -> tuple[LogHeader, int]:
    """Read the file header, and return it with the offset of the first block.

    Raises `WrongFormat` if the file isn't a replay log, `Unsupported` if it has another version of the format, and
    `FramingError` or `FieldError` if the header is damaged.
    """
    fixed = len(MAGIC) + 1 + _LENGTH.size
    head = read_at(0, fixed)
    if not head.startswith(MAGIC):
        raise WrongFormat("not a replay log", offset=0)
    if len(head) < fixed:
        raise FramingError("the replay log ends inside its header", offset=len(head))
    if head[len(MAGIC)] != VERSION:
        raise Unsupported(
            f"a replay log of version {head[len(MAGIC)]}; only version {VERSION} is supported", offset=len(MAGIC)
        )
    (size,) = _LENGTH.unpack(head[-_LENGTH.size :])
    rest = read_at(fixed, size + 4)
    if len(rest) < size + 4 or zlib.crc32(head + rest[:size]) != int.from_bytes(rest[size:], "big"):
        raise FramingError("the header of the replay log is damaged", offset=fixed)
    stream = MemoryStream(rest[:size], offset=fixed)
    format_ = read_text(
        stream.read_octets(_MAX_NAME_BYTES),
        lambda what: FieldError(f"the name of the replay's format is {what}", offset=fixed),
    )
    name = stream.read_octets(_MAX_NAME_BYTES).decode("utf-8", "surrogateescape")
    return LogHeader(format_, name, stream.read_number()), fixed + size + 4


def write_block(block: Block, payload: bytes) -> bytes:
    """Encode a block. The length and checksum of the payload aren't taken from `block`, but computed here."""
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
    """Decode the header of a block at `offset`. If the bytes aren't a valid header, this returns `None`."""
    if len(head) < HEADER_BYTES or head[:2] != _MARK:
        return None
    if _CHECK.unpack_from(head, _HEAD.size)[0] != binascii.crc_hqx(head[: _HEAD.size], 0xFFFF):
        return None
    _, kind, payload_bytes, source_offset, source_bytes, first, last, checksum = _HEAD.unpack_from(head)
    if payload_bytes > MAX_PAYLOAD_BYTES or not Kind.RAW <= kind <= Kind.END:
        return None
    return Block(kind, offset, payload_bytes, source_offset, source_bytes, first, last, checksum)


def read_payload(read_at: ReadAt, block: Block, number: int) -> bytes:
    """Read the payload of a block and check it.

    If there's a problem, this raises a `FramingError` that mentions the `number` of the block.
    """
    payload = read_at(block.offset + HEADER_BYTES, block.payload_bytes)
    if len(payload) < block.payload_bytes:
        raise FramingError(f"block {number} is cut off", offset=block.offset)
    if zlib.crc32(payload) != block.checksum:
        raise FramingError(f"block {number} is damaged", offset=block.offset)
    return payload


def scan(read_at: ReadAt, start: int, size: int) -> Iterator[Block | FormatError]:
    """Yield all blocks in the order of the file.

    We find them by their headers. If a part doesn't have a valid header, you get an error for it.
    """
    at, number = start, 0
    while at < size:
        block = parse_block(read_at(at, HEADER_BYTES), at)
        if block is not None and block.next_offset <= size:
            yield block
            at, number = block.next_offset, number + 1
            continue
        found = _next_mark(read_at, at + 1, size)
        problem = "is cut off" if found is None else "has no header"
        yield FramingError(f"block {number} {problem}", offset=at)
        if found is None:
            return
        at, number = found, number + 1


def _next_mark(read_at: ReadAt, at: int, size: int) -> int | None:
    while at < size:
        data = read_at(at, _SCAN_BYTES + HEADER_BYTES)
        if not data:
            return None
        index = data.find(_MARK)
        while index >= 0:
            block = parse_block(data[index : index + HEADER_BYTES], at + index)
            if block is not None and block.next_offset <= size:
                return at + index
            index = data.find(_MARK, index + 1)
        at += _SCAN_BYTES
    return None


def write_index(blocks: list[Block]) -> bytes:
    """Encode the payload of the index. For each block, it contains the kind, the lengths and the range of frames."""
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
    return compress(stream.to_bytes())


def read_index(payload: bytes, start: int, size: int) -> list[Block]:
    """Decode the payload of an index. `start` is the offset of the first block, and `size` is how long the log is.

    The blocks that you get don't have checksums, because these are only in their own headers. Raises `FieldError` if
    the index is damaged.
    """
    max_blocks = size // HEADER_BYTES
    stream = MemoryStream(decompress(payload, _INDEX_ENTRY_BYTES * (max_blocks + 1)))
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
        offset = source_offset if kind in SOURCE_KINDS else 0
        block = Block(kind, at, payload_bytes, offset, source_bytes, first, last)
        blocks.append(block)
        at = block.next_offset
        if kind in SOURCE_KINDS:
            source_offset += source_bytes
    if at > size:
        raise FieldError("the blocks of the index do not fit into the log", offset=start)
    return blocks


def write_end(end: End) -> bytes:
    """Encode the payload of the last block."""
    return _END.pack(*end)


def read_end(read_at: ReadAt, size: int) -> End | None:
    """Read the last block of a log. If the log isn't finished, or its last block is damaged, this returns `None`."""
    if size < END_BYTES:
        return None
    block = parse_block(read_at(size - END_BYTES, HEADER_BYTES), size - END_BYTES)
    if block is None or block.kind != Kind.END or block.next_offset != size:
        return None
    try:
        return End(*_END.unpack(read_payload(read_at, block, 0)))
    except FormatError:
        return None
