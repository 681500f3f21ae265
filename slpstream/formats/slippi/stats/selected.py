"""Those parts of a frame that the computers need, which can be read without decoding the frame.

On the live path, most frames are bytes that weren't decoded (`PackedFrame`). If we decoded all of their fields, this
would take most of the time of the stats, so we only read these.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import FRAME_START, POST_FRAME, PRE_FRAME
from slpstream.formats.slippi.frame_decoder import FieldReader, FrameDecoder, PackedFrame
from slpstream.model.events import Frame

_MAX_READERS = 64


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


class _Readers(NamedTuple):
    """The readers for the frames of one layout."""

    start: FieldReader | None
    players: list[tuple[int, int, int, FieldReader, FieldReader]]
    """Player index, where the inputs begin and end, and the readers of both updates."""


class Selection:
    """Reads the parts that we need from the frames of one game. The frames must be in order."""

    def __init__(self) -> None:
        self._readers: dict[FrameDecoder, _Readers | None] = {}
        self._inputs: dict[int, bytes] = {}
        """The bytes of each player's inputs in the frame before, by player index."""

    def copy(self) -> Self:
        """Return a copy of this selection. It has the same state, but is independent from then on."""
        twin = type(self)()
        twin._readers, twin._inputs = dict(self._readers), dict(self._inputs)
        return twin

    def entry(self, frame: Frame) -> Any:
        """Return a frame that has at least the parts we need. If it wasn't decoded yet, it has only these."""
        content = frame.content
        if type(content) is not PackedFrame or frame.decoded is not None:
            return self._whole(frame)
        decoder = content.decoder
        try:
            readers = self._readers[decoder]
        except KeyError:
            readers = self._learn(decoder)
        if readers is None:
            return self._whole(frame)
        data, inputs = content.data, self._inputs
        players: dict[int, SelectedPlayer] = {}
        for index, begin, end, read_pre, read_post in readers.players:
            own = data[begin:end]
            if inputs.get(index) == own:
                players[index] = SelectedPlayer(UNSET, SelectedPost(*read_post(data)))
            else:
                inputs[index] = own
                players[index] = SelectedPlayer(SelectedPre(*read_pre(data)), SelectedPost(*read_post(data)))
        start = UNSET if readers.start is None else SelectedStart(*readers.start(data))
        return SelectedEntry(start, players)

    def _whole(self, frame: Frame) -> Any:
        self._inputs.clear()  # the inputs of this frame are not compared with those of the next one
        return frame.entry

    def _learn(self, decoder: FrameDecoder) -> _Readers | None:
        """Return the readers for frames with this layout, or `None` if a field is missing that all versions have."""
        if len(self._readers) >= _MAX_READERS:
            self._readers.clear()
        players = []
        readers: _Readers | None = None
        for (command, index, is_follower), offset in decoder.slots.items():
            if command != PRE_FRAME.command or is_follower:
                continue
            pre = decoder.fields(PRE_FRAME, offset, SelectedPre.__struct_fields__)
            post_offset = decoder.slots[POST_FRAME.command, index, False]
            post = decoder.fields(POST_FRAME, post_offset, SelectedPost.__struct_fields__)
            if pre is None or post is None:
                break
            players.append((index, pre.begin, pre.end, pre.read, post.read))
        else:
            start_offset = decoder.slots.get((FRAME_START.command, 0, False))
            start = None
            if start_offset is not None:
                start = decoder.fields(FRAME_START, start_offset, SelectedStart.__struct_fields__)
            readers = _Readers(None if start is None else start.read, players)
        self._readers[decoder] = readers
        return readers
