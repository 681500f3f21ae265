"""Write replay logs. You put in the bytes of a replay, and get out the bytes of its log.

You can feed the replay to a writer in pieces of any size. Each time, it returns the bytes that you should append to the
log. For a Slippi replay, it writes a block of frames whenever there are enough of them. So if there's a crash, you can
still read the log up to its last block. Replays of the other formats are written in one go, so this is also true for
their logs.

Before a block is returned, we decode it again. If the result isn't the same, we replace it by a block of plain
compressed bytes. This means that you can always get the replay back from its log, even if it is damaged or isn't a
replay at all.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence

from slpstream.formats.slippi.commands import MESSAGE_SPLITTER
from slpstream.formats.slippi.container import MAGIC
from slpstream.formats.slippi.framing import event_payloads_of, walk_events
from slpstream.formats.slplog import container, plan
from slpstream.formats.slplog.container import Block, Kind, LogHeader
from slpstream.formats.slplog.frames import MAX_SOURCE_BYTES, FrameBlock, compress
from slpstream.formats.slplog.inputs import GX, STUNTS, encode_pads, gx_inputs, stunts_inputs
from slpstream.formats.slplog.pads import KEYFRAME_FRAMES
from slpstream.formats.slplog.payloads import decode
from slpstream.formats.slplog.stripes import encode_stripes
from slpstream.model.errors import FormatError

MAX_KEYFRAME_FRAMES = 10_000
_RAW_BYTES = 1 << 18
_WHOLE_BYTES = 1 << 20
_SPLIT_START, _SPLIT_STOP = 1, 0x201
_UNKNOWN_HASH = bytes(32)


class LogWriter(ABC):
    """Writes the log of one replay. You have to `feed` its bytes in order, and then call `finish`.

    `name` is the file name of the replay without its folder. `keyframe_frames` is how many frames there are in a block.
    If it is out of range, this raises `ValueError`.
    """

    def __init__(self, format: str, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> None:
        if not 1 <= keyframe_frames <= MAX_KEYFRAME_FRAMES:
            raise ValueError(f"a keyframe every {keyframe_frames} frames, expected 1 to {MAX_KEYFRAME_FRAMES}")
        self.keyframe_frames = keyframe_frames
        self.blocks: list[Block] = []
        self.source_bytes = 0
        """The number of bytes of the replay that are in the log."""
        self._hash: hashlib._Hash | None = hashlib.sha256()
        self._out = bytearray(container.write_header(LogHeader(format, name, keyframe_frames)))
        self._at = len(self._out)
        self._start = self._at

    @abstractmethod
    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the replay, and return the bytes that you should append to the log."""

    @abstractmethod
    def _flush(self) -> None:
        """Write that part of the replay which is still in the buffer."""

    def rewrite(self, head: bytes) -> bytes:
        """Note that the first bytes of the replay have changed to `head`.

        After this, the writer can't know the hash of the replay any more, so you should pass it to `finish`.
        """
        self._hash = None
        self._append(Kind.REWRITE, head, 0, len(head))
        return self._take_output()

    def finish(self, sha256: bytes = b"") -> bytes:
        """Return the rest of the log, which consists of the blocks that are still in the buffer, the index and the end.

        `sha256` is the hash of the whole replay. You only need to pass it after `rewrite`.
        """
        self._flush()
        index_offset, count = self._at, len(self.blocks)
        self._append(Kind.INDEX, container.write_index(self.blocks), 0, 0)
        digest = sha256 or (self._hash.digest() if self._hash is not None else _UNKNOWN_HASH)
        end = container.End(digest, self.source_bytes, index_offset, count)
        self._append(Kind.END, container.write_end(end), 0, 0)
        return self._take_output()

    def _update_hash(self, data: bytes) -> None:
        if self._hash is not None:
            self._hash.update(data)

    def _take_output(self) -> bytes:
        out = bytes(self._out)
        self._out.clear()
        return out

    def _append(
        self, kind: Kind, payload: bytes, source_offset: int, size: int, first: int = 0, last: int = -1
    ) -> None:
        block = Block(kind, self._at, len(payload), source_offset, size, first, last)
        self._out += container.write_block(block, payload)
        self._at = block.next_offset
        self.blocks.append(block)

    def _put(self, kind: Kind, payload: bytes, data: bytes, first: int = 0, last: int = -1) -> None:
        """Write a block for `data`.

        If decoding `payload` doesn't give you `data`, or if a RAW block is smaller, we use a RAW block.
        """
        if kind is not Kind.RAW:
            try:
                same = decode(kind, payload, len(data)) == data
            except FormatError:
                same = False
            plain = b"" if same and kind is Kind.FRAMES else compress(data)
            if not same or 0 < len(plain) < len(payload):
                kind, payload = Kind.RAW, plain
        self._append(kind, payload, self.source_bytes, len(data), first, last)
        self.source_bytes += len(data)

    def _put_raw(self, data: bytes, max_bytes: int = _RAW_BYTES) -> None:
        for start in range(0, len(data), max_bytes):
            part = data[start : start + max_bytes]
            self._put(Kind.RAW, compress(part), part)


class SlippiLogWriter(LogWriter):
    """Writes the log of a Slippi replay.

    Before the frames, it uses RAW and STRIPES blocks, then blocks of frames, and RAW after them.
    """

    def __init__(self, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> None:
        super().__init__("slippi", name, keyframe_frames)
        self._buffer = b""
        self._widths: Sequence[int] | None = None
        self._framed = True
        """The bytes up to here are whole events, so the next one can be found."""
        self._lead = bytearray()
        """Unwritten bytes before the frames, either all of Message Splitter events or none."""
        self._lead_splits = False
        self._block: FrameBlock | None = None
        self._block_data = bytearray()

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the replay, and return the bytes that you should append to the log."""
        self._update_hash(data)
        self._buffer += data
        self._advance()
        return self._take_output()

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
        try:
            found = event_payloads_of(data)
        except FormatError:
            self._framed = False
            return
        if found is None:
            return
        payloads, end = found
        self._widths = payloads.widths
        self._lead += data[:end]
        self._buffer = data[end:]

    def _read_events(self, widths: Sequence[int]) -> None:
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
    """Writes the log of a replay in another format in one go.

    If we support the inputs of the format, they go into a PADS block, and everything else goes into RAW blocks.
    """

    def __init__(self, format: str, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> None:
        super().__init__(format, name, keyframe_frames)
        self._format = format
        self._data = bytearray()

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the replay. They are written by `finish`."""
        self._update_hash(data)
        self._data += data
        return self._take_output()

    def _flush(self) -> None:
        data = bytes(self._data)
        self._data.clear()
        start, stop, payload = _pads_of(self._format, data)
        self._put_raw(data[:start], _WHOLE_BYTES)
        if stop > start:
            self._put(Kind.PADS, payload, data[start:stop])
        self._put_raw(data[stop:], _WHOLE_BYTES)


def _pads_of(format: str, data: bytes) -> tuple[int, int, bytes]:
    """Return which range of bytes are inputs, and the payload of a block for them. The range can also be empty."""
    if format == "gci" and (gx := gx_inputs(data)) is not None:
        first_bit, end_bit, runs = gx
        start, stop = (first_bit + 7) // 8, end_bit // 8
        if stop > start:
            return start, stop, encode_pads(GX, first_bit % 8, runs)
    if format == "stunts" and (stunts := stunts_inputs(data)) is not None:
        return stunts[0], len(data), encode_pads(STUNTS, 0, stunts[1])
    return len(data), len(data), b""


def new_writer(format: str, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> LogWriter:
    """Create a writer for a replay of a format. If you don't know the format, pass an empty one."""
    if format == "slippi":
        return SlippiLogWriter(name, keyframe_frames)
    return WholeFileLogWriter(format, name, keyframe_frames)


def pack(data: bytes, format: str, name: str = "", keyframe_frames: int = KEYFRAME_FRAMES) -> bytes:
    """Return the log of a whole replay."""
    writer = new_writer(format, name, keyframe_frames)
    return writer.feed(data) + writer.finish()
