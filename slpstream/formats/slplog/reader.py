"""Read a `.slplog`. You can get the whole replay, or just some of its frames."""

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
    """Those parts of a replay that you need to read some of its frames.

    `lead` is the replay up to its first frame, without events that were split. `data` is at `offset` in the replay and
    begins with a frame. If the replay doesn't have these frames, it is empty. If the log has no blocks of frames,
    `whole` is set, and `data` is the whole replay.
    """

    lead: bytes
    offset: int
    data: bytes
    whole: bool


class ReplayLog:
    """A replay log with `size` bytes, which are read by calling `read_at`.

    At first, we only read the header and the index, and everything else is read when you ask for it. The index contains
    a list of the blocks. If the log isn't finished, or its index is damaged, we find the blocks by their headers.

    Raises `WrongFormat` if the file isn't a replay log, and another `FormatError` if its header is damaged.
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
        """Whether the log is complete, which means that it has its last block."""
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
        """Return that part of the replay which is in a block.

        Raises a `FormatError` that mentions the block if it is damaged.
        """
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

        If a block is damaged or missing, this raises `FormatError`. If you don't want that, pass `partial=True`. Then
        these blocks are left out, and you find the errors in `problems`.
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
        """Return the new first bytes of the replay.

        If it doesn't have a REWRITE block, they were never changed, so there are none.
        """
        last = next((block for block in reversed(self.blocks) if block.kind == Kind.REWRITE), None)
        if last is None:
            return b""
        if last.payload_bytes > _MAX_REWRITTEN_BYTES:
            raise FieldError("too much of the replay is rewritten", offset=last.offset)
        return self.decode(last)

    def chunks(self) -> Iterator[bytes]:
        """Yield the whole replay in chunks.

        Raises `FormatError` if something is damaged. This can also happen after the last chunk, if the length or the
        hash of the replay turns out to be wrong.
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
        """Return those parts of a Slippi replay that you need to read the frames from `first` to `last`.

        These are all blocks that contain any of the frames, so you get every sending of a frame. If the last frame is
        at the end of its block, there's one more block. We need it because if there are no bookends, a frame ends where
        the next one begins. Raises `FormatError` if one of the blocks is damaged.
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
