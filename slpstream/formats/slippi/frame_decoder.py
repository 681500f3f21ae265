"""Decoding of whole frames on the live path: one `struct` call from Frame Start to Frame Bookend.

A `FrameDecoder` is made from the layout of one frame (`frame_layout`) and decodes all frames of that layout. It
replaces half a dozen `struct` calls, and nothing has to be looked up. The reader decodes all other frames event by
event: those without a Frame Start or Frame Bookend, with unknown events, or with only one update of a character. Both
ways give the same frames; a test compares them.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Self

from msgspec import UNSET

from slpstream.formats.slippi.commands import STAGE_EVENT_KINDS, TABLES
from slpstream.formats.slippi.frame_entry import PlayerFrame, StageEvent
from slpstream.formats.slippi.frame_layout import (
    BOOKEND,
    FOLLOWER_OFFSET,
    FRAMED,
    ITEM,
    PLAYER_INDEX_OFFSET,
    POST,
    PRE,
    START,
    Event,
    FrameLayout,
    FrameLayouts,
    frame_widths,
    read_frame,
)
from slpstream.model.fields import Layout

_MAX_EVENTS = 24
"""A frame with more events is decoded event by event."""
_MAX_DECODERS = 64
_FRAMES_BETWEEN_LESSONS = 4

_Pre, _Post, _Item = (TABLES[command].cls for command in (PRE, POST, ITEM))
_Start, _Bookend = (TABLES[command].cls for command in (START, BOOKEND))


DecodedFrame = tuple[int, Any, dict[int, PlayerFrame], Any, Any, Any, Any]
"""Frame number, Frame Start, players, followers, items, stage events, Frame Bookend. Followers, items and stage events
are `UNSET` in a frame without them. (A plain tuple, because a named one takes 3 % more time per frame.)"""


class FrameDecoder(FrameLayout):
    """Decodes the frames of one layout."""

    def __init__(self, data: bytes, events: Sequence[Event], end: int, widths: Sequence[int]) -> None:
        super().__init__(data, events, end)
        self.commands = [command for command, _ in events]
        layouts = {command: TABLES[command].layout(widths[command] - 1) for command in set(self.commands)}
        gaps = (offset - before - 1 for before, offset in zip([-1, *self.checked], self.checked, strict=False))
        self._unpack_checked = struct.Struct("".join(f"{gap}xB" for gap in gaps)).unpack_from
        self._expected = tuple(self.expected)
        codes = [">"]
        self._slices: list[slice] = []
        parts: dict[int, int] = {}
        firsts: list[int] = []
        first = 0
        for command, at in events:
            layout = layouts[command]
            unknown_bytes = layout.payload_size_bytes - layout.struct.size
            codes += ["x", layout.struct.format[1:], f"{unknown_bytes}x" if unknown_bytes else ""]
            parts[at - self.start] = self._add_slices(layout, first)
            firsts.append(first)
            first += len(layout.fields)
        self._unpack = struct.Struct("".join(codes)).unpack_from
        self._parts = itemgetter(*self._slices)
        # The frame number is the first value of every event.
        self._numbers = itemgetter(*firsts)
        self._count = len(firsts)
        pairs = [
            (index, is_follower, parts[offset], parts[self.slots[POST, index, is_follower]])
            for (command, index, is_follower), offset in self.slots.items()
            if command == PRE
        ]
        self._players = [(index, pre, post) for index, is_follower, pre, post in pairs if not is_follower]
        self._followers = [(index, pre, post) for index, is_follower, pre, post in pairs if is_follower]
        self._items = [parts[offset] for offset in self.repeated.get(ITEM, ())]
        self._stage_events = [
            (_stage_event(layouts[command]), parts[at - self.start])
            for command, at in events
            if command in STAGE_EVENT_KINDS
        ]
        self._bookend = parts[self.slots[BOOKEND, 0, False]]
        group = TABLES[POST].layout(widths[POST] - 1).group if widths[POST] else None
        self._group = None if group is None else group.cls

    def _add_slices(self, layout: Layout, first: int) -> int:
        """Append the slices of an event whose values begin at index `first`: one, or three around a nested group.

        Returns the index of the first slice.
        """
        index, stop = len(self._slices), first + len(layout.fields)
        if layout.group is None:
            self._slices.append(slice(first, stop))
        else:
            inner, after = first + layout.group.start, first + layout.group.stop
            self._slices += [slice(first, inner), slice(inner, after), slice(after, stop)]
        return index

    def decode(self, data: bytes, start: int) -> DecodedFrame | None:
        """Decode the frame at `start`, which must be followed by `width_bytes`; `None` when it has another layout."""
        if self._unpack_checked(data, start) != self._expected:
            return None
        values = self._unpack(data, start)
        number = values[0]
        if self._numbers(values) != (number,) * self._count:
            return None
        parts = self._parts(values)
        return (
            number,
            _Start(*parts[0]),
            self._characters(self._players, parts),
            self._characters(self._followers, parts) if self._followers else UNSET,
            [_Item(*parts[item]) for item in self._items] if self._items else UNSET,
            [make(*parts[event]) for make, event in self._stage_events] if self._stage_events else UNSET,
            _Bookend(*parts[self._bookend]),
        )

    def _characters(self, characters: Sequence[tuple[int, int, int]], parts: Sequence[Any]) -> dict[int, PlayerFrame]:
        """`characters`: player index, index of the part of the Pre-Frame Update and of the Post-Frame Update."""
        group = self._group
        if group is None:
            return {i: PlayerFrame(_Pre(*parts[pre]), _Post(*parts[post])) for i, pre, post in characters}
        return {
            i: PlayerFrame(_Pre(*parts[pre]), _Post(*parts[post], group(*parts[post + 1]), *parts[post + 2]))
            for i, pre, post in characters
        }


class FrameDecoders:
    """The decoders of one game, made as new layouts come."""

    def __init__(self, widths: Sequence[int]) -> None:
        self._widths = frame_widths(widths)
        self._decoders: FrameLayouts[FrameDecoder] = FrameLayouts(widths, _MAX_DECODERS)
        self._misses = 0
        self._uses: dict[FrameDecoder, int] = {}

    def copy(self) -> Self:
        """An independent copy with the same decoders and no counts."""
        twin = copy.copy(self)
        twin._decoders = self._decoders.copy()
        twin._uses = {}
        return twin

    def decode(self, data: bytes, start: int, limit: int) -> tuple[DecodedFrame, int] | None:
        """The frame at `start` and its width in bytes; `None` when it is incomplete, or has to be decoded event by
        event."""
        decoder = self._decoders.find(data, start, limit)
        if decoder is not None:
            if start + decoder.width_bytes > limit:
                return None
            frame = decoder.decode(data, start)
            if frame is not None:
                self._misses = 0
                self._uses[decoder] = self._uses.get(decoder, 0) + 1
                return frame, decoder.width_bytes
        if self._misses % _FRAMES_BETWEEN_LESSONS == 0:
            self._learn(data, start, limit)
        self._misses += 1
        return None

    def take_counts(self) -> dict[int, int]:
        """The number of events that were decoded since the last call, by command byte."""
        counts: dict[int, int] = {}
        for decoder, uses in self._uses.items():
            for command in decoder.commands:
                counts[command] = counts.get(command, 0) + uses
        self._uses = {}
        return counts

    def _learn(self, data: bytes, start: int, limit: int) -> None:
        events, end, closed = read_frame(data, start, limit, self._widths)
        if closed and _can_decode(data, events):
            self._decoders.add(FrameDecoder(data, events, end, self._widths), data, start, limit)


def _can_decode(data: bytes, events: Sequence[Event]) -> bool:
    """Whether a frame goes from Frame Start to Frame Bookend with nothing unknown, and each character has both
    updates."""
    commands = [command for command, _ in events]
    if (
        commands[0] != START
        or commands[-1] != BOOKEND
        or len(commands) > _MAX_EVENTS
        or not FRAMED.issuperset(commands)
    ):
        return False
    pres, posts = (
        {data[at + PLAYER_INDEX_OFFSET : at + FOLLOWER_OFFSET + 1] for command, at in events if command == wanted}
        for wanted in (PRE, POST)
    )
    return pres == posts


def _stage_event(layout: Layout) -> Callable[..., StageEvent]:
    """Makes the stage event from its values."""
    kind = STAGE_EVENT_KINDS[layout.table.command]
    names = [field.name for field in layout.fields]
    return lambda *values: StageEvent(kind, **dict(zip(names, values, strict=True)))
