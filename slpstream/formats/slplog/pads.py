"""Inputs in bits: what a pad does, frame by frame, coded as the change against the frame before.

A frame of a pad is its buttons and its axes. Of a frame that differs from the one before:

- for each button that toggled a bit 1 and its index, then a stop bit 0;
- for each axis a bit 0 when it stands, or a bit 1 and the delta: Exp-Golomb, so that a small one is short and a large
  one escapes into a longer code;
- for how many frames it holds, less 1.

All of it is lossless. A recording is cut into segments at the keyframe interval; each begins from rest (no button, all
axes 0), so any frame is reached by reading one segment.

`EIGHT_STEPS` is the article's table of eight steps for an axis: it loses what lies between the steps, and serves a game
that quantises its own input before it plays with it. No recording is ever coded with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from slpstream.formats.slplog.bits import BitPacker, BitUnpacker, MemoryStream
from slpstream.model.errors import FieldError

KEYFRAME_FRAMES = 120
MAX_RUN_FRAMES = 1 << 24
_MAX_SEGMENTS = 1 << 20
_AXIS_SHIFT = 2
_MAX_RUN_SHIFT = 16

Axes = tuple[int, ...]


class Pad(NamedTuple):
    """What a pad has: how many buttons, and of each axis how many different values."""

    buttons: int
    axes: tuple[int, ...]
    run_shift: int = 0
    """Order of the Exp-Golomb code of how long a state holds: runs of about `2 ** run_shift` frames are the shortest to
    say."""

    @property
    def index_bits(self) -> int:
        """Width of a button's index."""
        return max(1, (self.buttons - 1).bit_length())


class Held(NamedTuple):
    """One state of a pad, and for how many frames it holds (1 or more)."""

    buttons: int
    axes: Axes
    frames: int = 1


def held(states: Iterable[tuple[int, Axes]]) -> Iterator[Held]:
    """Frames of (buttons, axes) as runs of equal ones."""
    for (buttons, axes), same in groupby(states):
        yield Held(buttons, axes, sum(1 for _ in same))


def put_runs(packer: BitPacker, pad: Pad, runs: Iterable[Held]) -> None:
    """Appends runs, the first against a pad at rest. Equal neighbours stay apart.

    Raises `ValueError` for what the pad does not have.
    """
    buttons, axes = 0, (0,) * len(pad.axes)
    for run in runs:
        if run.buttons >> pad.buttons or run.buttons < 0:
            raise ValueError(f"the buttons {run.buttons:#x} are more than {pad.buttons}")
        if len(run.axes) != len(axes) or run.frames < 1:
            raise ValueError(f"no state of this pad: {run}")
        toggled = run.buttons ^ buttons
        while toggled:
            low = toggled & -toggled
            packer.put(1 << pad.index_bits | (low.bit_length() - 1), 1 + pad.index_bits)
            toggled ^= low
        packer.put_bit(False)
        for old, new, size in zip(axes, run.axes, pad.axes, strict=True):
            if not 0 <= new < size:
                raise ValueError(f"the axis value {new} is not below {size}")
            packer.put_bit(new != old)
            if new != old:
                # 0 never comes: the values above it move down by one.
                delta = (new - old + size // 2) % size - size // 2
                packer.put_delta(delta - 1 if delta > 0 else delta, _AXIS_SHIFT)
        packer.put_number(run.frames - 1, pad.run_shift)
        buttons, axes = run.buttons, run.axes


def take_runs(bits: BitUnpacker, pad: Pad, count: int) -> Iterator[Held]:
    """The mirror of `put_runs`. Raises `FieldError`."""
    buttons, axes = 0, [0] * len(pad.axes)
    for _ in range(count):
        while bits.take_bit():
            index = bits.take(pad.index_bits)
            if index >= pad.buttons:
                raise FieldError(f"there is no button {index}", offset=bits.at >> 3)
            buttons ^= 1 << index
        for i, size in enumerate(pad.axes):
            if bits.take_bit():
                delta = bits.take_delta(_AXIS_SHIFT)
                axes[i] = (axes[i] + (delta + 1 if delta >= 0 else delta)) % size
        frames = bits.take_number(pad.run_shift) + 1
        if frames > MAX_RUN_FRAMES:
            raise FieldError(f"a run of {frames} frames", offset=bits.at >> 3)
        yield Held(buttons, tuple(axes), frames)


def pack_track(pad: Pad, runs: Sequence[Held], keyframe_frames: int = KEYFRAME_FRAMES) -> bytes:
    """A track of inputs with a keyframe every `keyframe_frames`: an index of segments, then their bits."""
    stream = MemoryStream()
    stream.write_number(pad.buttons)
    stream.write_number(pad.run_shift)
    stream.write_number(len(pad.axes))
    for size in pad.axes:
        stream.write_number(size)
    stream.write_number(keyframe_frames)
    segments = list(_segments(runs, keyframe_frames))
    stream.write_number(len(segments))
    parts = []
    for segment in segments:
        packer = BitPacker()
        put_runs(packer, pad, segment)
        parts.append(packer.to_bytes())
        stream.write_number(len(segment))
        stream.write_number(len(parts[-1]))
    return stream.to_bytes() + b"".join(parts)


def _segments(runs: Iterable[Held], frames: int) -> Iterator[list[Held]]:
    segment: list[Held] = []
    room = frames
    for run in runs:
        left = run.frames
        while left:
            taken = min(left, room)
            segment.append(run._replace(frames=taken))
            left, room = left - taken, room - taken
            if not room:
                yield segment
                segment, room = [], frames
    if segment:
        yield segment


class Track:
    """A packed track, read at any frame. Raises `FieldError` for bytes that are none."""

    def __init__(self, data: bytes) -> None:
        stream = MemoryStream(data)
        buttons, run_shift = stream.read_number(64), stream.read_number(_MAX_RUN_SHIFT)
        axes = stream.read_number(64)
        self.pad = Pad(buttons, tuple(stream.read_number(1 << 40) for _ in range(axes)), run_shift)
        self.keyframe_frames = stream.read_number(MAX_RUN_FRAMES)
        if not self.keyframe_frames or not all(self.pad.axes):
            raise FieldError("a track without an interval or with an empty axis", offset=stream.at)
        at = 0
        self._segments: list[tuple[int, int, int]] = []
        for _ in range(stream.read_number(_MAX_SEGMENTS)):
            runs, size = stream.read_number(len(data) * 8), stream.read_number(len(data))
            self._segments.append((runs, at, size))
            at += size
        self._data = data[stream.at :]
        if len(self._data) != at:
            raise FieldError(f"{at} bytes of segments are announced, {len(self._data)} are there", offset=stream.at)

    @property
    def segments(self) -> int:
        """How many keyframes."""
        return len(self._segments)

    def runs(self, segment: int) -> list[Held]:
        """The runs of a segment."""
        count, at, size = self._segments[segment]
        return list(take_runs(BitUnpacker(self._data[at : at + size], offset=at), self.pad, count))

    def at(self, frame: int) -> tuple[int, Axes]:
        """Buttons and axes of a frame, counted from 0; reads one segment. Raises `IndexError` behind the last one."""
        if frame < 0:
            raise IndexError(frame)
        left = frame % self.keyframe_frames
        for run in self.runs(frame // self.keyframe_frames):
            if left < run.frames:
                return run.buttons, run.axes
            left -= run.frames
        raise IndexError(frame)


EIGHT_STEPS = (-128, -48, -12, -4, 4, 12, 48, 128)
"""The profile `eight_steps`: the deltas that an axis of 0 to 255 may take, 3 bits each. Lossy; synthetic input only."""
_MIN_STEP = 4


def quantise_step(old: int, wanted: int) -> tuple[int | None, int]:
    """An axis value (0 to 255) that a game would like to have, as the index of the nearest step and the value that it
    must then play with; `None` when the change is too small for a step and the value stays."""
    delta = wanted - old
    if abs(delta) < _MIN_STEP:
        return None, old
    index = min(range(len(EIGHT_STEPS)), key=lambda i: (abs(EIGHT_STEPS[i] - delta), i))
    return index, apply_step(old, index)


def apply_step(old: int, index: int) -> int:
    """The value behind a step, 0 to 255."""
    return min(255, max(0, old + EIGHT_STEPS[index]))
