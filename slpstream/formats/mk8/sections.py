"""The replay part of a ghost. It has a header and packed blocks, and the blocks contain the sections, whose content we
don't understand.

All blocks together are one image of data that was packed in pieces of 0x8000 bytes. The image is divided into sections,
each of which is probably 64 frames long. A section has a checksum, a table of sizes, and subsections (positions,
wheels, sounds). The coding of the subsections isn't public.

Before we unpack anything, we check all counts against the number of bytes that are available. Since unpacking is slow
in Python, we only unpack a block if you ask for a section in it. Offsets in the tables count from the start of the
replay part.
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise

import msgspec

from slpstream.formats.mk8.header import unpack_rows
from slpstream.formats.mk8.yaz0 import declared_size, decompress
from slpstream.model.errors import FramingError
from slpstream.model.fields import U32, Field

INFO_BYTES = 0x8C
BLOCK_BYTES = 0x8000
"""Unpacked size of a block; the last one may be smaller."""
FRAMES_PER_SECTION = 64
"""Likely, according to the wiki."""

MAX_BLOCKS = 256
MAX_SECTIONS = 4096
MAX_SUBSECTIONS = 32
MAX_IMAGE_BYTES = 8 << 20
MAX_WORK = 700_000
"""Limit for unpacking all blocks, less than a tenth of a second. A ghost of 73 seconds takes a quarter of it."""

ABSENT_MARKERS = (0xFFFF, 0x00FF)
"""Sizes that mark an absent subsection. The wiki prints 0xFF for a field of two bytes, so both are tried."""


def _row(name: str, offset: int, doc: str, sure: str = "documented") -> Field:
    return Field(name, offset, U32, "", doc, sure=sure)


INFO: Sequence[Field] = (
    _row("crc", 0x00, "CRC-32 of the bytes after it, up to the first block."),
    _row("first", 0x04, "Offset of the first block."),
    _row("unknown_08", 0x08, "0x4ABB8."),
    _row("unknown_0c", 0x0C, "The same as at 0x60; perhaps a number of frames.", "guessed"),
    _row("subsections", 0x10, "Subsections in a section: 15 for two wheels, 16 for three, 17 for four."),
    _row("unknown_18", 0x18, "0x8C; perhaps the size of this header.", "guessed"),
    _row("unknown_1c", 0x1C, "0x30."),
    _row("subsections_again", 0x28, "The same as at 0x10."),
    _row("image_end", 0x58, "Offset of the first block plus the unpacked size of all data."),
    _row("sections", 0x5C, "Number of sections in the image."),
    _row("unknown_60", 0x60, "The same as at 0x0C."),
    _row("unknown_64", 0x64, "The largest finite float."),
    _row("blocks", 0x68, "Number of packed blocks."),
)


class ReplayInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The header of the replay part with its two tables. `block_sizes` are the unpacked sizes the blocks declare."""

    crc: int
    computed_crc: int
    first: int
    unknown_08: int
    unknown_0c: int
    subsections: int
    unknown_18: int
    unknown_1c: int
    subsections_again: int
    image_end: int
    sections: int
    unknown_60: int
    unknown_64: int
    blocks: int
    section_offsets: tuple[int, ...]
    block_offsets: tuple[int, ...]
    block_sizes: tuple[int, ...]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One section.

    `raw_sizes` is its table of sizes. `absent_marker` is the size that marks an absent subsection; it is `None`, and so
    is `sizes`, when the table does not add up to the section with either marker.
    """

    index: int
    size_bytes: int
    crc_ok: bool
    raw_sizes: tuple[int, ...]
    absent_marker: int | None

    @property
    def sizes(self) -> tuple[int | None, ...] | None:
        """The size of each subsection in bytes, or `None` if a subsection is absent."""
        if self.absent_marker is None:
            return None
        return tuple(None if size == self.absent_marker else size for size in self.raw_sizes)


def read_info(part: bytes, offset: int) -> ReplayInfo:
    """Read the header of the replay part. `offset` is where this part is in the file, and is used for errors.

    Raises `FramingError` if the part is cut off, if a count is out of range, if the offsets in a table don't ascend or
    point outside, or if the blocks don't add up to the size in the header.
    """
    if len(part) < INFO_BYTES:
        raise FramingError(
            f"the replay part ends after {len(part)} of the {INFO_BYTES} bytes of its header", offset=offset
        )
    values = unpack_rows(INFO, part, 0)
    _check(1 <= values["blocks"] <= MAX_BLOCKS, f"{values['blocks']} blocks", offset + 0x68)
    _check(1 <= values["sections"] <= MAX_SECTIONS, f"{values['sections']} sections", offset + 0x5C)
    _check(1 <= values["subsections"] <= MAX_SUBSECTIONS, f"{values['subsections']} subsections", offset + 0x10)
    first, sections, blocks = values["first"], values["sections"], values["blocks"]
    tables_end = INFO_BYTES + 4 * (sections + blocks)
    if not tables_end <= first <= len(part):
        tables = f"the tables of {sections} sections and {blocks} blocks end at {tables_end}"
        raise FramingError(
            f"{tables}, the first block is at {first}, the replay part ends at {len(part)}", offset=offset + 4
        )
    section_offsets = struct.unpack_from(f">{sections}I", part, INFO_BYTES)
    block_offsets = struct.unpack_from(f">{blocks}I", part, INFO_BYTES + 4 * sections)
    image_bytes = values["image_end"] - first
    _check(0 < image_bytes <= MAX_IMAGE_BYTES, f"{image_bytes} bytes of data", offset + 0x58)
    _check_ascending(section_offsets, first, values["image_end"], "sections", offset + INFO_BYTES)
    _check_ascending(block_offsets, first, len(part), "blocks", offset + INFO_BYTES + 4 * sections)
    block_sizes = tuple(
        declared_size(part[start:end], max_bytes=BLOCK_BYTES, offset=offset + start)
        for start, end in pairwise((*block_offsets, len(part)))
    )
    if sum(block_sizes) != image_bytes:
        raise FramingError(
            f"the blocks declare {sum(block_sizes)} bytes of data, the header {image_bytes}", offset=offset + 0x58
        )
    return ReplayInfo(
        **values,
        computed_crc=zlib.crc32(part[4:first]),
        section_offsets=section_offsets,
        block_offsets=block_offsets,
        block_sizes=block_sizes,
    )


class Sections:
    """The sections in a replay part. A block is unpacked when you ask for the first section in it."""

    def __init__(self, part: bytes, info: ReplayInfo, offset: int) -> None:
        self.info = info
        self._part = part
        self._offset = offset
        self._bounds = (*info.section_offsets, info.image_end)
        self._block_bounds = (*info.block_offsets, len(part))
        self._unpacked_ends = list(accumulate(info.block_sizes))
        self._image = bytearray()
        self._unpacked_blocks = 0
        self._work_left = MAX_WORK

    def __len__(self) -> int:
        """Return how many sections there are according to the header."""
        return self.info.sections

    def section(self, index: int) -> Section:
        """Return a section. If its blocks can't be unpacked, this raises `FramingError`."""
        data = self.data(index)
        count = self.info.subsections
        table_end = 4 + 2 * count
        if len(data) < table_end:
            return Section(index=index, size_bytes=len(data), crc_ok=_crc_ok(data), raw_sizes=(), absent_marker=None)
        raw_sizes = struct.unpack_from(f">{count}H", data, 4)
        marker = next((m for m in ABSENT_MARKERS if table_end + _sum_of_sizes(raw_sizes, m) == len(data)), None)
        return Section(
            index=index, size_bytes=len(data), crc_ok=_crc_ok(data), raw_sizes=raw_sizes, absent_marker=marker
        )

    def data(self, index: int) -> bytes:
        """Return the bytes of a section, including its checksum and table.

        Raises `FramingError` in the same cases as `section`.
        """
        start, end = (bound - self.info.first for bound in self._bounds[index : index + 2])
        self._unpack_to(end)
        return bytes(self._image[start:end])

    def file_offset(self, index: int) -> int:
        """Return where in the file the last block of a section ends."""
        block = bisect_left(self._unpacked_ends, self._bounds[index + 1] - self.info.first)
        return self._offset + self._block_bounds[block + 1]

    def _unpack_to(self, size_bytes: int) -> None:
        while len(self._image) < size_bytes:
            start, end = self._block_bounds[self._unpacked_blocks : self._unpacked_blocks + 2]
            data, work = decompress(
                self._part[start:end],
                max_bytes=BLOCK_BYTES,
                max_work=self._work_left,
                offset=self._offset + start,
            )
            self._image += data
            self._work_left -= work
            self._unpacked_blocks += 1


def _check(in_range: bool, count: str, offset: int) -> None:
    if not in_range:
        raise FramingError(f"{count}: none, or more than a ghost can have", offset=offset)


def _check_ascending(offsets: Sequence[int], first: int, end: int, items: str, offset: int) -> None:
    if offsets[0] != first:
        raise FramingError(f"the {items} begin at {offsets[0]}, not at the first block, {first}", offset=offset)
    for index, (start, stop) in enumerate(pairwise((*offsets, end))):
        if stop <= start:
            raise FramingError(f"the {items} do not ascend: {start}, then {stop}", offset=offset + 4 * index)


def _sum_of_sizes(raw_sizes: Sequence[int], marker: int) -> int:
    return sum(size for size in raw_sizes if size != marker)


def _crc_ok(data: bytes) -> bool:
    return len(data) >= 4 and int.from_bytes(data[:4], "big") == zlib.crc32(data[4:])
