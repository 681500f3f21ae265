"""The frames of a replay.

They are stored as runs of inputs, and when you ask for frames, a run is expanded to one entry for each frame.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate

import msgspec

from slpstream.formats.gci.body import GO_FRAME, InputRun
from slpstream.model.events import Inputs, State

BUTTONS: Mapping[int, str] = {0x80: "side_attack", 0x40: "boost", 0x20: "spin_attack", 0x10: "both_strafe"}
"""Names of the buttons in messages, by bit. The low four bits are 4 in all known replays."""
FULL = 100
"""Value of a stick or trigger at its end, after the game's calibration."""


class RawInputs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """The values in the form in which the file has them, where signed ones are signed integers."""

    buttons: int
    strafe: int
    accel: int
    brake: int
    steer_x: int
    steer_y: int


class WireInputs(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """The inputs of a frame.

    `steer`, `pitch` and `strafe` are in [-1, 1], right positive (the positive direction of `pitch` is not documented);
    `throttle` and `brake` are in [0, 1]. Values outside the game's range are clipped; `raw` has the original ones.
    """

    steer: float
    pitch: float
    strafe: float
    throttle: float
    brake: float
    buttons: tuple[str, ...]
    raw: RawInputs


class PlayerFrame(msgspec.Struct, frozen=True, kw_only=True, rename={"wire_inputs": "inputs"}, gc=False):
    """A player's part of a frame."""

    wire_inputs: WireInputs

    @property
    def inputs(self) -> Inputs:
        """The inputs in a form that is the same for all formats."""
        wire = self.wire_inputs
        return Inputs(
            steer=wire.steer,
            pitch=wire.pitch,
            strafe=wire.strafe,
            throttle=wire.throttle,
            brake=wire.brake,
            buttons=frozenset(wire.buttons),
        )

    @property
    def state(self) -> State | None:
        """This is always `None`, because the file only contains positions for checkpoints."""
        return None


class FrameEntry(msgspec.Struct, kw_only=True, rename="camel", gc=False):
    """A frame. `frame` 0 is GO; `native_frame` is the game's own number, 182 more. `players` are by racer index."""

    frame: int
    native_frame: int
    revision: int
    players: dict[int, PlayerFrame]


class RunFrames:
    """The frames that you get if you expand a sequence of runs."""

    def __init__(self, runs: Sequence[InputRun], player_index: int) -> None:
        self._runs = runs
        self._stops = list(accumulate(run.frames for run in runs))
        self._player_index = player_index

    @property
    def frames(self) -> int:
        """How many frames all runs have together. Without any runs, this is 0."""
        return self._stops[-1] if self._stops else 0

    def between(self, first: int, stop: int) -> Iterator[tuple[int, FrameEntry]]:
        """Yield the entries of the native frames from `first` to `stop - 1`, each with the index of its run.

        There must be at least one run. If a frame comes after the last run, it has the same inputs as this run.
        """
        last = len(self._runs) - 1
        index = min(bisect_right(self._stops, first), last)
        players = self._players(index)
        for native in range(first, stop):
            while index < last and native >= self._stops[index]:
                index += 1
                players = self._players(index)
            entry = FrameEntry(frame=native - GO_FRAME, native_frame=native, revision=0, players=players)
            yield index, entry

    def _players(self, index: int) -> dict[int, PlayerFrame]:
        return {self._player_index: PlayerFrame(wire_inputs=wire_inputs(self._runs[index]))}


def wire_inputs(run: InputRun) -> WireInputs:
    """Return the inputs of a run in the form of messages."""
    return WireInputs(
        steer=_axis(run.steer_x),
        pitch=_axis(run.steer_y),
        strafe=_axis(run.strafe),
        throttle=_axis(run.accel),
        brake=_axis(run.brake),
        buttons=button_names(run.buttons),
        raw=RawInputs(
            buttons=run.buttons,
            strafe=run.strafe,
            accel=run.accel,
            brake=run.brake,
            steer_x=run.steer_x,
            steer_y=run.steer_y,
        ),
    )


def in_range(run: InputRun) -> bool:
    """Whether the game could have produced all of these values."""
    return (
        -FULL <= run.strafe <= FULL
        and -FULL <= run.steer_x <= FULL
        and -FULL <= run.steer_y <= FULL
        and run.accel <= FULL
        and run.brake <= FULL
    )


@lru_cache(maxsize=256)
def button_names(buttons: int) -> tuple[str, ...]:
    """Return the names of the bits that are set, beginning with the highest."""
    return tuple(name for bit, name in BUTTONS.items() if buttons & bit)


def _axis(value: int) -> float:
    return max(-1.0, min(1.0, value / FULL))
