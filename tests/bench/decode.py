"""From bytes to encoded JSON messages: CPU time per frame, compared with slippi-js's stream and parser in the same run.

The replay is fed in blocks of 4,096 bytes, as Dolphin writes them. Both logs are written, and the messages of the live
log are encoded as JSON for a websocket, as the daemon does it for each group of subscribers. A frame resent by a
rollback counts again, for us and for the peer.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from websockets.frames import Opcode

from slpstream.formats import kernel as room
from slpstream.formats.registry import new_stats
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slippi.write_schedule import Timeline
from slpstream.game.log_writer import MODES
from slpstream.game.pipeline import Pipeline
from slpstream.model.topics import TOPIC_OF_TYPE
from slpstream.web.encodings import WebsocketEncoding
from tests.bench import slippi_js
from tests.bench.games import replays
from tests.bench.report import Figure, Form
from tests.formats.slippi.pure import without_kernel

KERNEL_TARGET_MICROSECONDS, PYTHON_TARGET_MICROSECONDS = 3.0, 10.0
FIELDS_TARGET_MICROSECONDS = 1.2
FIELDS = (
    "post.percent", "post.stocksRemaining", "post.positionX", "post.positionY", "post.actionStateId", "pre.buttons"
)  # fmt: skip
_BLOCK_BYTES = 4096
_TYPES = frozenset(TOPIC_OF_TYPE)
_ROUNDS_PER_RUN = 3


def run(form: Form) -> list[Figure]:
    """Measure each replay with the kernel, without it, with stats, and reduced to six fields."""
    rounds = 1 if form.short else form.runs * _ROUNDS_PER_RUN
    figures = []
    for name, data in list(replays().items())[: 1 if form.short else None]:
        blocks = [data[start : start + _BLOCK_BYTES] for start in range(0, len(data), _BLOCK_BYTES)]
        frames, size = _decode(blocks)
        values = [_microseconds(blocks, frames) for _ in range(rounds)]
        with_stats = [_microseconds(blocks, frames, stats=True) for _ in range(rounds)]
        by_frame = median(_microseconds(_cut_by_frame(data), frames) for _ in range(1 if form.short else form.runs))
        note = f"{size / frames:,.0f} B of JSON per frame; fed frame by frame {by_frame:.1f} µs; "
        note += _peer(data, frames, rounds, median(values))
        with without_kernel():
            in_python = [_microseconds(blocks, frames) for _ in range(rounds)]
        if room.kernel is not None:
            figures.append(Figure(f"decode, {name}", values, "µs CPU a frame", KERNEL_TARGET_MICROSECONDS, note))
            note = "without the kernel"
        figures.append(Figure(f"decode, {name}, Python", in_python, "µs CPU a frame", PYTHON_TARGET_MICROSECONDS, note))
        note = "with the messages of topics event and stats, like the daemon"
        figures.append(Figure(f"decode and stats, {name}", with_stats, "µs CPU a frame", None, note))
        cut = [_microseconds_of_fields(data) for _ in range(rounds)]
        note = f"of messages that are at hand: {', '.join(FIELDS)}"
        figures.append(Figure(f"six fields, {name}", cut, "µs CPU a frame", FIELDS_TARGET_MICROSECONDS, note))
    return figures


def _microseconds_of_fields(data: bytes) -> float:
    """CPU time to make the message of a frame with only `FIELDS`."""
    messages = [m for m in Pipeline(SlippiReader()).feed(data).messages("live") if m.type == "frame"]
    encode = _json().joined
    began = time.process_time()
    for message in messages:
        encode([message], "main", _TYPES, FIELDS)
    return (time.process_time() - began) / len(messages) * 1e6


def _decode(pieces: Sequence[bytes], *, stats: bool = False) -> tuple[int, int]:
    """Run the hot path from bytes to messages. Returns the numbers of frames and of bytes of messages."""
    pipeline = Pipeline(SlippiReader(), MODES, make_stats=new_stats if stats else lambda start: None)
    encode = _json().joined
    frames = size = 0
    for piece in pieces:
        batch = pipeline.feed(piece)
        size += len(encode(batch.logs["live"], "main", _TYPES, None))
        frames += batch.frames
    return frames, size


def _json() -> WebsocketEncoding:
    return WebsocketEncoding("json", Opcode.TEXT, "json")


def _microseconds(pieces: Sequence[bytes], frames: int, *, stats: bool = False) -> float:
    began = time.process_time()
    _decode(pieces, stats=stats)
    return (time.process_time() - began) / frames * 1e6


def _cut_by_frame(data: bytes) -> list[bytes]:
    ends = Timeline(data).ends
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _peer(data: bytes, frames: int, rounds: int, ours: float) -> str:
    reason = slippi_js.missing()
    if reason is not None:
        return f"no peer: {reason}"
    with tempfile.TemporaryDirectory(prefix="slpstream-bench-") as folder:
        replay = Path(folder) / "replay.slp"
        replay.write_bytes(data)
        theirs = median(slippi_js.decode_seconds(replay, rounds)) / frames * 1e6
    return f"{slippi_js.name()} without encoding {theirs:.1f} µs, ratio {theirs / ours:.2f}"
