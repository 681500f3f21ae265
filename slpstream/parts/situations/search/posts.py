"""The part of a frame that situations need, which is a few fields of each player's Post-Frame Update.

When we read a game live, most of its frames are undecoded bytes (`PackedFrame`). Only these fields are read from them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import POST_FRAME
from slpstream.formats.slippi.packed_frame import PackedFrame
from slpstream.model.events import Frame


class Post(msgspec.Struct, gc=False):
    """A part of a Post-Frame Update, in the order of the event. The oldest versions don't have the last fields."""

    internal_character_id: Any
    action_state_id: Any
    position_x: Any
    position_y: Any
    percent: Any
    last_attack_landed: Any
    last_hit_by: Any
    stocks_remaining: Any
    action_state_counter: Any = UNSET
    is_airborne: Any = UNSET


class Row(NamedTuple):
    """A final frame, with its number and the players in it (by player index)."""

    number: int
    posts: dict[int, Post]


def read_row(frame: Frame) -> Row:
    """Return the row of a frame. Players without a Post-Frame Update are left out."""
    content = frame.content
    if type(content) is PackedFrame and frame.decoded is None:
        return Row(frame.number, content.events.fields(POST_FRAME, Post.__struct_fields__, Post)(content.data))
    posts = {index: player.post for index, player in frame.entry.players.items() if player.post is not UNSET}
    return Row(frame.number, {index: _selected(post) for index, post in posts.items()})


def _selected(post: Any) -> Post:
    return Post(*(getattr(post, name) for name in Post.__struct_fields__))
