"""Rollbacks: turns the frames of a match into the transmissions of a netplay replay.

Until the inputs of the remote player arrive, the game continues with the last known ones. If that guess was wrong, the
game goes back and resends all guessed frames before the next one. Each Frame Bookend has the latest finalized frame.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from slpstream.formats.slippi.commands import FIRST_FRAME
from tests.synthetic.bout import FrameEvents

_FIRST_ROLLBACK_FRAME = FIRST_FRAME + 40
_ROLLBACK_PROBABILITY = 0.06
_DEPTHS, _DEPTH_WEIGHTS = (1, 2, 3, 4, 5, 6), (60, 16, 10, 6, 5, 3)
_SECOND_GUESS_PROBABILITY = 0.15
_LAGS, _LAG_WEIGHTS = (0, 1, 2), (80, 15, 5)
_GUESS_ERROR_X = 0.75
_INPUTS = (
    "joystick_x",
    "joystick_y",
    "c_stick_x",
    "c_stick_y",
    "trigger",
    "buttons",
    "physical_buttons",
    "physical_l_trigger",
    "physical_r_trigger",
    "raw_joystick_x",
    "raw_joystick_y",
    "raw_c_stick_x",
    "raw_c_stick_y",
)


class Transmission(NamedTuple):
    """One transmission of a frame, and the latest finalized frame in its bookend."""

    frame: FrameEvents
    finalized: int


def transmissions(frames: Iterable[FrameEvents], rng: random.Random, *, remote: int = 1) -> Iterator[Transmission]:
    """The frames of a match in the order of a netplay replay. `remote` is the index of the player with late inputs.

    The last transmission of each frame number is final. The latest finalized frame never decreases and lags by at
    most 6 frames, even at the end of the match; a finalized frame is never resent.
    """
    finalized = FIRST_FRAME - 1
    confirmed: FrameEvents | None = None
    guessed: list[FrameEvents] = []
    depth = 0
    for frame in frames:
        can_guess = depth == 0 and confirmed is not None and frame.number >= _FIRST_ROLLBACK_FRAME
        if can_guess and rng.random() < _ROLLBACK_PROBABILITY:
            depth = rng.choices(_DEPTHS, _DEPTH_WEIGHTS)[0]
        if depth == 0 or confirmed is None:
            # The guess was right; the confirmation can still be in flight.
            lag = rng.choices(_LAGS, _LAG_WEIGHTS)[0]
            finalized = max(finalized, frame.number - lag)
            yield Transmission(frame, finalized)
            confirmed = frame
            continue
        guessed.append(frame)
        yield Transmission(_guess(frame, confirmed, remote), finalized)
        if len(guessed) == depth:
            if rng.random() < _SECOND_GUESS_PROBABILITY:
                for true_frame in guessed:
                    yield Transmission(_guess(true_frame, confirmed, remote), finalized)
            for true_frame in guessed:
                finalized = true_frame.number
                yield Transmission(true_frame, finalized)
            confirmed, guessed, depth = frame, [], 0
    for true_frame in guessed:
        yield Transmission(true_frame, finalized)


def _guess(frame: FrameEvents, confirmed: FrameEvents, remote: int) -> FrameEvents:
    """The guessed frame: the remote player has the inputs of the last confirmed frame, and is displaced."""
    last = next((pre for pre in confirmed.pres if pre.player_index == remote), None)
    if last is None:
        return frame
    inputs: dict[str, Any] = {name: getattr(last, name) for name in _INPUTS}
    error_x = (frame.number - confirmed.number) * _GUESS_ERROR_X
    return frame._replace(
        pres=[msgspec.structs.replace(pre, **inputs) if pre.player_index == remote else pre for pre in frame.pres],
        posts=[
            msgspec.structs.replace(post, position_x=post.position_x + error_x) if post.player_index == remote else post
            for post in frame.posts
        ],
    )
