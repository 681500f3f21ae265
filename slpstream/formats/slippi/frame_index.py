"""The frame index contains the file offset of every event of every frame in a whole game.

A *sending* is one transmission of a frame. If there's a rollback, the same frame number is sent again.

The compiled kernel and the code in this module go through the game event by event, and always have to find the same as
the live path. This is checked by tests and a fuzzer.

The index only contains offsets and no values. You can use `columns` to read these when you need them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi import metadata
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
    Events,
    events_of_frames,
    unsupported,
)
from slpstream.formats.slippi.framing import walk_events
from slpstream.model.errors import FieldError, FormatError, FramingError

Offsets = npt.NDArray[np.int64]

ABSENT = -1
"""The offset of an event that a frame does not have."""

_OFFSET_BYTES = 8
_ALWAYS_BYTES, _MAX_TIMES = 64 << 20, 8
"""The index may have this many bytes, or this many times the size of the file. The index of a real game is smaller than
its file."""


class Slot(NamedTuple):
    """A kind of event that can't occur more than once in a frame.

    Frame Start and Frame Bookend don't belong to a player. For these, `player` is 0 and `follower` is `False`.
    """

    command: int
    player: int = 0
    follower: bool = False


class RepeatedEvents(NamedTuple):
    """Events of a kind that can occur many times in a frame, for example items. They are in the order of the frames.

    `offsets` has one entry for each event. To get the events of frame i, use `offsets[firsts[i]:firsts[i + 1]]`.
    """

    offsets: Offsets
    firsts: Offsets

    def of_frames(self, which: Offsets) -> RepeatedEvents:
        """Return the events of those frames that have one of these indices."""
        counts = np.diff(self.firsts)[which]
        firsts = np.concatenate([[0], np.cumsum(counts)])
        index = np.arange(firsts[-1]) + np.repeat(self.firsts[which] - firsts[:-1], counts)
        return RepeatedEvents(self.offsets[index], firsts)


class FrameIndex(NamedTuple):
    """The offsets for every sending of every frame in a game, in the order of the file."""

    numbers: npt.NDArray[np.int32]
    """Frame number of each sending."""
    slots: dict[Slot, Offsets]
    """For each slot, one entry per sending: the file offset of the command byte, or `ABSENT`."""
    repeated: dict[int, RepeatedEvents]
    """Items and stage events by command byte."""
    stop: int
    """Where the frames end: at Game End, the metadata, the raw length, an unreadable byte, or the end of the file."""
    failure: FormatError | None = None
    """The error found at `stop`, if any."""

    @property
    def characters(self) -> list[tuple[int, bool]]:
        """The player index of each character, and whether it is the follower; players come before their followers."""
        return sorted({(player, follower) for command, player, follower in self.slots if command in (PRE, POST)})

    def of_sendings(self, which: Offsets) -> FrameIndex:
        """Return the sendings with these indices, with those slots and repeated events that they have."""
        slots = {slot: offsets[which] for slot, offsets in self.slots.items()}
        repeated = {command: events.of_frames(which) for command, events in self.repeated.items()}
        return self._replace(
            numbers=self.numbers[which],
            slots={slot: offsets for slot, offsets in slots.items() if (offsets != ABSENT).any()},
            repeated={command: events for command, events in repeated.items() if len(events.offsets)},
        )


def frame_index(data: bytes, start: int, limit: int, widths: tuple[int, ...], players: Collection[int]) -> FrameIndex:
    """Find the events of all frames, beginning with `data[start]`, which is the first byte after Game Start.

    `limit` is the end of the raw array if we know it, but never more than the end of the file. `players` are the player
    indices in Game Start. If there are any, the updates of others are left out, and sendings that only have such
    updates. If the index would become far larger than the file, this raises `FieldError`.
    """
    find = find_events if kernel is None else _find_with_kernel
    index, is_cut = find(data, start, limit, events_of_frames(widths), None if widths[BOOKEND] else players)
    failure = _failure_at(data, index.stop, limit, widths)
    if failure is not None:
        index = index._replace(failure=failure)
        if is_cut:  # the assembler drops this sending too
            index = index.of_sendings(np.arange(len(index.numbers) - 1))
    updates = [slot for slot in index.slots if slot.command in (PRE, POST)]
    strangers = {slot for slot in updates if slot.player not in players}
    if not strangers or not players:
        return index
    has_stranger, has_own = np.zeros((2, len(index.numbers)), np.bool_)
    for slot in updates:
        (has_stranger if slot in strangers else has_own)[index.slots[slot] != ABSENT] = True
    slots = {slot: offsets for slot, offsets in index.slots.items() if slot not in strangers}
    return index._replace(slots=slots).of_sendings(np.flatnonzero(has_own | ~has_stranger))


def _find_with_kernel(
    data: bytes, start: int, limit: int, events: Events, players: Collection[int] | None
) -> tuple[FrameIndex, bool]:
    """Do the same as `find_events`."""
    awaited = None if players is None else bytes(players)
    stop, is_cut, first, sendings, slots, arrays = kernel.walk(  # type: ignore[union-attr]
        data, start, limit, events, MAX_REPEATED_EVENTS, _max_offsets(data), awaited
    )
    if arrays is None:
        _check_size(data, slots, sendings, first)
    numbers, by_slot, by_command = arrays
    repeated = {
        command: RepeatedEvents(np.frombuffer(offsets, np.int64), np.frombuffer(firsts, np.int64))
        for command, offsets, firsts in by_command
    }
    by_slot = {Slot(*slot): np.frombuffer(offsets, np.int64) for *slot, offsets in by_slot}
    return FrameIndex(np.frombuffer(numbers, np.int32), by_slot, repeated, stop), is_cut


def find_events(
    data: bytes, start: int, limit: int, events: Events, players: Collection[int] | None
) -> tuple[FrameIndex, bool]:
    """Return the events of all characters without using the kernel, and whether the last sending might lack events.

    In replays without Frame Bookends, `players` are those of Game Start, and a frame is complete according to the rules
    of `assembler`. In all other replays, `players` is `None`.
    """
    first, stop = 0, start
    numbers: list[int] = []
    slots: dict[Slot, dict[int, int]] = {}
    repeated: dict[int, list[tuple[int, int]]] = {}
    is_open = is_complete = False
    awaited, characters, updated = set(), {(player, False) for player in players or ()}, set[tuple[int, bool]]()
    counts: Counter[bool] = Counter()
    for command, at, stop in walk_events(data, start, limit, events[0]):
        if not first and command != MESSAGE_SPLITTER:
            first = at
        if command not in FRAMED or stop - at < NUMBERED_BYTES:
            continue
        number = int.from_bytes(data[at + FRAME_NUMBER_OFFSET : at + PLAYER_INDEX_OFFSET], "big", signed=True)
        is_update = command in (PRE, POST)
        character = (data[at + PLAYER_INDEX_OFFSET], data[at + FOLLOWER_OFFSET] > 0) if is_update else (0, False)
        is_another = command == START or (command == PRE and character in characters)
        if not is_open or is_another or number != numbers[-1]:
            numbers.append(number)
            is_open, is_complete = True, False
            awaited, characters, updated = characters, set(), set()
            counts.clear()
        sending, is_late = len(numbers) - 1, is_complete
        if is_update:
            characters.add(character)
        if command == POST:
            updated.add(character)
            is_complete = is_complete or (players is not None and updated == characters and awaited <= characters)
        if command in REPEATED:
            counts[command == ITEM] += 1
            if counts[command == ITEM] <= MAX_REPEATED_EVENTS and not is_late:
                repeated.setdefault(command, []).append((sending, at))
        elif not is_late:
            slots.setdefault(Slot(command, *character), {})[sending] = at  # a second update replaces the first one
        is_open = command != BOOKEND
    _check_size(data, len(slots), len(numbers), first)
    offsets = {slot: np.full(len(numbers), ABSENT) for slot in slots}
    for slot, found in slots.items():
        offsets[slot][[*found]] = [*found.values()]
    by_command = {}
    for command, pairs in repeated.items():
        sendings, places = (np.array(values, np.int64) for values in zip(*pairs, strict=True))
        by_command[command] = RepeatedEvents(places, np.searchsorted(sendings, np.arange(len(numbers) + 1)))
    return FrameIndex(np.array(numbers, np.int32), offsets, by_command, stop), is_open and not is_complete


def _max_offsets(data: bytes) -> int:
    return max(_ALWAYS_BYTES, _MAX_TIMES * len(data)) // _OFFSET_BYTES


def _check_size(data: bytes, slots: int, sendings: int, start: int) -> None:
    """Raise `FieldError` if the index would become far larger than the file.

    `start` is where the first sending begins.
    """
    # A hostile file can have updates of 256 players and their followers in one frame, followed by ten thousand
    # frames of nine bytes: each of these would take an entry in every slot.
    if slots * sendings > _max_offsets(data):
        what = f"updates of {slots // 2} players and followers: no game has so many"
        raise FieldError(what, offset=start, command=PRE)


def _failure_at(data: bytes, at: int, limit: int, widths: Sequence[int]) -> FormatError | None:
    """Return the error if the bytes at `at`, where the frames end, are wrong."""
    if at >= limit:
        return None
    command = data[at]
    width = widths[command]
    if width:
        return unsupported(command, widths, offset=at) if at + width <= limit else None
    if metadata.MARKER.startswith(data[at : at + len(metadata.MARKER)]):
        return None
    return FramingError(f"undeclared command byte {command:#04x}", offset=at, command=command)
