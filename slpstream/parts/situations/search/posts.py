"""The part of a frame that situations need, which is a few fields of each player's Post-Frame Update.

When we read a game live, most of its frames are undecoded bytes (`PackedFrame`). Only these fields are read from them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from slpstream.formats.slippi.commands import POST_FRAME
from slpstream.formats.slippi.frame_decoder import FieldReader, FrameDecoder, PackedFrame
from slpstream.model.events import Frame

_MAX_READERS = 64


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


class RowReader:
    """Reads the rows of one game."""

    def __init__(self) -> None:
        self._readers: dict[FrameDecoder, list[tuple[int, FieldReader]] | None] = {}

    def row(self, frame: Frame) -> Row:
        """Return the row of a frame. Players without a Post-Frame Update are left out."""
        content = frame.content
        if type(content) is PackedFrame and frame.decoded is None:
            try:
                readers = self._readers[content.decoder]
            except KeyError:
                readers = self._learn(content.decoder)
            if readers is not None:
                return Row(frame.number, {index: Post(*read(content.data)) for index, read in readers})
        posts = {index: player.post for index, player in frame.entry.players.items() if player.post is not UNSET}
        return Row(frame.number, {index: _selected(post) for index, post in posts.items()})

    def _learn(self, decoder: FrameDecoder) -> list[tuple[int, FieldReader]] | None:
        """Return the readers for frames of this layout, or `None` if it lacks a field that exists in all versions."""
        if len(self._readers) >= _MAX_READERS:
            self._readers.clear()
        found: list[tuple[int, FieldReader]] | None = []
        for (command, index, is_follower), offset in decoder.slots.items():
            if command != POST_FRAME.command or is_follower:
                continue
            fields = decoder.fields(POST_FRAME, offset, Post.__struct_fields__)
            if fields is None or found is None:
                found = None
                break
            found.append((index, fields.read))
        self._readers[decoder] = found
        return found


def _selected(post: Any) -> Post:
    return Post(*(getattr(post, name) for name in Post.__struct_fields__))
