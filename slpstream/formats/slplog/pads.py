"""Inputs in bits: the buttons and axes of a pad, coded losslessly as changes against the frame before.

Frames with equal inputs make a run. A run is coded as

- a bit 1 and the index of each button that toggled, then a stop bit 0;
- for each axis a bit 0 when it stands, or a bit 1 and the delta in Exp-Golomb, so that a small delta is short and a
  large one escapes into a longer code;
- the number of frames that it holds, less 1.

The first run is coded against a pad at rest: no button pressed, all axes 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from slpstream.formats.slplog.bits import BitPacker, BitUnpacker
from slpstream.model.errors import FieldError

KEYFRAME_FRAMES = 120
MAX_RUN_FRAMES = 1 << 24
_AXIS_SHIFT = 2

Axes = tuple[int, ...]


class Pad(NamedTuple):
    """The number of buttons of a pad, and the number of values of each axis."""

    buttons: int
    axes: tuple[int, ...]
    run_shift: int = 0
    """Order of the Exp-Golomb code for the length of a run; runs of about `2 ** run_shift` frames are the cheapest."""

    @property
    def index_bits(self) -> int:
        """Width of a button's index."""
        return max(1, (self.buttons - 1).bit_length())


class Held(NamedTuple):
    """A run, which consists of one state of a pad, and how many frames it lasts (at least 1)."""

    buttons: int
    axes: Axes
    frames: int = 1


def held(states: Iterable[tuple[int, Axes]]) -> Iterator[Held]:
    """Group frames, which are given as (buttons, axes), into runs of equal ones."""
    for (buttons, axes), same in groupby(states):
        yield Held(buttons, axes, sum(1 for _ in same))


def put_runs(packer: BitPacker, pad: Pad, runs: Iterable[Held]) -> None:
    """Append runs. The first of them is coded against a pad at rest. If two neighbours are equal, they aren't merged.

    Raises `ValueError` if there's a button, an axis or a value that the pad doesn't have.
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
                # The delta is never 0, so the positive ones move down by one.
                delta = (new - old + size // 2) % size - size // 2
                packer.put_delta(delta - 1 if delta > 0 else delta, _AXIS_SHIFT)
        packer.put_number(run.frames - 1, pad.run_shift)
        buttons, axes = run.buttons, run.axes


def take_runs(bits: BitUnpacker, pad: Pad, count: int) -> Iterator[Held]:
    """Read `count` runs: the inverse of `put_runs`. Raises `FieldError`."""
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
