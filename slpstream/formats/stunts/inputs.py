"""One input byte a tic: its bits, the runs of equal bytes, and what a byte means as inputs.

A byte drives the step of the simulation from its tic to the next one. People hold keys for long, so a replay is kept as
runs (a race has 6 to 8 tics a run) and expanded as its frames are taken.
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
"""The game ignores the other two."""


class Raw(msgspec.Struct, frozen=True, gc=False):
    """What the file has of one tic: `byte`, 0 to 255."""

    byte: int


class StuntsInputs(msgspec.Struct, frozen=True, gc=False):
    """What the player's hands did in one tic.

    `steer` is -1 (left), 0 or 1 (right); both bits together, whose meaning nobody has seen, give 0. `throttle` and
    `brake` are 0 or 1 and never both: the game takes the two pedals together as neither. `buttons` has `gear_up` or
    `gear_down`, with a manual transmission only; up wins. `raw` has everything.
    """

    steer: float
    throttle: float
    brake: float
    buttons: tuple[str, ...]
    raw: Raw


class StuntsPlayerFrame(msgspec.Struct, frozen=True, gc=False):
    """The player's part of a frame. There is no state: where the car is only the game's own physics know."""

    hands: StuntsInputs = msgspec.field(name="inputs")

    @property
    def inputs(self) -> events.Inputs:
        """The same as every other game's inputs."""
        hands = self.hands
        return events.Inputs(
            steer=hands.steer, throttle=hands.throttle, brake=hands.brake, buttons=frozenset(hands.buttons)
        )

    @property
    def state(self) -> None:
        """The format has none."""
        return None


class StuntsFrame(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One tic: `frame` and `native_frame` are its number, from 0 (GO)."""

    frame: int
    native_frame: int
    revision: int
    players: Mapping[int, StuntsPlayerFrame]


@functools.lru_cache(maxsize=512)
def players_of(byte: int, manual: bool) -> Mapping[int, StuntsPlayerFrame]:
    """The players of a tic with this input byte; the same object for all such tics."""
    accelerates, brakes = bool(byte & ACCELERATE), bool(byte & BRAKE)
    buttons: tuple[str, ...] = ()
    if manual and byte & (GEAR_UP | GEAR_DOWN):
        buttons = ("gear_up",) if byte & GEAR_UP else ("gear_down",)
    hands = StuntsInputs(
        steer=float(bool(byte & RIGHT) - bool(byte & LEFT)),
        throttle=float(accelerates and not brakes),
        brake=float(brakes and not accelerates),
        buttons=buttons,
        raw=Raw(byte),
    )
    return {0: StuntsPlayerFrame(hands)}


class InputRuns:
    """The input bytes of a replay, kept as runs. Equal when the bytes are."""

    def __init__(self, data: bytes = b"") -> None:
        starts, values, at = array("I"), bytearray(), 0
        for byte, same in groupby(data):
            starts.append(at)
            values.append(byte)
            at += sum(1 for _ in same)
        self._starts, self._values, self._count = starts, bytes(values), at

    def __len__(self) -> int:
        """How many tics."""
        return self._count

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, InputRuns) and bytes(self) == bytes(other)

    def __hash__(self) -> int:
        return hash(bytes(self))

    def __bytes__(self) -> bytes:
        return self.expand(0, self._count)

    def expand(self, first: int, stop: int) -> bytes:
        """The bytes of the tics `first` to `stop - 1`, those that there are."""
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
        """How many tics at the end have none of the bits that the game looks at."""
        stop = self._count
        for start, byte in zip(reversed(self._starts), reversed(self._values), strict=True):
            if byte & USED_BITS:
                break
            stop = start
        return self._count - stop


def likely_finished(inputs: InputRuns, frequency_hz: int) -> bool:
    """The hint whether the race was finished: the game records one second after the line, in which no key counts.

    A player who let go of everything for the last second looks the same, so `False` only means that nobody knows.
    """
    return 0 < frequency_hz < len(inputs) and inputs.trailing_idle_frames >= frequency_hz
