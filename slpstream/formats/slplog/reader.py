"""Reading a `.slplog`: the whole replay, or some of its frames."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from slpstream.formats.slplog import container
from slpstream.formats.slplog.container import SOURCE_KINDS, Block, Kind, ReadAt
from slpstream.formats.slplog.payloads import decode
from slpstream.model.errors import FieldError, FormatError, FramingError

_UNKNOWN_HASH = bytes(32)
_MAX_REWRITTEN_BYTES = 1 << 10
_MAX_LOST_BYTES = 256 << 20
"""Maximum gap between two readable blocks. An offset that makes a larger one is considered damaged."""


class FrameSpan(NamedTuple):
    """The parts of a replay that are needed to read some frames.

    `lead` is the replay up to its first frame, without events that were split. `data` is at `offset` in the replay and
    begins with a frame; it is empty when the replay does not have the frames. `whole` is set when the log has no blocks
    of frames: then `data` is the whole replay.
    """

    lead: bytes
    offset: int
    data: bytes
    whole: bool


class ReplayLog:
    """A replay log of `size` bytes, read with `read_at`.

    Only the header and the index are read immediately, everything else on request. The list of blocks comes from the
    index. In an unfinished log, or one with a damaged index, blocks are found by their headers.

    Raises `WrongFormat` when the file is not a replay log, and other `FormatError`s for a damaged header.
    """

    def __init__(self, read_at: ReadAt, size: int) -> None:
        self._read_at = read_at
        self.header, self._start = container.read_header(read_at)
        self.end = container.read_end(read_at, size)
        self.problems: list[FormatError] = []
        """The damage that was found so far."""
        self.blocks = self._from_index(size) or self._from_scan(size)
        self._numbers = {block.offset: number for number, block in enumerate(self.blocks)}
        self._frames = [block for block in self.blocks if block.kind == Kind.FRAMES]

    @classmethod
    def of(cls, data: bytes) -> ReplayLog:
        """Open a log in memory."""
        return cls(lambda offset, size: data[offset : offset + size], len(data))

    @property
    def finished(self) -> bool:
        """The log is complete: it has its last block."""
        return self.end is not None

    def _from_index(self, size: int) -> list[Block]:
        if self.end is None:
            return []
        at = self.end.index_offset
        block = container.parse_block(self._read_at(at, container.HEADER_BYTES), at)
        if block is None or block.kind != Kind.INDEX or block.next_offset != size - container.END_BYTES:
            return []
        try:
            payload = container.read_payload(self._read_at, block, self.end.blocks)
            blocks = container.read_index(payload, self._start, size)
        except FormatError as error:
            self.problems.append(error)
            return []
        return blocks if not blocks or blocks[-1].next_offset == at else []

    def _from_scan(self, size: int) -> list[Block]:
        blocks = []
        for found in container.scan(self._read_at, self._start, size):
            if isinstance(found, FormatError):
                self.problems.append(found)
            elif found.kind not in (Kind.INDEX, Kind.END):
                blocks.append(found)
        return blocks

    def decode(self, block: Block) -> bytes:
        """Return the part of the replay in a block. Raises `FormatError`, which names the block."""
        number = self._numbers[block.offset]
        head = container.parse_block(self._read_at(block.offset, container.HEADER_BYTES), block.offset)
        if head is None:
            raise FramingError(f"block {number} has no header", offset=block.offset)
        if head._replace(checksum=0) != block._replace(checksum=0):
            raise FramingError(f"block {number} does not match the index", offset=block.offset)
        payload = container.read_payload(self._read_at, head, number)
        if head.kind == Kind.REWRITE:
            return payload
        try:
            return decode(head.kind, payload, head.source_bytes)
        except FieldError as error:
            raise FieldError(f"block {number}: {error.what}", offset=block.offset) from error

    def pieces(self, *, partial: bool = False) -> Iterator[tuple[int, bytes]]:
        """Yield the replay in order, as offsets and bytes.

        Raises `FormatError` for the first block that is damaged or missing. With `partial` such blocks are left out,
        and the errors are added to `problems`.
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
                        f"block {self._numbers[block.offset]} begins at byte {block.source_offset} of the replay, "
                        f"expected {at}",
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
        """Return the rewritten first bytes of the replay, or no bytes if it has no REWRITE block."""
        last = next((block for block in reversed(self.blocks) if block.kind == Kind.REWRITE), None)
        if last is None:
            return b""
        if last.payload_bytes > _MAX_REWRITTEN_BYTES:
            raise FieldError("too much of the replay is rewritten", offset=last.offset)
        return self.decode(last)

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole replay in chunks.

        Raises `FormatError`, also after the last chunk if the length or the hash of the replay is wrong.
        """
        digest, size = hashlib.sha256(), 0
        for _, data in self.pieces():
            digest.update(data)
            size += len(data)
            yield data
        if self.end is None:
            return
        if size != self.end.source_bytes:
            raise FramingError(f"the replay has {size} bytes, expected {self.end.source_bytes}", offset=0)
        if self.end.sha256 not in (_UNKNOWN_HASH, digest.digest()):
            raise FramingError(
                f"the replay's SHA-256 is {digest.hexdigest()}, expected {self.end.sha256.hex()}", offset=0
            )

    def unpack(self) -> bytes:
        """Return the whole replay. Raises `FormatError`."""
        return b"".join(self.chunks())

    def span(self, first: int, last: int) -> FrameSpan:
        """Return the parts of a Slippi replay that are needed to read the frames `first` to `last`.

        These are all blocks that have any of the frames, so every sending of a frame is included, and one more block if
        the last frame is at the end of its block: without bookends a frame ends where the next one begins.

        Raises `FormatError`.
        """
        found = [block for block in self._frames if block.last_frame >= first and block.first_frame <= last]
        if not found or self.header.format != "slippi":
            return FrameSpan(b"", 0, self.unpack() if not self._frames else b"", not self._frames)
        begin, stop = self._frames.index(found[0]), self._frames.index(found[-1])
        stop += found[-1].last_frame <= last
        lead = bytearray()
        for block in self.blocks:
            if block.source_offset >= self._frames[0].source_offset and block.kind in SOURCE_KINDS:
                break
            if block.kind in SOURCE_KINDS and block.kind != Kind.STRIPES:
                lead += self.decode(block)
        data = b"".join(self.decode(block) for block in self._frames[begin : stop + 1])
        return FrameSpan(bytes(lead), self._frames[begin].source_offset, data, whole=False)
