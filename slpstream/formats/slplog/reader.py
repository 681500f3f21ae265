"""A `.slplog` read: whole, or at any frame."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from slpstream.formats.slplog import container
from slpstream.formats.slplog.blocks import decode
from slpstream.formats.slplog.container import SOURCE_KINDS, Block, Kind, ReadAt
from slpstream.model.errors import FieldError, FormatError, FramingError

_UNKNOWN_HASH = bytes(32)
_MAX_REWRITTEN_BYTES = 1 << 10
_MAX_LOST_BYTES = 256 << 20
"""A larger hole in a replay is no hole, but a lie."""


class FrameSpan(NamedTuple):
    """What it takes to read some frames: `lead`, the replay up to its first frame, but for events that were split; then
    `data`, which is at `offset` in the replay and begins with a frame. `whole`: there is nothing to jump over, and
    `data` is the whole replay."""

    lead: bytes
    offset: int
    data: bytes
    whole: bool


class ReplayLog:
    """A log. `read_at` gives bytes of it; nothing is read that is not asked for, beside the header and the index.

    A finished log has its blocks in the index. Without one, or with one that is damaged, they are searched for.
    """

    def __init__(self, read_at: ReadAt, size: int) -> None:
        """Raises `WrongFormat` when it is none, and further `FormatError`s for a damaged header."""
        self._read_at = read_at
        self.header, self._start = container.read_header(read_at)
        self.end = container.read_end(read_at, size)
        self.problems: list[FormatError] = []
        """What is wrong with the blocks, as far as it was seen."""
        self.blocks = self._from_index(size) or self._from_scan(size)
        self._numbers = {block.offset: number for number, block in enumerate(self.blocks)}
        self._frames = [block for block in self.blocks if block.kind == Kind.FRAMES]

    @classmethod
    def of(cls, data: bytes) -> ReplayLog:
        """A log in memory."""
        return cls(lambda at, size: data[at : at + size], len(data))

    @property
    def finished(self) -> bool:
        """The log has its end."""
        return self.end is not None

    def _from_index(self, size: int) -> list[Block]:
        if self.end is None:
            return []
        at = self.end.index_offset
        block = container.parse_block(self._read_at(at, container.HEADER_BYTES), at)
        if block is None or block.kind != Kind.INDEX or block.past != size - container.END_BYTES:
            return []
        try:
            payload = container.payload_of(self._read_at, block, self.end.blocks)
            blocks = container.read_index(payload, self._start, size)
        except FormatError as error:
            self.problems.append(error)
            return []
        return blocks if not blocks or blocks[-1].past == at else []

    def _from_scan(self, size: int) -> list[Block]:
        blocks = []
        for found in container.scan(self._read_at, self._start, size):
            if isinstance(found, FormatError):
                self.problems.append(found)
            elif found.kind not in (Kind.INDEX, Kind.END):
                blocks.append(found)
        return blocks

    def decode(self, block: Block) -> bytes:
        """The bytes of the replay that a block stands for. Raises `FormatError`, which says which block."""
        number = self._numbers[block.offset]
        head = container.parse_block(self._read_at(block.offset, container.HEADER_BYTES), block.offset)
        if head is None:
            raise FramingError(f"block {number} has no header", offset=block.offset)
        if head._replace(checksum=0) != block._replace(checksum=0):
            raise FramingError(f"block {number} is another one than the index says", offset=block.offset)
        payload = container.payload_of(self._read_at, head, number)
        if head.kind == Kind.REWRITE:
            return payload
        try:
            return decode(head.kind, payload, head.source_bytes)
        except FieldError as error:
            raise FieldError(f"block {number}: {error.what}", offset=block.offset) from error

    def pieces(self, *, partial: bool = False) -> Iterator[tuple[int, bytes]]:
        """The replay in order: offset and bytes. Raises `FormatError` for the first block that is broken or missing.

        `partial`: what cannot be read is left out and added to `problems`.
        """
        if self.problems and not partial:
            raise self.problems[0]
        at = 0
        try:
            head = self._rewritten()
        except FormatError as error:
            if not partial:
                raise
            self.problems.append(error)
            head = b""
        for block in self.blocks:
            if block.kind not in SOURCE_KINDS:
                continue
            try:
                gap = block.source_offset - at
                if gap and (not partial or not 0 <= gap <= _MAX_LOST_BYTES):
                    raise FramingError(
                        f"block {self._numbers[block.offset]} goes on at {block.source_offset} of the replay, "
                        f"where {at} comes next",
                        offset=block.offset,
                    )
                data = self.decode(block)
            except FormatError as error:
                if not partial:
                    raise
                self.problems.append(error)
                continue
            if block.source_offset < len(head):
                data = head[block.source_offset :][: len(data)] + data[max(0, len(head) - block.source_offset) :]
            yield block.source_offset, data
            at = block.source_offset + len(data)

    def _rewritten(self) -> bytes:
        """The first bytes of the replay, where they were written again."""
        last = next((block for block in reversed(self.blocks) if block.kind == Kind.REWRITE), None)
        if last is None:
            return b""
        if last.payload_bytes > _MAX_REWRITTEN_BYTES:
            raise FieldError("more of the replay is rewritten than can be", offset=last.offset)
        return self.decode(last)

    def chunks(self) -> Iterator[bytes]:
        """The whole replay, piece by piece; behind the last one its length and hash are compared with the log's end.
        Raises `FormatError`."""
        digest, size = hashlib.sha256(), 0
        for _, data in self.pieces():
            digest.update(data)
            size += len(data)
            yield data
        if self.end is None:
            return
        if size != self.end.source_bytes:
            raise FramingError(f"the replay has {size} bytes, the log says {self.end.source_bytes}", offset=0)
        if self.end.sha256 not in (_UNKNOWN_HASH, digest.digest()):
            raise FramingError(f"the replay's SHA-256 is {digest.hexdigest()}, the log says another", offset=0)

    def unpack(self) -> bytes:
        """The whole replay. Raises `FormatError`."""
        return b"".join(self.chunks())

    def span(self, first: int, last: int) -> FrameSpan:
        """What it takes to read the frames `first` to `last`: of a Slippi replay the blocks that have any of them, with
        every sending of them; behind the last frame of a block the next one too, because without bookends a frame ends
        where the next begins.

        Raises `FormatError`.
        """
        wanted = [block for block in self._frames if block.last_frame >= first and block.first_frame <= last]
        if not wanted or self.header.format != "slippi":
            return FrameSpan(b"", 0, self.unpack() if not self._frames else b"", not self._frames)
        begin, stop = self._frames.index(wanted[0]), self._frames.index(wanted[-1])
        stop += wanted[-1].last_frame <= last
        lead = bytearray()
        for block in self.blocks:
            if block.source_offset >= self._frames[0].source_offset and block.kind in SOURCE_KINDS:
                break
            if block.kind in SOURCE_KINDS and block.kind != Kind.STRIPES:
                lead += self.decode(block)
        data = b"".join(self.decode(block) for block in self._frames[begin : stop + 1])
        return FrameSpan(bytes(lead), self._frames[begin].source_offset, data, whole=False)
