"""The short way for ordinary frames: one `struct` for a whole frame, from its Frame Start to its Frame Bookend.

Between two players nearly all frames of a game have the same events in the same order, but for the items behind the
pre-frames. A `FrameLayout` is learned from one frame; a later frame has the same shape exactly when the command bytes,
player indices and follower flags at its offsets are equal, and since a command byte fixes the size of its event, that
equality proves the framing. One call of `struct` then replaces six, and nothing is looked up. `FrameLayouts` keeps one
shape for each number of items. Whatever differs (a stage event, a missing event, half a frame) goes the ordinary way,
event by event; both ways end in the same frames, which a test holds.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Self

from msgspec import UNSET

from slpstream.formats.slippi.commands import FRAME_BOOKEND, FRAME_START, ITEM_UPDATE, POST_FRAME, PRE_FRAME, TABLES
from slpstream.formats.slippi.frame_entry import PlayerFrame
from slpstream.model.fields import Layout

_PLAYER_COMMANDS = (PRE_FRAME.command, POST_FRAME.command)
_ORDINARY_COMMANDS = {*_PLAYER_COMMANDS, ITEM_UPDATE.command}
_Pre, _Post, _Item = PRE_FRAME.cls, POST_FRAME.cls, ITEM_UPDATE.cls
_PRE, _ITEM = PRE_FRAME.command, ITEM_UPDATE.command
_MAX_EVENTS = 24
_FRAMES_BETWEEN_LESSONS = 4
_FRAME_INDEX, _PLAYER_INDEX, _FOLLOWER_INDEX = 0, 1, 2


WholeFrame = tuple[int, Any, dict[int, PlayerFrame], Any, Any, Any]
"""Frame number, Frame Start, players, followers and items (`UNSET` when there are none), Frame Bookend."""


class _Event(NamedTuple):
    """One event of the shape, and where its first value stands among all values of the frame."""

    command: int
    first: int
    layout: Layout


class FrameLayout:
    """The layout of a frame of known events; reads a frame of that shape."""

    def __init__(self, commands: Sequence[int], layouts: Mapping[int, Layout], seen: bytes) -> None:
        """`seen`: the frame that the shape is learned from."""
        codes, events = [">"], []
        at = 0
        for command in commands:
            layout = layouts[command]
            unknown_bytes = layout.payload_size_bytes - layout.struct.size
            codes += ["B", layout.struct.format[1:], f"{unknown_bytes}x" if unknown_bytes else ""]
            events.append(_Event(command, at + 1, layout))
            at += 1 + len(layout.fields)
        whole = struct.Struct("".join(codes))
        self.commands = tuple(commands)
        self.width_bytes = whole.size
        self._unpack = whole.unpack_from
        self._count = len(events)
        self._numbers = itemgetter(*(event.first + _FRAME_INDEX for event in events))
        keys = [event.first - 1 for event in events]
        for event in events:
            if event.command in _PLAYER_COMMANDS:
                keys += [event.first + _PLAYER_INDEX, event.first + _FOLLOWER_INDEX]
        self._key = itemgetter(*keys)
        values = self._unpack(seen, 0)
        self._expected = self._key(values)
        players, followers = _sides(events, values)
        both = (*players, *followers)
        items = [event for event in events if event.command == _ITEM]
        in_order = all(pre.first < post.first for _, pre, post in both)
        self.sound = len(both) * 2 + len(items) + 2 == self._count and in_order
        """Each player has exactly one of each event, in this order; anything else goes the ordinary way."""
        self.items = len(items)
        self.players_key = tuple(
            (index, is_follower) for is_follower, side in enumerate((players, followers)) for index, *_ in side
        )
        slices: list[slice] = []
        self._start_cls, self._bookend_cls = events[0].layout.table.cls, events[-1].layout.table.cls
        _slice(events[0], slices)
        _slice(events[-1], slices)
        self._players = [(index, _slice(pre, slices), _slice(post, slices)) for index, pre, post in players]
        self._followers = [(index, _slice(pre, slices), _slice(post, slices)) for index, pre, post in followers]
        self._items = [_slice(item, slices) for item in items]
        post_layout = layouts.get(POST_FRAME.command)
        self._group = None if post_layout is None or post_layout.group is None else post_layout.group.cls
        self._parts = itemgetter(*slices)

    @classmethod
    def learn(cls, buffer: bytes, at: int, limit: int, widths: Sequence[int]) -> Self | None:
        """The shape of the frame at `buffer[at]`; `None` when it does not end before `limit`, or is of no ordinary
        kind."""
        commands: list[int] = []
        past = at
        while len(commands) < _MAX_EVENTS:
            if past >= limit:
                return None
            command = buffer[past]
            past += widths[command]
            commands.append(command)
            if command == FRAME_BOOKEND.command:
                break
        ordinary = commands[0] == FRAME_START.command and commands[-1] == FRAME_BOOKEND.command
        if not ordinary or past > limit or not set(commands[1:-1]) <= _ORDINARY_COMMANDS:
            return None
        layouts = {command: TABLES[command].layout(widths[command] - 1) for command in set(commands)}
        if any(len(layout.fields) < layout.table.required for layout in layouts.values()):
            return None
        shape = cls(commands, layouts, buffer[at:past])
        return shape if shape.sound and shape.read(buffer, at) is not None else None

    def read(self, buffer: bytes, at: int) -> WholeFrame | None:
        """The frame at `buffer[at]`, where at least `width_bytes` are; `None` when it has another shape."""
        values = self._unpack(buffer, at)
        number = values[1]
        if self._key(values) != self._expected or self._numbers(values) != (number,) * self._count:
            return None
        parts = self._parts(values)
        return (
            number,
            self._start_cls(*parts[0]),
            self._side(self._players, parts),
            self._side(self._followers, parts) if self._followers else UNSET,
            [_Item(*parts[item]) for item in self._items] if self._items else UNSET,
            self._bookend_cls(*parts[1]),
        )

    def _side(self, side: Sequence[tuple[int, int, int]], parts: Sequence[Any]) -> dict[int, PlayerFrame]:
        """Players or followers: player index, index of the parts of its pre-frame and of its post-frame event."""
        group = self._group
        if group is None:
            return {i: PlayerFrame(_Pre(*parts[pre]), _Post(*parts[post])) for i, pre, post in side}
        return {
            i: PlayerFrame(_Pre(*parts[pre]), _Post(*parts[post], group(*parts[post + 1]), *parts[post + 2]))
            for i, pre, post in side
        }


class FrameLayouts:
    """The shapes of a game's frames: one for each number of items, all of the same players."""

    def __init__(self, widths: Sequence[int]) -> None:
        """`widths`: of each command's event in bytes, command byte included, 0 where it was not declared."""
        self._widths = widths
        self._shapes: dict[int, FrameLayout] = {}
        self._players_key: tuple[tuple[int, int], ...] = ()
        self._misses = 0
        self._uses: dict[FrameLayout, int] = {}

    def copy(self) -> Self:
        """Shapes are values; a copy begins to count anew."""
        twin = copy.copy(self)
        twin._shapes = dict(self._shapes)
        twin._uses = {}
        return twin

    def read(self, buffer: bytes, at: int, limit: int) -> tuple[WholeFrame, int] | None:
        """The frame at `buffer[at]` and its width in bytes; `None` when it is not whole or has to go the ordinary
        way."""
        shape = self._shapes.get(self._count_items(buffer, at, limit))
        if shape is not None:
            if at + shape.width_bytes > limit:
                return None
            frame = shape.read(buffer, at)
            if frame is not None:
                self._misses = 0
                self._uses[shape] = self._uses.get(shape, 0) + 1
                return frame, shape.width_bytes
        if shape is None or self._misses % _FRAMES_BETWEEN_LESSONS == 0:
            self._learn(buffer, at, limit)
        self._misses += 1
        return None

    def take_counts(self) -> dict[int, int]:
        """How many events the frames since the last call had, by command byte."""
        counts: dict[int, int] = {}
        for shape, uses in self._uses.items():
            for command in shape.commands:
                counts[command] = counts.get(command, 0) + uses
        self._uses = {}
        return counts

    def _count_items(self, buffer: bytes, at: int, limit: int) -> int:
        """How many items stand behind the pre-frames of the frame; what is cut off is not counted."""
        widths, items = self._widths, 0
        width = widths[_ITEM]
        if not width:  # not declared: a byte that looks like one is none
            return 0
        past = at + widths[FRAME_START.command] + len(self._players_key) * widths[_PRE]
        while past < limit and buffer[past] == _ITEM:
            past += width
            items += 1
        return items

    def _learn(self, buffer: bytes, at: int, limit: int) -> None:
        """Other players (one is out, or back) make all that was learned useless."""
        shape = FrameLayout.learn(buffer, at, limit, self._widths)
        if shape is None:
            return
        if shape.players_key != self._players_key:
            self._shapes.clear()
            self._players_key = shape.players_key
        self._shapes[shape.items] = shape


def _slice(event: _Event, slices: list[slice]) -> int:
    """Appends the slices of an event: one, or three when a nested group stands in the middle. The index of the
    first."""
    layout, first = event.layout, event.first
    index, stop = len(slices), first + len(layout.fields)
    if layout.group is None:
        slices.append(slice(first, stop))
    else:
        inner, after = first + layout.group.start, first + layout.group.stop
        slices += [slice(first, inner), slice(inner, after), slice(after, stop)]
    return index


_Side = list[tuple[int, _Event, _Event]]


def _sides(events: Sequence[_Event], values: Sequence[Any]) -> tuple[_Side, _Side]:
    """Players and followers of the frame: player index, its pre-frame and its post-frame event."""
    found: dict[tuple[bool, int], dict[int, _Event]] = {}
    for event in events:
        if event.command in _PLAYER_COMMANDS:
            who = (values[event.first + _FOLLOWER_INDEX], values[event.first + _PLAYER_INDEX])
            found.setdefault(who, {})[event.command] = event
    sides: tuple[_Side, _Side] = ([], [])
    for (is_follower, index), both in found.items():
        if len(both) == len(_PLAYER_COMMANDS):
            sides[is_follower].append((index, both[PRE_FRAME.command], both[POST_FRAME.command]))
    return sides
