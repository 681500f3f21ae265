"""Frame layouts: which events a frame consists of, and where they are. We learn them from one frame and find them again
in others.

Nearly all frames of a game have one of just a few layouts. If there are two players, the only difference between them
is the items. The width of each event is fixed by Event Payloads. So if another frame has the same command bytes at the
offsets of a layout, we know that its events are at these offsets: comparing a few bytes is enough to *prove* the
framing. We also compare player indices and follower flags, so that an offset in a layout always belongs to the same
character. We don't compare the frame numbers inside the events here.

The live path (`frame_decoder`) learns layouts in this way.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Generic, NamedTuple, Self, TypeVar

from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    ITEM_UPDATE,
    MAX_REPEATED_EVENTS,
    MESSAGE_SPLITTER,
    POST_FRAME,
    PRE_FRAME,
    STAGE_EVENT_KINDS,
    TABLES,
)
from slpstream.formats.slippi.completion import Completion
from slpstream.formats.slippi.framing import walk_events
from slpstream.model.errors import Unsupported

START, PRE, POST, ITEM, BOOKEND = (
    table.command for table in (FRAME_START, PRE_FRAME, POST_FRAME, ITEM_UPDATE, FRAME_BOOKEND)
)
REPEATED = frozenset({ITEM, *STAGE_EVENT_KINDS})
"""Commands that a frame can have any number of."""
FRAMED = frozenset({START, PRE, POST, BOOKEND}) | REPEATED
"""Commands whose events begin with the frame number."""
OVERRULED = -1
"""Stands in for the command of an event without effect: a later event replaces it, the frame has too many, it comes
after the frame was complete, or it has no frame number."""

FRAME_NUMBER_OFFSET, PLAYER_INDEX_OFFSET, FOLLOWER_OFFSET = 1, 5, 6
NUMBERED_BYTES = PLAYER_INDEX_OFFSET
"""Events with a frame number are at least this wide. Narrower ones have no effect."""
_MAX_KEY_BYTES = 1024
"""Enough for the 15 items that the game sends at most, and stage events."""

Event = tuple[int, int]
"""Command byte or `OVERRULED`, and the position of the event."""


class FrameEvents(NamedTuple):
    """The events of one sending of a frame."""

    events: list[Event]
    end: int
    """Position just past the last event."""
    closed: bool
    """Whether the sending is over; if not, the walk ended at `end`, and more events may follow there."""


def frame_widths(widths: Sequence[int]) -> list[int]:
    """Return the declared widths, but with 0 for all commands at which we have to stop reading frames too.

    These are Game End, and commands that make it impossible to read the frames.
    """
    usable = list(widths)
    usable[GAME_END.command] = 0
    for command in FRAMED:
        if unsupported(command, widths, offset=0) is not None:
            usable[command] = 0
    return usable


def unsupported(command: int, widths: Sequence[int], *, offset: int) -> Unsupported | None:
    """Return the reason why we can't read frames with the event at `offset`, or `None` if we can."""
    if not widths[command] or command not in FRAMED or command in REPEATED:
        return None
    table = TABLES[command]
    layout = table.layout(widths[command] - 1)
    if layout.too_small:
        what = layout.size_error(offset).what
    elif command in (PRE, POST) and not (widths[PRE] and widths[POST]):
        other = TABLES[POST if command == PRE else PRE].title
        what = f"{table.title}: a replay without {other} has the layout of no released version"
    else:
        return None
    return Unsupported(what, offset=offset, command=command)


def read_frame(
    data: bytes, start: int, limit: int, widths: Sequence[int], completion: Completion[bytes] | None = None
) -> FrameEvents:
    """Read one sending of a frame event by event, with the same rules as in the assembler.

    `widths` come from `frame_widths`. For a replay without bookends, pass `completion`. It knows the characters of the
    sending before, and afterwards those of this one, in the form of `character_at`. If an event doesn't have a frame
    number, it belongs to the sending that comes after it. If we don't get as far as the first frame number, there are
    no events.
    """
    number: int | None = None
    events: list[Event] = []
    characters: set[bytes] = set()
    posts: dict[bytes, int] = {}
    items = stage_events = 0
    stop = start
    if completion is not None:
        completion.begin()
    for command, at, end in walk_events(data, start, limit, widths):
        stop = end
        if command not in FRAMED:
            if events or command != MESSAGE_SPLITTER:
                events.append((command, at))
            continue
        if end - at < NUMBERED_BYTES:
            events.append((OVERRULED, at))
            continue
        frame = int.from_bytes(data[at + FRAME_NUMBER_OFFSET : at + PLAYER_INDEX_OFFSET], "big", signed=True)
        if number is not None and (frame != number or command == START):
            return FrameEvents(events, at, closed=True)
        kept = command
        is_late = completion is not None and completion.complete
        if command in (PRE, POST):
            character = character_at(data, at)
            if command == PRE and character in characters:
                return FrameEvents(events, at, closed=True)
            characters.add(character)
            if completion is not None:
                (completion.pre_frame if command == PRE else completion.post_frame)(character)
            if command == POST and not is_late:
                if character in posts:
                    events[posts[character]] = (OVERRULED, events[posts[character]][1])
                posts[character] = len(events)
        elif command == ITEM:
            items += 1
            kept = ITEM if items <= MAX_REPEATED_EVENTS else OVERRULED
        elif command in REPEATED:
            stage_events += 1
            kept = command if stage_events <= MAX_REPEATED_EVENTS else OVERRULED
        number = frame
        events.append((OVERRULED if is_late else kept, at))
        if command == BOOKEND:
            return FrameEvents(events, end, closed=True)
    return FrameEvents(events if number is not None else [], stop, closed=False)


def character_at(data: bytes, at: int) -> bytes:
    """Return the character of the Pre-Frame or Post-Frame Update at `at`.

    It consists of the player index, and a 1 if it is a follower.
    """
    return data[at + PLAYER_INDEX_OFFSET : at + FOLLOWER_OFFSET] + bytes([data[at + FOLLOWER_OFFSET] > 0])


class FrameLayout:
    """The layout of one sending of a frame. All offsets count from its first byte."""

    __slots__ = (
        "checked",
        "expected",
        "last_pre_offset",
        "repeated",
        "slots",
        "start",
        "width_bytes",
    )

    def __init__(self, data: bytes, events: Sequence[Event], end: int) -> None:
        """You get `events` and `end` from `read_frame`."""
        self.start = start = events[0][1]
        """Position of the frame that the layout was learned from."""
        self.width_bytes = end - start
        self.slots: dict[tuple[int, int, bool], int] = {}
        """Offsets of the events that come at most once, by command, player index and follower flag (else 0, false)."""
        self.repeated: dict[int, list[int]] = {}
        """Offsets of the other events with a frame number, by command."""
        self.last_pre_offset = -1
        """The last Pre-Frame Update; -1 in a frame without one."""
        self.checked: list[int] = []
        """Offsets of the bytes that prove this layout in another frame."""
        for command, at in events:
            offset = at - start
            self.checked.append(offset)
            if command in (PRE, POST):
                player, follower = at + PLAYER_INDEX_OFFSET, at + FOLLOWER_OFFSET
                self.checked += (player - start, follower - start)
                self.slots[command, data[player], data[follower] > 0] = offset
                if command == PRE:
                    self.last_pre_offset = offset
            elif command in (START, BOOKEND):
                self.slots[command, 0, False] = offset
            elif command in REPEATED:
                self.repeated.setdefault(command, []).append(offset)
        self.expected = bytes([data[start + offset] for offset in self.checked])
        """The bytes at these offsets."""

    def can_begin(self, data: bytes, start: int, limit: int) -> bool:
        """Whether the frame at `start` might have this layout, if we only know the bytes before `limit`."""
        return all(
            data[start + offset] == expected
            for offset, expected in zip(self.checked, self.expected, strict=True)
            if start + offset < limit
        )


L = TypeVar("L", bound=FrameLayout)


class FrameLayouts(Generic[L]):
    """The layouts that we have learned from a game, by the width of the events between Pre-Frame and Post-Frame
    Updates.

    As long as the characters stay the same, the only differences between frames are items and stage events, and these
    are in that place. (There's one version with another order, 3.3.0, which is why we read it more slowly.)
    """

    def __init__(self, widths: Sequence[int], max_layouts: int) -> None:
        self._widths = widths
        self._max_layouts = max_layouts
        self._lead_bytes = 0
        self._layouts: dict[int, L] = {}

    def copy(self) -> Self:
        """Return a copy that has the same layouts, but is independent from now on."""
        twin = copy.copy(self)
        twin._layouts = dict(self._layouts)
        return twin

    def find(self, data: bytes, start: int, limit: int) -> L | None:
        """Return the layout that the frame at `start` probably has.

        To be sure, you have to compare the checked bytes.
        """
        return self._layouts.get(self._key(data, start, limit)) if self._layouts else None

    def add(self, layout: L, data: bytes, start: int, limit: int) -> bool:
        """Keep the layout of the frame at `start`. Returns False if there are already too many.

        If the layout has other characters (because one is out of stocks, or back), it replaces all layouts that were
        kept.
        """
        lead_bytes = layout.last_pre_offset + self._widths[PRE] if layout.last_pre_offset >= 0 else 0
        if lead_bytes != self._lead_bytes:
            self._layouts.clear()
            self._lead_bytes = lead_bytes
        if len(self._layouts) >= self._max_layouts:
            return False
        self._layouts[self._key(data, start, limit)] = layout
        return True

    def _key(self, data: bytes, start: int, limit: int) -> int:
        # The loop of `walk_events`, inline because it runs for every frame of a live game. Here the events need not be
        # whole: a wrong key only finds a layout that the frame does not have.
        widths = self._widths
        at = begin = start + self._lead_bytes
        limit = min(limit, begin + _MAX_KEY_BYTES)
        while at < limit and (command := data[at]) != POST:
            width = widths[command]
            if not width or command == BOOKEND:
                break
            at += width
        return at - begin
