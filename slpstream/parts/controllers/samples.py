"""Reads the inputs for the controller check from each final frame, without decoding the rest of the frame."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.packed_frame import PackedFrame

_PRE = (
    "c_stick_x",
    "c_stick_y",
    "physical_buttons",
    "physical_l_trigger",
    "physical_r_trigger",
    "raw_joystick_x",
    "raw_joystick_y",
    "raw_c_stick_x",
    "raw_c_stick_y",
)
"""The fields of the Pre-Frame Update, in the order in which they are in the event."""
_ALWAYS = 5
"""Counted from the first one, this many fields of `_PRE` exist in all versions."""


class Sample(NamedTuple):
    """The inputs of one player in one frame. Raw values are `None` if the replay doesn't have them."""

    c_x: float
    c_y: float
    buttons: int
    left: float
    right: float
    raw_x: int | None = None
    raw_y: int | None = None
    raw_c_x: int | None = None
    raw_c_y: int | None = None


class PlayerSample(NamedTuple):
    """The inputs of one player, and the action state after the frame (or `None` if the frame doesn't have it)."""

    sample: Sample
    action: int | None


class _EncodedPre(msgspec.Struct, rename="camel", gc=False):
    c_stick_x: float | None
    c_stick_y: float | None
    physical_buttons: int
    physical_l_trigger: float | None
    physical_r_trigger: float | None
    raw_joystick_x: int | None = None
    raw_joystick_y: int | None = None
    raw_c_stick_x: int | None = None
    raw_c_stick_y: int | None = None


class _EncodedPost(msgspec.Struct, rename="camel", gc=False):
    action_state_id: int


class _EncodedPlayer(msgspec.Struct, gc=False):
    pre: _EncodedPre | None = None
    post: _EncodedPost | None = None


class _EncodedEntry(msgspec.Struct, gc=False):
    players: dict[int, _EncodedPlayer]


_decode_entry = msgspec.json.Decoder(_EncodedEntry).decode


def samples_of(content: Any) -> dict[int, PlayerSample]:
    """Return the samples of a frame by player index. `content` is a packed frame, a decoded one, or its JSON."""
    if type(content) is PackedFrame:
        actions = content.events.fields(POST_FRAME, ("action_state_id",), int)(content.data)
        samples = content.events.fields(PRE_FRAME, _PRE, Sample)(content.data)
        return {index: PlayerSample(sample, actions[index]) for index, sample in samples.items()}
    return _encoded(content) if isinstance(content, bytes | msgspec.Raw) else _decoded(content)


def _decoded(entry: Any) -> dict[int, PlayerSample]:
    samples = {}
    for index, player in entry.players.items():
        pre, post = player.pre, player.post
        if pre is UNSET:
            continue
        values = [getattr(pre, name) for name in _PRE]
        if UNSET in values[:_ALWAYS]:
            continue
        action = None if post is UNSET else post.action_state_id
        known: list[Any] = [None if value is UNSET else value for value in values]
        sample = Sample(*known)
        samples[index] = PlayerSample(sample, None if action is UNSET else action)
    return samples


def _encoded(entry: bytes | msgspec.Raw) -> dict[int, PlayerSample]:
    try:
        players = _decode_entry(entry).players
    except msgspec.DecodeError:  # a damaged frame lacks fields that all versions have
        return {}
    samples = {}
    for index, player in players.items():
        if player.pre is None:
            continue
        values = [getattr(player.pre, name) for name in _PRE]
        numbers: list[Any] = [
            float("nan") if value is None and i < _ALWAYS else value for i, value in enumerate(values)
        ]
        samples[index] = PlayerSample(Sample(*numbers), None if player.post is None else player.post.action_state_id)
    return samples
