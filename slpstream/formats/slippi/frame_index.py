"""The frame index contains the file offset of every event of every frame in a whole game.

A *sending* is one transmission of a frame. If there's a rollback, the same frame number is sent again.

The compiled kernel and the code in this module go through the game event by event, and always have to find the same as
the live path. This is checked by tests and a fuzzer.

The index only contains offsets and no values. You can use `columns` to read these when you need them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi import metadata
from slpstream.formats.slippi.assembler import Completion
from slpstream.formats.slippi.commands import MAX_REPEATED_EVENTS, MESSAGE_SPLITTER
from slpstream.formats.slippi.frame_events import (
    BOOKEND,
    FOLLOWER_OFFSET,
    FRAME_NUMBER_OFFSET,
    FRAMED,
    ITEM,
    NUMBERED_BYTES,
    PLAYER_INDEX_OFFSET,
    POST,
    PRE,
    REPEATED,
    START,
    events_of_frames,
    frame_widths,
    unsupported,
)
from slpstream.formats.slippi.framing import walk_events
from slpstream.formats.slippi.offsets import ABSENT, FrameIndex, RepeatedEvents, Slot
from slpstream.formats.slippi.packed_frame import Character
from slpstream.model.errors import FieldError, FormatError, FramingError

_OFFSET_BYTES = 8
_ALWAYS_BYTES, _MAX_TIMES = 64 << 20, 8
"""The index may have this many bytes, or this many times the size of the file. The index of a real game is smaller than
its file."""


class _Stop(NamedTuple):
    """Where the frames end. If the bytes there are wrong, it also has the error."""

    at: int
    failure: FormatError | None = None


def frame_index(data: bytes, start: int, limit: int, widths: tuple[int, ...], players: Collection[int]) -> FrameIndex:
    """Find the events of all frames, beginning with `data[start]`, which is the first byte after Game Start.

    `limit` is the end of the raw array if we know it, but never more than the end of the file. `players` are the player
    indices in Game Start. If the index would become far larger than the file, this raises `FieldError`.
    """
    return _of_players(_index_of_all(data, start, limit, widths, players), players)


def _of_players(index: FrameIndex, players: Collection[int]) -> FrameIndex:
    """Return the index with the updates of these `players` only.

    If a sending only has other updates, it is left out.
    """
    updates = [slot for slot in index.slots if slot.command in (PRE, POST)]
    strangers = {slot for slot in updates if slot.player not in players}
    if not strangers or not players:  # without players in Game Start, all updates count
        return index
    has_stranger, has_own = np.zeros((2, len(index.numbers)), np.bool_)
    for slot in updates:
        (has_stranger if slot in strangers else has_own)[index.slots[slot] != ABSENT] = True
    which = np.flatnonzero(has_own | ~has_stranger)
    slots = {slot: offsets[which] for slot, offsets in index.slots.items() if slot not in strangers}
    repeated = {command: repeated.of_frames(which) for command, repeated in index.repeated.items()}
    return FrameIndex(index.numbers[which], slots, repeated, index.stop, index.failure)


def _index_of_all(data: bytes, start: int, limit: int, widths: tuple[int, ...], players: Collection[int]) -> FrameIndex:
    """The events of all characters."""
    if kernel is None:
        return _index_without_kernel(data, start, limit, widths, players)
    max_offsets = _max_index_bytes(data) // _OFFSET_BYTES
    awaited = None if widths[BOOKEND] else bytes(players)
    walk = kernel.Walk(data, start, limit, *events_of_frames(widths), MAX_REPEATED_EVENTS, max_offsets, awaited)
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


class Sending(NamedTuple):
    """The events of one transmission of a frame."""

    number: int
    slots: dict[Slot, int]
    """The offset of the event in each slot, in the order of the file."""
    repeated: list[tuple[int, int]]
    """The command bytes and offsets of all other events."""


class Walk:
    """A pass over the events of all frames, with the same rules as in the assembler.

    `widths` come from `frame_widths`. For a replay without bookends, pass `completion`.
    """

    def __init__(
        self,
        data: bytes,
        start: int,
        limit: int,
        widths: Sequence[int],
        completion: Completion | None = None,
    ) -> None:
        self.first: int | None = None
        """Where the first sending begins."""
        self.stop = start
        """Just past the last event."""
        self.sendings: list[Sending] = []
        self.is_open = False
        """Whether more events of the last sending may follow at `stop`."""
        characters: set[Character] = set()
        counts: Counter[bool] = Counter()
        for command, at, self.stop in walk_events(data, start, limit, widths):
            if self.first is None and command != MESSAGE_SPLITTER:
                self.first = at
            if command not in FRAMED or self.stop - at < NUMBERED_BYTES:
                continue
            number = int.from_bytes(data[at + FRAME_NUMBER_OFFSET : at + PLAYER_INDEX_OFFSET], "big", signed=True)
            is_update = command in (PRE, POST)
            character = (data[at + PLAYER_INDEX_OFFSET], data[at + FOLLOWER_OFFSET] > 0) if is_update else (0, False)
            is_another = command == START or (command == PRE and character in characters)
            if not self.is_open or is_another or number != self.sendings[-1].number:
                self.sendings.append(Sending(number, {}, []))
                self.is_open = True
                characters.clear()
                counts.clear()
                if completion is not None:
                    completion.begin()
            sending = self.sendings[-1]
            is_late = completion is not None and completion.complete
            if is_update:
                characters.add(character)
                if completion is not None:
                    (completion.pre_frame if command == PRE else completion.post_frame)(character)
            if command in REPEATED:
                counts[command == ITEM] += 1
                if counts[command == ITEM] <= MAX_REPEATED_EVENTS and not is_late:
                    sending.repeated.append((command, at))
            elif not is_late:
                slot = Slot(command, *character)
                sending.slots.pop(slot, None)  # a second Post-Frame Update replaces the first one
                sending.slots[slot] = at
            self.is_open = command != BOOKEND


def _index_without_kernel(
    data: bytes, start: int, limit: int, widths: Sequence[int], players: Collection[int]
) -> FrameIndex:
    """The events of all characters, found in Python."""
    completion = None if widths[BOOKEND] else Completion((index, False) for index in players)
    walk = Walk(data, start, limit, frame_widths(widths), completion)
    stop, sendings = _stop_at(data, walk.stop, limit, widths), walk.sendings
    # If an error cuts off a sending, it is dropped, as in the assembler.
    if walk.is_open and stop.failure is not None and not (completion is not None and completion.complete):
        sendings.pop()
    slots = dict.fromkeys(slot for sending in sendings for slot in sending.slots)
    _check_size(data, len(slots), len(sendings), walk.first or 0)
    repeated = {}
    for wanted in dict.fromkeys(command for sending in sendings for command, _ in sending.repeated):
        offsets = [[at for command, at in sending.repeated if command == wanted] for sending in sendings]
        firsts = np.cumsum([0, *map(len, offsets)])
        repeated[wanted] = RepeatedEvents(np.array([*chain.from_iterable(offsets)], np.int64), firsts)
    return FrameIndex(
        np.array([sending.number for sending in sendings], np.int32),
        {slot: np.array([sending.slots.get(slot, ABSENT) for sending in sendings], np.int64) for slot in slots},
        repeated,
        stop.at,
        stop.failure,
    )
