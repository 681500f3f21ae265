"""A finished replay to the writes that made it: pieces of the file, each with the game time at which it is written.

Two steps. A `Timeline` walks the events once and says when the game produced each byte: everything up to the first
frame at 0, each sending of a frame at the end of its sixtieth of a second, what follows the last frame together with
it. Then a writer cuts the file: a game hands whole frames or whole buffers to the system, a test wants cuts that no
game would make.

The bytes are those of the original, so odd replays work as well: what cannot be walked counts as produced with what
stands before it. While the game runs the raw length is 0; the last write puts the original one in its place. Where the
original kept its 0 there is no such write.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from slpstream.formats.slippi import container
from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    FRAMES_PER_SECOND,
    ITEM_UPDATE,
    POST_FRAME,
    PRE_FRAME,
    STAGE_EVENT_KINDS,
)
from slpstream.formats.slippi.framing import read_event_payloads, width_of_event_payloads
from slpstream.model.errors import FramingError

DRAIN_SECONDS = 0.085
"""Dolphin's writing thread empties its queue this often."""

BLOCK_BYTES = 4096
"""Dolphin does not flush: the C library writes whole blocks of its buffer."""

_LENGTH_AT = len(container.MAGIC)
_LENGTH_END = container.HEADER_BYTES
_FRAME_COMMANDS = frozenset(
    {table.command for table in (PRE_FRAME, POST_FRAME, FRAME_START, ITEM_UPDATE, FRAME_BOOKEND)}
    | set(STAGE_EVENT_KINDS)
)
_FRAME_NUMBER_END = 5
_LARGEST_RANDOM_PIECES = (1, 8, 64, 700, 5000)


class Write(NamedTuple):
    """One write: `data` goes to file position `offset`, `at_seconds` after the file was created."""

    at_seconds: float
    offset: int
    data: bytes


class Timeline:
    """When the game produced which byte: `ends[i]` is the file offset past the i-th sending, `seconds[i]` its time.

    The first entry is what comes before the frames, at 0 seconds; the last one ends with the file. A frame number
    that comes again after a rollback belongs to the sixtieth that is going on; a pause of the game takes no time.
    """

    def __init__(self, data: bytes) -> None:
        self.ends: list[int] = []
        self.seconds: list[float] = []
        self._walk(data)

    @property
    def duration_seconds(self) -> float:
        """When the last byte is produced."""
        return self.seconds[-1]

    def at(self, offset: int) -> float:
        """When the bytes up to file offset `offset` have been produced, in seconds."""
        return self.seconds[min(bisect_left(self.ends, offset), len(self.ends) - 1)]

    def produced(self, seconds: float) -> int:
        """File offset up to which bytes have been produced by then; 0 before the game has begun."""
        entries = bisect_right(self.seconds, seconds)
        return self.ends[entries - 1] if entries else 0

    def _walk(self, data: bytes) -> None:
        at = container.HEADER_BYTES
        widths = _widths(data)
        bookends = bool(widths and widths[FRAME_BOOKEND.command])
        number: int | None = None
        newest: int | None = None
        ticks = 0
        if widths is not None:
            at += data[at + 1] + 1
            while at < len(data):
                code = data[at]
                past = at + widths[code]
                if past == at or past > len(data):
                    break
                if code in _FRAME_COMMANDS and widths[code] >= _FRAME_NUMBER_END:
                    this = int.from_bytes(data[at + 1 : at + _FRAME_NUMBER_END], "big", signed=True)
                    if this != number or code == FRAME_START.command:
                        self._mark(at, ticks)
                        number = this
                        if newest is None or this > newest:
                            newest = this
                            ticks += 1
                    if bookends and code == FRAME_BOOKEND.command:
                        self._mark(past, ticks)
                        number = None
                at = past
        self._mark(len(data), ticks)

    def _mark(self, offset: int, ticks: int) -> None:
        if not self.ends or self.ends[-1] < offset:
            self.ends.append(offset)
            self.seconds.append(ticks / FRAMES_PER_SECOND)


def _widths(data: bytes) -> list[int] | None:
    """The width of each event, `None` where Event Payloads is missing or wrong."""
    at = container.HEADER_BYTES
    if len(data) <= at:
        return None
    try:
        width = width_of_event_payloads(data, at, at)
    except FramingError:
        return None
    if width is None or at + width > len(data):
        return None
    return read_event_payloads(data[at : at + width]).widths


Cut = Iterator[tuple[float, int]]
"""(game time in seconds, file offset past the piece), both rising; the last offset is the end of the file."""


def _every_frame(timeline: Timeline) -> Cut:
    yield from zip(timeline.seconds, timeline.ends, strict=True)


def _dolphin(timeline: Timeline) -> Cut:
    """Whole blocks at each emptying of the queue; the end of the game flushes the rest."""
    size = timeline.ends[-1]
    written, drain = 0, 0
    while True:
        drain += 1
        seconds = drain * DRAIN_SECONDS
        if seconds >= timeline.duration_seconds:
            yield seconds, size
            return
        whole = timeline.produced(seconds) // BLOCK_BYTES * BLOCK_BYTES
        if whole > written:
            yield seconds, whole
            written = whole


def _pieces(timeline: Timeline, size_bytes: Callable[[], int]) -> Cut:
    at, size = 0, timeline.ends[-1]
    while at < size:
        at = min(size, at + size_bytes())
        yield timeline.at(at), at


def cutter(writer: str) -> Callable[[Timeline], Cut]:
    """What a writer is called: `dolphin`, `frame`, `bytes:N` or `random:SEED`. Raises `ValueError` for others."""
    name, _, argument = writer.partition(":")
    if writer == "dolphin":
        return _dolphin
    if writer == "frame":
        return _every_frame
    if name in ("bytes", "random"):
        try:
            value = int(argument)
        except ValueError:
            raise ValueError(f"writer {writer!r}: {name}: takes an integer") from None
        if name == "random":
            return lambda timeline: _pieces(timeline, _random_sizes(value))
        if value > 0:
            return lambda timeline: _pieces(timeline, lambda: value)
    raise ValueError(f"writer {writer!r}: expected dolphin, frame, bytes:N with N at least 1, or random:SEED")


def _random_sizes(seed: int) -> Callable[[], int]:
    """Sizes of many magnitudes, so that fields, events and frames are all cut."""
    generator = random.Random(seed)
    return lambda: generator.randint(1, generator.choice(_LARGEST_RANDOM_PIECES))


def time_scale(speed: float) -> float:
    """What game time is multiplied by at a speed; 0 and infinity mean as fast as possible. Raises `ValueError`."""
    if math.isnan(speed) or speed < 0:
        raise ValueError(f"speed {speed}: expected 0 (as fast as possible) or more")
    return 0.0 if speed == 0 else 1.0 / speed


def schedule(data: bytes, writer: str = "dolphin", *, speed: float = 1.0) -> Iterator[Write]:
    """The writes that make the replay `data`, in order; done one after the other they give it byte for byte.

    Lazy: a large replay in pieces of one byte is not kept as a list. Raises `WrongFormat` when `data` is no Slippi
    replay and `ValueError` for a writer or speed that does not exist, both before the first write.
    """
    container.check_magic(data)
    return _writes(data, cutter(writer), time_scale(speed))


def _writes(data: bytes, cut: Callable[[Timeline], Cut], scale: float) -> Iterator[Write]:
    if not data:
        return
    running = data[:_LENGTH_AT] + bytes(len(data[_LENGTH_AT:_LENGTH_END])) + data[_LENGTH_END:]
    timeline = Timeline(data)
    at, seconds = 0, 0.0
    for seconds, end in cut(timeline):
        yield Write(seconds * scale, at, running[at:end])
        at = end
    if running != data:
        yield Write(seconds * scale, _LENGTH_AT, data[_LENGTH_AT:_LENGTH_END])
