"""The frame index contains the file offset of every event of every frame in a whole game.

A *sending* is one transmission of a frame. If there's a rollback, the same frame number is sent again.

The compiled kernel and the code in this module go through the game event by event, and always have to find the same as
the live path. This is checked by tests and a fuzzer.

The index only contains offsets and no values. You can use `columns` to read these when you need them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi import metadata
from slpstream.formats.slippi.commands import MAX_REPEATED_EVENTS, MESSAGE_SPLITTER
from slpstream.formats.slippi.completion import Completion
from slpstream.formats.slippi.frame_events import (
    BOOKEND,
    FOLLOWER_OFFSET,
    FRAME_NUMBER_OFFSET,
    FRAMED,
    ITEM,
    NUMBERED_BYTES,
    PLACES,
    PLAYER_INDEX_OFFSET,
    POST,
    PRE,
    REPEATED,
    START,
    frame_widths,
    rules_of,
    unsupported,
)
from slpstream.formats.slippi.framing import walk_events
from slpstream.formats.slippi.offsets import ABSENT, FrameIndex, RepeatedEvents, Slot
from slpstream.model.errors import FieldError, FormatError, FramingError

_OFFSET_BYTES = 8
_ALWAYS_BYTES, _MAX_TIMES = 64 << 20, 8
"""The index may have this many bytes, or this many times the size of the file. The index of a real game is smaller than
its file."""

OVERRULED = -1
"""Stands in for the command of an event without effect: a later event replaces it, the frame has too many, it comes
after the frame was complete, or it has no frame number."""


class _Stop(NamedTuple):
    """Where the frames end. If the bytes there are wrong, it also has the error."""

    at: int
    failure: FormatError | None = None


def frame_index(data: bytes, start: int, limit: int, widths: Sequence[int], players: Collection[int]) -> FrameIndex:
    """Find the events of all frames, beginning with `data[start]`, which is the first byte after Game Start.

    `limit` is the end of the raw array if we know it, but never more than the end of the file. `players` are the player
    indices in Game Start. If the index would become far larger than the file, this raises `FieldError`.
    """
    return _of_players(_index_of_all(data, start, limit, widths, players), players)


def _of_players(index: FrameIndex, players: Collection[int]) -> FrameIndex:
    """Return the index with the updates of these `players` only.

    If a sending only has other updates, it is left out.
    """
    strangers: list[npt.NDArray[np.bool_]] = []
    own: list[npt.NDArray[np.bool_]] = []
    for slot, offsets in index.slots.items():
        if slot.command in (PRE, POST):
            (own if slot.player in players else strangers).append(offsets != ABSENT)
    if not strangers or not players:  # without players in Game Start, all updates count
        return index
    kept = ~np.logical_or.reduce(strangers)
    if own:
        kept |= np.logical_or.reduce(own)
    which = np.flatnonzero(kept)
    slots = {
        slot: offsets[which]
        for slot, offsets in index.slots.items()
        if slot.command not in (PRE, POST) or slot.player in players
    }
    repeated = {command: repeated.of_frames(which) for command, repeated in index.repeated.items()}
    return FrameIndex(index.numbers[which], slots, repeated, index.stop, index.failure)


def _index_of_all(data: bytes, start: int, limit: int, widths: Sequence[int], players: Collection[int]) -> FrameIndex:
    """The events of all characters."""
    if kernel is not None:
        max_offsets = _max_index_bytes(data) // _OFFSET_BYTES
        awaited = None if widths[BOOKEND] else bytes(players)
        events = kernel.Walk(
            data,
            start,
            limit,
            frame_widths(widths),
            rules_of(widths),
            PLACES,
            MAX_REPEATED_EVENTS,
            max_offsets,
            awaited,
        )
        return _index_of(events, data, limit, widths)
    walk = _Walk(data, limit, widths, players)
    stop = walk.read(start)
    return walk.index(stop)


def _index_of(walk: Any, data: bytes, limit: int, widths: Sequence[int]) -> FrameIndex:
    """Make the index from the `Walk` of the kernel."""
    stop = _stop_at(data, walk.stop, limit, widths)
    first, sendings, slots, arrays = walk.finish(stop.failure is None)
    if arrays is None:
        _check_size(data, slots, sendings, first)
    numbers, by_slot, repeated = arrays
    return FrameIndex(
        np.frombuffer(numbers, np.int32),
        {Slot(*slot): np.frombuffer(offsets, np.int64) for *slot, offsets in by_slot},
        {
            command: RepeatedEvents(np.frombuffer(offsets, np.int64), np.frombuffer(firsts, np.int64))
            for command, offsets, firsts in repeated
        },
        stop.at,
        stop.failure,
    )


def _max_index_bytes(data: bytes) -> int:
    return max(_ALWAYS_BYTES, _MAX_TIMES * len(data))


def _check_size(data: bytes, slots: int, sendings: int, start: int) -> None:
    """Raise `FieldError` if the index would become far larger than the file.

    `start` is where the first sending begins.
    """
    # A hostile file can have updates of 256 players and their followers in one frame, followed by ten thousand
    # frames of nine bytes: each of these would take an entry in every slot.
    if slots * sendings * _OFFSET_BYTES > _max_index_bytes(data):
        what = f"updates of {slots // 2} players and followers: no game has so many"
        raise FieldError(what, offset=start, command=PRE)


def _stop_at(data: bytes, at: int, limit: int, widths: Sequence[int]) -> _Stop:
    """Find out why the frames end at `at`."""
    if at >= limit:
        return _Stop(at)
    command = data[at]
    width = widths[command]
    if width == 0:
        marker = metadata.MARKER
        if data[at : at + len(marker)] == marker[: len(data) - at]:
            return _Stop(at)
        return _Stop(at, FramingError(f"undeclared command byte {command:#04x}", offset=at, command=command))
    if at + width > limit:
        return _Stop(at)
    return _Stop(at, unsupported(command, widths, offset=at))


Event = tuple[int, int]
"""Command byte or `OVERRULED`, and the position of the event."""


class FrameEvents(NamedTuple):
    """The events of one sending of a frame."""

    events: list[Event]
    end: int
    """Position just past the last event."""
    closed: bool
    """Whether the sending is over; if not, the walk ended at `end`, and more events may follow there."""


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


class _Events(NamedTuple):
    """The events of one kind in a game."""

    sendings: list[int]
    """For each event, the number of its sending, from 0."""
    offsets: list[int]

    def add(self, sending: int, offset: int) -> None:
        self.sendings.append(sending)
        self.offsets.append(offset)


class _Walk:
    """A pass over a game, which collects the offsets of its events."""

    def __init__(self, data: bytes, limit: int, widths: Sequence[int], players: Collection[int]) -> None:
        self._data = data
        self._limit = limit
        self._widths = widths
        self._frame_widths = frame_widths(widths)
        self._completion = None if widths[BOOKEND] else Completion([bytes([index, False]) for index in players])
        self._first = 0
        """Where the first sending begins."""
        self._numbers: list[int] = []
        self._slots: dict[Slot, _Events] = {}
        self._repeated: dict[int, _Events] = {}

    def read(self, at: int) -> _Stop:
        """Read all sendings, beginning at `at`."""
        data, completion = self._data, self._completion
        while True:
            events, at, closed = read_frame(data, at, self._limit, self._frame_widths, completion)
            if closed:
                self._add(events)
                continue
            stop = _stop_at(data, at, self._limit, self._widths)
            # If an error cuts off a sending, it is dropped, as in the assembler.
            if stop.failure is None or (completion is not None and completion.complete):
                self._add(events)
            return stop

    def _add(self, events: Sequence[tuple[int, int]]) -> None:
        """Add the events of a sending, which come from `read_frame`."""
        if not events:
            return
        data, sending, numbered = self._data, len(self._numbers), -1
        if not sending:
            self._first = events[0][1]
        for command, at in events:
            if command in (PRE, POST):
                slot = Slot(command, data[at + PLAYER_INDEX_OFFSET], data[at + FOLLOWER_OFFSET] > 0)
                self._slots.setdefault(slot, _Events([], [])).add(sending, at)
            elif command in (START, BOOKEND):
                self._slots.setdefault(Slot(command), _Events([], [])).add(sending, at)
            elif command in REPEATED:
                self._repeated.setdefault(command, _Events([], [])).add(sending, at)
            else:
                continue
            if numbered < 0:
                numbered = at + FRAME_NUMBER_OFFSET
        self._numbers.append(int.from_bytes(data[numbered : numbered + 4], "big", signed=True))

    def index(self, stop: _Stop) -> FrameIndex:
        """Return the index. If it would become far larger than the file, this raises `FieldError`."""
        total = len(self._numbers)
        _check_size(self._data, len(self._slots), total, self._first)
        slots = {slot: np.full(total, ABSENT, np.int64) for slot in self._slots}
        for slot, events in self._slots.items():
            slots[slot][events.sendings] = events.offsets
        repeated = {
            command: RepeatedEvents(
                np.array(events.offsets, np.int64),
                np.concatenate([[0], np.cumsum(np.bincount(events.sendings, minlength=total))]),
            )
            for command, events in self._repeated.items()
        }
        return FrameIndex(np.array(self._numbers, np.int32), slots, repeated, stop.at, stop.failure)
