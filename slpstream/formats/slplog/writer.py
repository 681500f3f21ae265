"""A replay's bytes in, the bytes of its log out.

A writer is fed the file from its first byte on, cut anywhere, and returns what is to be appended to the log. A Slippi
replay becomes blocks of frames as it grows, so what a kill leaves behind is readable up to the last whole block. The
other formats are written in one go, and so are their logs.

Every block is decoded again before it is given away; one that would not give the same bytes is kept as plain bytes. So
whatever is in a file, its log gives it back.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod

from slpstream.formats.slippi.commands import EVENT_PAYLOADS, MESSAGE_SPLITTER
from slpstream.formats.slippi.container import HEADER_BYTES, MAGIC
from slpstream.formats.slippi.framing import read_event_payloads, walk_events, width_of_event_payloads
from slpstream.formats.slplog import container, plan
from slpstream.formats.slplog.blocks import decode
from slpstream.formats.slplog.container import Block, Kind, LogHeader
from slpstream.formats.slplog.frames import MAX_SOURCE_BYTES, FrameBlock, squeeze
from slpstream.formats.slplog.pads import KEYFRAME_FRAMES
from slpstream.formats.slplog.recorded import GX, STUNTS, encode_pads, gx_inputs, stunts_inputs
from slpstream.formats.slplog.stripes import encode_stripes
from slpstream.model.errors import FormatError

MAX_KEYFRAME_FRAMES = 10_000
_RAW_BYTES = 1 << 18
_WHOLE_BYTES = 1 << 20
_SPLIT_START, _SPLIT_STOP = 1, 0x201
_UNKNOWN_HASH = bytes(32)


class LogWriter(ABC):
    """Writes the log of one replay. `feed` its bytes in order; `finish` when there are no more."""

    def __init__(self, format: str, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> None:
        """`name`: the file's, without its folder. Raises `ValueError` for an interval that cannot be."""
        if not 1 <= keyframe_frames <= MAX_KEYFRAME_FRAMES:
            raise ValueError(f"a keyframe every {keyframe_frames} frames; 1 to {MAX_KEYFRAME_FRAMES} can be")
        self.keyframe_frames = keyframe_frames
        self.blocks: list[Block] = []
        self.source_bytes = 0
        """How much of the replay is in the log."""
        self._hash: hashlib._Hash | None = hashlib.sha256()
        self._out = bytearray(container.write_header(LogHeader(format, name, keyframe_frames)))
        self._at = len(self._out)
        self._start = self._at

    @abstractmethod
    def feed(self, data: bytes) -> bytes:
        """The next bytes of the replay; returns what to append to the log."""

    @abstractmethod
    def _flush(self) -> None:
        """Writes what is still held back."""

    def rewrite(self, head: bytes) -> bytes:
        """The first bytes of the replay have changed to `head`. The hash of the whole is then not known to the writer,
        unless `finish` is told."""
        self._hash = None
        self._append(Kind.REWRITE, head, 0, len(head))
        return self._taken()

    def finish(self, sha256: bytes = b"") -> bytes:
        """No more bytes will come: what is held back, the index, the end. `sha256`: of the whole replay, where the
        caller knows it."""
        self._flush()
        index_offset, count = self._at, len(self.blocks)
        self._append(Kind.INDEX, container.write_index(self.blocks), 0, 0)
        digest = sha256 or (self._hash.digest() if self._hash is not None else _UNKNOWN_HASH)
        end = container.End(digest, self.source_bytes, index_offset, count)
        self._append(Kind.END, container.write_end(end), 0, 0)
        return self._taken()

    def _hashed(self, data: bytes) -> None:
        if self._hash is not None:
            self._hash.update(data)

    def _taken(self) -> bytes:
        out = bytes(self._out)
        self._out.clear()
        return out

    def _append(
        self, kind: Kind, payload: bytes, source_offset: int, size: int, first: int = 0, last: int = -1
    ) -> None:
        block = Block(kind, self._at, len(payload), source_offset, size, first, last)
        self._out += container.write_block(block, payload)
        self._at = block.past
        self.blocks.append(block)

    def _put(self, kind: Kind, payload: bytes, data: bytes, first: int = 0, last: int = -1) -> None:
        """A block that stands for `data`; kept plain when it would not give the same bytes, or plain is smaller."""
        if kind is not Kind.RAW:
            try:
                same = decode(kind, payload, len(data)) == data
            except FormatError:
                same = False
            plain = b"" if same and kind is Kind.FRAMES else squeeze(data)
            if not same or 0 < len(plain) < len(payload):
                kind, payload = Kind.RAW, plain
        self._append(kind, payload, self.source_bytes, len(data), first, last)
        self.source_bytes += len(data)

    def _put_raw(self, data: bytes, max_bytes: int = _RAW_BYTES) -> None:
        for at in range(0, len(data), max_bytes):
            part = data[at : at + max_bytes]
            self._put(Kind.RAW, squeeze(part), part)


class SlippiLogWriter(LogWriter):
    """The log of a Slippi replay: what precedes the frames, blocks of frames, and plain bytes from there on where no
    event follows any more."""

    def __init__(self, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> None:
        super().__init__("slippi", name, keyframe_frames)
        self._buffer = b""
        self._widths: list[int] | None = None
        self._framed = True
        """Event boundaries are known."""
        self._lead = bytearray()
        """Before the frames: bytes that were not written yet, all splitter events or none of them."""
        self._lead_splits = False
        self._block: FrameBlock | None = None
        self._block_data = bytearray()

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the replay; returns what to append to the log."""
        self._hashed(data)
        self._buffer += data
        self._advance()
        return self._taken()

    def _flush(self) -> None:
        self._close_lead()
        self._close_block()
        self._put_raw(self._buffer)
        self._buffer = b""

    def _advance(self) -> None:
        if self._framed and self._widths is None:
            self._read_sizes()
        if self._widths is not None and self._framed:
            self._read_events(self._widths)
        if not self._framed:
            self._close_lead()
            self._close_block()
            whole = len(self._buffer) // _RAW_BYTES * _RAW_BYTES
            self._put_raw(self._buffer[:whole])
            self._buffer = self._buffer[whole:]

    def _read_sizes(self) -> None:
        data = self._buffer
        if not data.startswith(MAGIC[: len(data)]):
            self._framed = False
            return
        if len(data) <= HEADER_BYTES + 1:
            return
        if data[HEADER_BYTES] != EVENT_PAYLOADS:
            self._framed = False
            return
        try:
            width = width_of_event_payloads(data, HEADER_BYTES, HEADER_BYTES)
        except FormatError:
            self._framed = False
            return
        past = HEADER_BYTES + (width or 0)
        if not width or len(data) < past:
            return
        self._widths = read_event_payloads(data[HEADER_BYTES:past]).widths
        self._lead += data[:past]
        self._buffer = data[past:]

    def _read_events(self, widths: list[int]) -> None:
        data, taken = self._buffer, 0
        for command, start, end in walk_events(data, 0, len(data), widths):
            width = end - start
            block = self._block
            if block is None and command in plan.FRAMED and width >= plan.FRAMED_BYTES:
                self._close_lead()
                block = self._block = FrameBlock(widths)
            if block is None:
                self._add_to_lead(command, data[start:end])
            else:
                if self._is_full(block, data, start, width):
                    self._close_block()
                    block = self._block = FrameBlock(widths)
                block.add(data, start)
                self._block_data += data[start:end]
            taken = end
        if taken < len(data) and not widths[data[taken]]:
            self._framed = False
        self._buffer = data[taken:]

    def _is_full(self, block: FrameBlock, data: bytes, at: int, width: int) -> bool:
        if block.source_bytes + width > MAX_SOURCE_BYTES:
            return True
        return block.units >= self.keyframe_frames and block.begins_unit(data, at)

    def _add_to_lead(self, command: int, event: bytes) -> None:
        splits = command == MESSAGE_SPLITTER and len(event) >= _SPLIT_STOP
        if splits != self._lead_splits or len(self._lead) + len(event) > _WHOLE_BYTES:
            self._close_lead()
            self._lead_splits = splits
        self._lead += event

    def _close_lead(self) -> None:
        data = bytes(self._lead)
        self._lead.clear()
        if data and self._lead_splits and self._widths is not None:
            width = self._widths[MESSAGE_SPLITTER]
            self._put(Kind.STRIPES, encode_stripes(data, width, _SPLIT_START, _SPLIT_STOP), data)
        else:
            self._put_raw(data)

    def _close_block(self) -> None:
        block = self._block
        if block is not None and block.source_bytes:
            first, last, _ = block.range
            self._put(Kind.FRAMES, block.encode(), bytes(self._block_data), first, last)
        self._block = None
        self._block_data.clear()


class WholeFileLogWriter(LogWriter):
    """The log of a replay that is written in one go: its inputs as pads where they are known, all else as plain
    bytes."""

    def __init__(self, format: str, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> None:
        super().__init__(format, name, keyframe_frames)
        self._format = format
        self._data = bytearray()

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the replay; nothing of it is written before the last."""
        self._hashed(data)
        self._data += data
        return self._taken()

    def _flush(self) -> None:
        data = bytes(self._data)
        self._data.clear()
        start, stop, payload = _pads_of(self._format, data)
        self._put_raw(data[:start], _WHOLE_BYTES)
        if stop > start:
            self._put(Kind.PADS, payload, data[start:stop])
        self._put_raw(data[stop:], _WHOLE_BYTES)


def _pads_of(format: str, data: bytes) -> tuple[int, int, bytes]:
    """Which bytes of a file are inputs, and their payload; none when `start` is `stop`."""
    if format == "gci" and (gx := gx_inputs(data)) is not None:
        first_bit, past_bit, runs = gx
        start, stop = (first_bit + 7) // 8, past_bit // 8
        if stop > start:
            return start, stop, encode_pads(GX, first_bit % 8, runs)
    if format == "stunts" and (stunts := stunts_inputs(data)) is not None:
        return stunts[0], len(data), encode_pads(STUNTS, 0, stunts[1])
    return len(data), len(data), b""


def new_writer(format: str, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> LogWriter:
    """A writer for a replay of this format."""
    if format == "slippi":
        return SlippiLogWriter(name, keyframe_frames)
    return WholeFileLogWriter(format, name, keyframe_frames)


def pack(data: bytes, format: str, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> bytes:
    """The log of a whole replay."""
    writer = new_writer(format, name, keyframe_frames)
    return writer.feed(data) + writer.finish()
