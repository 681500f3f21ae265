"""What a match looks like in a replay of online play: frames guessed, sent, rolled back and sent again.

While the other player's inputs are on their way the game goes on with his last ones. When they turn out to have been
different, it goes back and sends the frames once more, all of them, before the next one. Each bookend says up to
where nothing will change.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from slpstream.formats.slippi.commands import FIRST_FRAME
from slpstream.simulate.bout import Moment

_FIRST_ROLLBACK_FRAME = FIRST_FRAME + 40
_CHANCE = 0.06
_DEPTHS, _DEPTH_WEIGHTS = (1, 2, 3, 4, 5, 6), (60, 16, 10, 6, 5, 3)
_AGAIN_CHANCE = 0.15
_LAGS, _LAG_WEIGHTS = (0, 1, 2), (80, 15, 5)
_WRONG_X = 0.75
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


class Sending(NamedTuple):
    """One sending of a frame, and the latest finalized frame of its bookend."""

    moment: Moment
    finalized: int


def sendings(moments: Iterable[Moment], rng: random.Random, *, remote: int = 1) -> Iterator[Sending]:
    """The frames of a match in the order of a netplay replay. `remote` is the player index whose inputs come late.

    The last sending of each number is the true one. The finalized frame never falls, is at most 6 behind, and what it
    covers is not sent again; it may lag to the end.
    """
    finalized = FIRST_FRAME - 1
    before: Moment | None = None
    guesses: list[Moment] = []
    depth = 0
    for moment in moments:
        if depth == 0 and before is not None and moment.number >= _FIRST_ROLLBACK_FRAME and rng.random() < _CHANCE:
            depth = rng.choices(_DEPTHS, _DEPTH_WEIGHTS)[0]
        if depth == 0 or before is None:
            # The guess was right; the confirmation may still be on its way.
            lag = rng.choices(_LAGS, _LAG_WEIGHTS)[0]
            finalized = max(finalized, moment.number - lag)
            yield Sending(moment, finalized)
            before = moment
            continue
        guesses.append(moment)
        yield Sending(_guessed(moment, before, remote), finalized)
        if len(guesses) == depth:
            if rng.random() < _AGAIN_CHANCE:
                for true in guesses:
                    yield Sending(_guessed(true, before, remote), finalized)
            for true in guesses:
                finalized = true.number
                yield Sending(true, finalized)
            before, guesses, depth = moment, [], 0
    for true in guesses:
        yield Sending(true, finalized)


def _guessed(moment: Moment, before: Moment, remote: int) -> Moment:
    """The frame with the remote player's inputs as they last were, and him where those would have brought him."""
    last = next((pre for pre in before.pres if pre.player_index == remote), None)
    if last is None:
        return moment
    inputs: dict[str, Any] = {name: getattr(last, name) for name in _INPUTS}
    wrong = (moment.number - before.number) * _WRONG_X
    return moment._replace(
        pres=[msgspec.structs.replace(pre, **inputs) if pre.player_index == remote else pre for pre in moment.pres],
        posts=[
            msgspec.structs.replace(post, position_x=post.position_x + wrong) if post.player_index == remote else post
            for post in moment.posts
        ],
    )
