"""The input bytes of a replay, one for each tic. This knows the bits in them and which inputs they mean, and stores
them as runs of equal bytes.

A byte drives the step of the simulation from its tic to the next one. Players usually hold a key for several tics (in a
race, 6 to 8 on average). That's why we store a replay as runs, and expand them when you ask for frames.
"""

from __future__ import annotations

import functools
from array import array
from bisect import bisect_right
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import msgspec

from slpstream.model import events

ACCELERATE, BRAKE, RIGHT, LEFT, GEAR_UP, GEAR_DOWN = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
USED_BITS = 0x3F
"""The bits that the game uses; it ignores the other two."""


class Raw(msgspec.Struct, frozen=True, gc=False):
    """The file's own value for a tic: `byte`, 0 to 255."""

    byte: int


class StuntsInputs(msgspec.Struct, frozen=True, gc=False):
    """The inputs of a tic.

    `steer` is -1 (left), 0 or 1 (right); it is 0 for both bits together, whose effect is unknown. `throttle` and
    `brake` are 0 or 1, and both 0 when both pedals are pressed, which the game treats as neither. `buttons` has
    `gear_up` or `gear_down`, only with a manual transmission; if both bits are set, it has `gear_up`. `raw` has all
    bits.
    """

    steer: float
    throttle: float
    brake: float
    buttons: tuple[str, ...]
    raw: Raw


class StuntsPlayerFrame(msgspec.Struct, frozen=True, gc=False):
    """The player's part of a frame.

    It doesn't have any state, because you need the game's physics engine to compute positions.
    """

    wire_inputs: StuntsInputs = msgspec.field(name="inputs")

    @property
    def inputs(self) -> events.Inputs:
        """The inputs in a form that is the same for all formats."""
        wire = self.wire_inputs
        return events.Inputs(
            steer=wire.steer, throttle=wire.throttle, brake=wire.brake, buttons=frozenset(wire.buttons)
        )

    @property
    def state(self) -> None:
        """This is always `None`, because the format doesn't contain any state."""
        return None


class StuntsFrame(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A tic. Both `frame` and `native_frame` are its number, counted from 0 (GO)."""

    frame: int
    native_frame: int
    revision: int
    players: Mapping[int, StuntsPlayerFrame]


@functools.lru_cache(maxsize=512)
def players_of(byte: int, manual: bool) -> Mapping[int, StuntsPlayerFrame]:
    """Return the players in a tic with this input byte. If two tics have the same byte, they share one object."""
    accelerates, brakes = bool(byte & ACCELERATE), bool(byte & BRAKE)
    buttons: tuple[str, ...] = ()
    if manual and byte & (GEAR_UP | GEAR_DOWN):
        buttons = ("gear_up",) if byte & GEAR_UP else ("gear_down",)
    wire = StuntsInputs(
        steer=float(bool(byte & RIGHT) - bool(byte & LEFT)),
        throttle=float(accelerates and not brakes),
        brake=float(brakes and not accelerates),
        buttons=buttons,
        raw=Raw(byte),
    )
    return {0: StuntsPlayerFrame(wire)}


class InputRuns:
    """The input bytes of a replay, which are stored as runs. Two of these are equal if their bytes are equal."""

    def __init__(self, data: bytes = b"") -> None:
        starts, values, count = array("I"), bytearray(), 0
        for byte, same in groupby(data):
            starts.append(count)
            values.append(byte)
            count += sum(1 for _ in same)
        self._starts, self._values, self._count = starts, bytes(values), count

    def __len__(self) -> int:
        """The number of tics."""
        return self._count

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, InputRuns) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __bytes__(self) -> bytes:
        return self.expand(0, self._count)

    def expand(self, first: int, stop: int) -> bytes:
        """Return the bytes of the tics from `first` to `stop - 1`. If some of them don't exist, they are left out."""
        stop = min(stop, self._count)
        parts = []
        index = max(bisect_right(self._starts, first) - 1, 0)
        while first < stop:
            end = self._starts[index + 1] if index + 1 < len(self._starts) else self._count
            end = min(end, stop)
            parts.append(self._values[index : index + 1] * (end - first))
            first = end
            index += 1
        return b"".join(parts)

    @property
    def trailing_idle_frames(self) -> int:
        """Return how many tics at the end have none of the bits that the game uses."""
        stop = self._count
        for start, byte in zip(reversed(self._starts), reversed(self._values), strict=True):
            if byte & USED_BITS:
                break
            stop = start
        return self._count - stop


def likely_finished(inputs: InputRuns, frequency_hz: int) -> bool:
    """Whether the race was probably finished, because there are no inputs in the last second of the replay.

    After the finish line, the game records one more second in which keys don't have any effect. However, a player might
    also just not have pressed any key for a second. So this is only a hint, and `False` means that we don't know.
    """
    return 0 < frequency_hz < len(inputs) and inputs.trailing_idle_frames >= frequency_hz
