"""Those parts of a frame that the computers need, which can be read without decoding the frame.

On the live path, most frames are bytes that weren't decoded (`PackedFrame`). If we decoded all of their fields, this
would take most of the time of the stats, so we only read these.
"""

from __future__ import annotations

import copy
from typing import Any, Self

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import FRAME_START, POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.packed_frame import PackedFrame, ReadFields, WholeFrames
from slpstream.model.events import Frame


class SelectedPre(msgspec.Struct, gc=False):
    """Those parts of a Pre-Frame Update that the computers need, in the order of the event."""

    joystick_x: Any
    joystick_y: Any
    c_stick_x: Any
    c_stick_y: Any
    physical_buttons: Any
    physical_l_trigger: Any
    physical_r_trigger: Any


class SelectedPost(msgspec.Struct, gc=False):
    """Those parts of a Post-Frame Update that the computers need, in the order of the event.

    Fields that don't exist in the oldest versions are UNSET there.
    """

    frame: Any
    internal_character_id: Any
    action_state_id: Any
    position_x: Any
    position_y: Any
    facing_direction: Any
    percent: Any
    last_attack_landed: Any
    last_hit_by: Any
    stocks_remaining: Any
    action_state_counter: Any = UNSET
    is_airborne: Any = UNSET
    l_cancel_status: Any = UNSET


class SelectedPlayer(msgspec.Struct, gc=False):
    """One player's part of a frame. If the inputs are the same as in the frame before, `pre` is UNSET."""

    pre: Any
    post: Any


class SelectedStart(msgspec.Struct, gc=False):
    """Those parts of a Frame Start that the computers need."""

    scene_frame_counter: Any


class SelectedEntry(msgspec.Struct, gc=False):
    """Those parts of a frame that the computers need."""

    start: Any
    players: dict[int, SelectedPlayer]
    items: Any = UNSET


class Selection:
    """Reads the parts that we need from the frames of one game. The frames must be in order."""

    def __init__(self) -> None:
        self._events: WholeFrames | None = None
        self._read_start: ReadFields
        self._read_pre: ReadFields
        self._read_post: ReadFields
        self.before: bytes | None = None
        """The frame before, or `None` if its inputs are not to be compared with those of the next one."""

    def copy(self) -> Self:
        """Return a copy of this selection. It has the same state, but is independent from then on."""
        return copy.copy(self)

    def entry(self, frame: Frame) -> Any:
        """Return a frame that has at least the parts we need. If it wasn't decoded yet, it has only these."""
        content = frame.content
        if type(content) is not PackedFrame or frame.decoded is not None:
            self.before = None
            return frame.entry
        if content.events is not self._events:
            self._prepare(content.events)
        data = content.data
        inputs = self._read_pre(data, self.before)
        self.before = data
        players = self._read_post(data)
        for index in players:
            players[index] = SelectedPlayer(inputs.get(index, UNSET), players[index])
        return SelectedEntry(self._read_start(data).get(0, UNSET), players)

    def _prepare(self, events: WholeFrames) -> None:
        """Get ready to read frames of a game with these events."""
        self._events, self.before = events, None
        self._read_pre = events.fields(PRE_FRAME, SelectedPre.__struct_fields__, SelectedPre)
        self._read_post = events.fields(POST_FRAME, SelectedPost.__struct_fields__, SelectedPost)
        self._read_start = events.fields(FRAME_START, SelectedStart.__struct_fields__, SelectedStart)
