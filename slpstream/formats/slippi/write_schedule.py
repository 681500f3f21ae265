"""Divides a finished replay into timed writes, like those of the game that has written it.

First, a `Timeline` finds out when the game produced each byte. Everything before the first frame is produced at 0
seconds, each transmission of a frame at the end of its sixtieth of a second, and everything after the last frame
together with that frame. Then a writer cuts the file into pieces. These are whole frames or whole buffers, as games
write them, or pieces of any size for tests.

The bytes that we write are those of the original, so this also works for damaged replays. Bytes that aren't events are
produced together with the bytes before them. While the game is running, the raw length is 0. The last write sets it to
the original value, unless this is 0 as well.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import accumulate, count, repeat
from typing import NamedTuple

from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import FRAMES_PER_SECOND
from slpstream.formats.slippi.frame_events import BOOKEND, FRAMED, NUMBERED_BYTES, START, frame_number
from slpstream.formats.slippi.framing import event_payloads_of, walk_events
from slpstream.model.errors import FramingError

DRAIN_SECONDS = 0.085
"""The interval at which Dolphin's writer thread empties its queue."""

BLOCK_BYTES = 4096
"""The size of the C library's buffer. Dolphin never flushes it, so only whole blocks get into the file."""

_MAX_RANDOM_BYTES = (1, 8, 64, 700, 5000)


class Write(NamedTuple):
    """A write of `data` at the file position `offset`. It is due `at_seconds` after the file was created."""

    at_seconds: float
    offset: int
    data: bytes


class Timeline:
    """When the game produced each byte.

    `ends[i]` is the file offset after the i-th transmission of a frame, and `seconds[i]` is its game time. The first
    entry is for the bytes before the first frame, at 0 seconds, and the last one ends with the file. If a frame is sent
    again after a rollback, it has the time of the newest frame. Pauses of the game don't take any time.
    """

    def __init__(self, data: bytes) -> None:
        self.ends: list[int] = []
        self.seconds: list[float] = []
        try:
            found = event_payloads_of(data)
        except FramingError:
            found = None
        events = () if found is None else walk_events(data, found[1], len(data), found[0].widths)
        number: int | None = None
        newest, ticks = -math.inf, 0
        for command, start, end in events:
            if command not in FRAMED or end - start < NUMBERED_BYTES:
                continue
            this = frame_number(data, start)
            if this != number or command == START:
                self._mark(start, ticks)
                number = this
                if this > newest:
                    newest = this
                    ticks += 1
            if command == BOOKEND:
                self._mark(end, ticks)
                number = None
        self._mark(len(data), ticks)

    def at(self, offset: int) -> float:
        """Return the game time in seconds at which all bytes before the file offset `offset` have been produced."""
        return self.seconds[min(bisect_left(self.ends, offset), len(self.ends) - 1)]

    def produced(self, seconds: float) -> int:
        """Return the file offset up to which bytes have been produced at a game time. At negative times, this is 0."""
        entries = bisect_right(self.seconds, seconds)
        return self.ends[entries - 1] if entries else 0

    def _mark(self, offset: int, ticks: int) -> None:
        if not self.ends or self.ends[-1] < offset:
            self.ends.append(offset)
            self.seconds.append(ticks / FRAMES_PER_SECOND)


Cut = Iterator[tuple[float, int]]
"""The pieces of a file. Each has the game time in seconds and the file offset after the piece. Both increase up to the
end of the file."""


def _dolphin(timeline: Timeline) -> Cut:
    """Cut the file into whole blocks, written when the queue is emptied. The end of the game flushes the rest."""
    size, written = timeline.ends[-1], 0
    for drain in count(1):
        seconds = drain * DRAIN_SECONDS
        if seconds >= timeline.seconds[-1]:
            yield seconds, size
            return
        whole = timeline.produced(seconds) // BLOCK_BYTES * BLOCK_BYTES
        if whole > written:
            yield seconds, whole
            written = whole


def _pieces(timeline: Timeline, sizes_bytes: Iterable[int]) -> Cut:
    size = timeline.ends[-1]
    for offset in accumulate(sizes_bytes):
        yield timeline.at(offset), min(size, offset)
        if offset >= size:
            return


def _random_sizes(seed: int) -> Iterator[int]:
    """Yield random sizes of several magnitudes, so that cuts occur in fields, in events and between frames."""
    generator = random.Random(seed)
    while True:
        yield generator.randint(1, generator.choice(_MAX_RANDOM_BYTES))


def cutter(writer: str) -> Callable[[Timeline], Cut]:
    """Return the function that cuts a file for the given writer: `dolphin`, `frame`, `bytes:N` or `random:SEED`.

    Raises `ValueError` for other names.
    """
    if writer == "dolphin":
        return _dolphin
    if writer == "frame":
        return lambda timeline: zip(timeline.seconds, timeline.ends, strict=True)
    name, _, argument = writer.partition(":")
    with suppress(ValueError):  # of `int`
        value = int(argument)
        if name == "random":
            return lambda timeline: _pieces(timeline, _random_sizes(value))
        if name == "bytes" and value > 0:
            return lambda timeline: _pieces(timeline, repeat(value))
    raise ValueError(f"writer {writer!r}: expected dolphin, frame, bytes:N with N at least 1, or random:SEED")


def time_scale(speed: float) -> float:
    """Return the factor from game time to real time. For the speeds 0 and infinity (as fast as possible), it is 0.

    Raises `ValueError` for a negative speed and for NaN.
    """
    if math.isnan(speed) or speed < 0:
        raise ValueError(f"speed {speed}: expected 0 (as fast as possible) or more")
    return 0.0 if speed == 0 else 1.0 / speed


def schedule(data: bytes, writer: str = "dolphin", *, speed: float = 1.0) -> Iterator[Write]:
    """Return the writes that produce the replay `data` byte for byte, in order.

    They are generated lazily, because a large replay has millions of one-byte writes. Raises `WrongFormat` if `data`
    isn't a Slippi replay, and `ValueError` if the writer or the speed is unknown. Both are raised before the first
    write.
    """
    container.check_magic(data)
    return _writes(data, cutter(writer), time_scale(speed))


def _writes(data: bytes, cut: Callable[[Timeline], Cut], scale: float) -> Iterator[Write]:
    if not data:
        return
    running = (container.header(0) + data[container.HEADER_BYTES :])[: len(data)]
    timeline = Timeline(data)
    offset, seconds = 0, 0.0
    for seconds, end in cut(timeline):
        yield Write(seconds * scale, offset, running[offset:end])
        offset = end
    if running != data:
        length_offset = len(container.MAGIC)
        yield Write(seconds * scale, length_offset, data[length_offset : container.HEADER_BYTES])
