"""The frame index contains the file offset of every event of every frame in a whole game, and we find them at memory
speed.

A *sending* is one transmission of a frame. If there's a rollback, the same frame number is sent again.

Each event begins where the one before it ends, so normally you have to go through them one by one. However, nearly all
sendings in a game have one of just a few layouts (`frame_layout`), and this allows us to handle many of them together
without losing exactness. We learn a layout from one sending, event by event. Then we take the bytes that prove it, and
compare them in the next k sendings together, with one strided view. When this doesn't match any more, we look for a
known layout that fits the next sending. Only if there's none, we read the sending event by event.

This doesn't compare the frame numbers inside the events. We do that afterwards, for the whole game. If one of them
differs within a sending, we read the whole game again event by event. The result always has to be the same as on the
live path, which is checked by tests and a fuzzer.

Before 3.0, a frame is complete depending on which characters were in the frame before (`completion`). If the last event
of a layout is the only one that can complete the frame, this doesn't make a difference, and real games don't have any
other layouts. If a game does, it is read event by event too.

If you have the compiled kernel, it reads all games event by event, because there, this is even faster.

The index only contains offsets and no values. You can use `columns` to read these when you need them.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from slpstream.formats.kernel import kernel
from slpstream.formats.slippi import metadata
from slpstream.formats.slippi.commands import MAX_REPEATED_EVENTS, MESSAGE_SPLITTER
from slpstream.formats.slippi.completion import Completion
from slpstream.formats.slippi.frame_layout import (
    BOOKEND,
    FOLLOWER_OFFSET,
    FRAME_NUMBER_OFFSET,
    FRAMED,
    ITEM,
    NUMBERED_BYTES,
    OVERRULED,
    PLAYER_INDEX_OFFSET,
    POST,
    PRE,
    REPEATED,
    START,
    Event,
    FrameLayout,
    FrameLayouts,
    character_at,
    frame_widths,
    read_frame,
    unsupported,
)
from slpstream.formats.slippi.offsets import ABSENT, FrameIndex, Offsets, RepeatedEvents, Slot
from slpstream.model.errors import FieldError, FormatError, FramingError

_MAX_EVENTS = 96
"""Sendings with more events are always read event by event."""
_MAX_LAYOUTS = 512
_ALIKE_BEFORE_A_RUN = 2
"""A run is tried after this many sendings of one layout in a row; before that, one by one is faster."""
_FIRST_RUN, _MAX_RUN = 32, 4096
"""The number of sendings compared together: it begins with the first and grows to the second."""
_LONG_RUN, _FEW_RUNS = 256, 8
"""For runs of at least this length, or with at most this many runs, a strided view per event is faster than a gather
over all sendings."""

_OFFSET_BYTES = 8
_ALWAYS_BYTES, _MAX_TIMES = 64 << 20, 8
"""The index may have this many bytes, or this many times the size of the file. The index of a real game is smaller than
its file."""
_LITTLE_ENDIAN = sys.byteorder == "little"

_ITEMS, _STAGE_EVENTS, _PLAIN = b"01."
_RULES_OF_COMMANDS = {
    **dict.fromkeys(REPEATED, _STAGE_EVENTS),
    ITEM: _ITEMS,
    START: ord("s"),
    PRE: ord("k"),
    POST: ord("l"),
    BOOKEND: ord("e"),
    MESSAGE_SPLITTER: ord(" "),
}
_RULES = bytes(_RULES_OF_COMMANDS.get(command, _PLAIN) for command in range(256))
"""The rules of the kernel's `Walk`: the meaning of each command for a sending."""
_PLACES = FRAME_NUMBER_OFFSET, PLAYER_INDEX_OFFSET, FOLLOWER_OFFSET


class _Layout(FrameLayout):
    """A layout that we can compare with many frames together."""

    __slots__ = ("_pick", "_picked", "checked_array", "first_character", "index")

    def __init__(self, data: bytes, events: Sequence[Event], end: int, index: int) -> None:
        """`index` is the position of this layout among all layouts of the game."""
        super().__init__(data, events, end)
        self.index = index
        self.checked_array = np.array(self.checked)
        # itemgetter returns a tuple only for two items and more, hence the first offset twice.
        self._pick = itemgetter(0, *self.checked)
        self._picked = (self.expected[0], *self.expected)
        first = self.start + self.first_pre_offset
        self.first_character = _character_of(data, first) if self.first_pre_offset >= 0 else None
        """Command byte, player index and follower flag of the first Pre-Frame Update."""

    @property
    def characters(self) -> set[bytes]:
        """Return all characters that have updates, in the form of `character_at`."""
        return {bytes([player, follower]) for command, player, follower in self.slots if command in (PRE, POST)}

    def fits(self, frame: bytes) -> bool:
        """Whether `frame` has this layout. It must be `width_bytes` long."""
        return self._pick(frame) == self._picked  # type: ignore[no-any-return]


class _Run(NamedTuple):
    """Several sendings in a row that have the same layout."""

    start: int
    sendings: int
    layout: int


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
        rules = _rules(widths)
        events = kernel.Walk(
            data, start, limit, frame_widths(widths), rules, _PLACES, MAX_REPEATED_EVENTS, max_offsets, awaited
        )
        return _index_of(events, data, limit, widths)
    walk = _Walk(data, limit, widths, players)
    stop = walk.by_layouts(start)
    index = walk.arrays(stop)
    if not walk.numbers_agree(index):
        stop = walk.by_events(start)
        index = walk.arrays(stop)
    return index


def _rules(widths: Sequence[int]) -> bytes:
    """Return the rules for the commands of a replay."""
    narrow = [command for command in REPEATED if 0 < widths[command] < NUMBERED_BYTES]
    if not narrow:
        return _RULES
    rules = bytearray(_RULES)
    for command in narrow:
        rules[command] = _PLAIN
    return bytes(rules)


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


class _Walk:
    """A pass over a game.

    It divides the bytes into runs of sendings with the same layout, and turns these into arrays of offsets.
    """

    def __init__(self, data: bytes, limit: int, widths: Sequence[int], players: Collection[int]) -> None:
        self._data = data
        self._limit = limit
        self._widths = widths
        self._frame_widths = frame_widths(widths)
        self._bookends = widths[BOOKEND] > 0
        self._players = [bytes([index, False]) for index in players]
        self._completion: Completion[bytes] | None = None
        self._bytes = np.frombuffer(data, np.uint8)
        words = max(0, len(data) - FRAME_NUMBER_OFFSET - 3)
        self._words = np.ndarray((words,), np.uint32, data, FRAME_NUMBER_OFFSET, (1,))
        """For each file offset, the frame number of an event that begins there, in the byte order of the file."""
        self._layouts: list[_Layout] = []
        self._runs: list[_Run] = []

    def by_layouts(self, at: int) -> _Stop:
        """Find the runs by comparing layouts. This doesn't check the frame numbers inside the events."""
        data, limit, runs, bookends = self._data, self._limit, self._runs, self._bookends
        frames_start = at
        self._completion = None if bookends else Completion(self._players)
        known: FrameLayouts[_Layout] = FrameLayouts(self._widths, _MAX_LAYOUTS)
        last: _Layout | None = None
        alike = 0
        while True:
            # Most frames have the layout of the one before.
            found = last
            end = self._end_of(last, at) if last is not None and alike else 0
            if not end:
                found = known.find(data, at, limit)
                end = 0 if found is None else self._end_of(found, at)
            if found is None or not end:
                if self._completion is not None and runs:
                    self._completion.characters = self._layouts[runs[-1].layout].characters
                events, at, stop = self._read_frame(at)
                last, alike = None, 0
                if not bookends and not _ends_once(data, events):
                    return self.by_events(frames_start)
                if events:
                    learned = self._learn(events, at)
                    if _is_ordinary(events, bookends=bookends) and known.add(learned, data, learned.start, limit):
                        last, alike = learned, 1
                if stop is not None:
                    return stop
                continue
            alike = alike + 1 if found is last else 1
            last = found
            sendings = 1
            if alike > _ALIKE_BEFORE_A_RUN:
                sendings = self._run_length(found, at)
                end = at + sendings * found.width_bytes
                alike = 0
            start, before, layout_before = runs[-1]
            if layout_before == found.index:  # adjacent, because every frame is part of a run
                runs[-1] = _Run(start, before + sendings, found.index)
            else:
                runs.append(_Run(at, sendings, found.index))
            at = end

    def _end_of(self, layout: _Layout, at: int) -> int:
        """Return the end of the sending at `at`, or 0 if it has another layout or is incomplete."""
        end = at + layout.width_bytes
        if end > self._limit or not layout.fits(self._data[at:end]):
            return 0
        return end if self._bookends or self._complete(layout, end) else 0

    def by_events(self, at: int) -> _Stop:
        """Find the sendings event by event, as if each of them were a run and a layout of its own."""
        self._layouts, self._runs = [], []
        self._completion = None if self._bookends else Completion(self._players)
        while True:
            events, at, stop = self._read_frame(at)
            if events:
                self._learn(events, at)
            if stop is not None:
                return stop

    def _learn(self, events: Sequence[Event], end: int) -> _Layout:
        layout = _Layout(self._data, events, end, len(self._layouts))
        self._layouts.append(layout)
        self._runs.append(_Run(layout.start, 1, layout.index))
        return layout

    def _read_frame(self, at: int) -> tuple[list[Event], int, _Stop | None]:
        """Read one sending. Returns its events, its end, and if the frames stop after it, the stop.

        If an error cuts off a sending, it is dropped, as in the assembler. In this case, you don't get any events.
        """
        completion = self._completion
        events, end, closed = read_frame(self._data, at, self._limit, self._frame_widths, completion)
        if closed:
            return events, end, None
        stop = _stop_at(self._data, end, self._limit, self._widths)
        is_complete = completion is not None and completion.complete
        return events if stop.failure is None or is_complete else [], end, stop

    def _complete(self, layout: _Layout, end: int) -> bool:
        """Whether we can be sure that a sending with the given layout, which ends at `end`, is whole.

        Before 3.0, there are no bookends, so we look at the next event. If it is a Frame Start, or an update of the
        character that began this sending, then the sending is whole.
        """
        if self._bookends:
            return True
        data = self._data
        if end >= self._limit:
            return False
        command = data[end]
        width = self._frame_widths[command]
        if not width or end + width > self._limit:
            return False
        return command == START or _character_of(data, end) == layout.first_character

    def _run_length(self, layout: _Layout, at: int) -> int:
        """Return how many sendings in a row have this layout, beginning at `at`.

        You must know that the first one does.
        """
        width, checked, expected = layout.width_bytes, layout.checked_array, layout.expected
        sendings, max_tried = 1, _FIRST_RUN
        left = (self._limit - at) // width - 1
        while left > 0:
            tried = min(max_tried, left)
            first = at + sendings * width
            frames = self._bytes[first : first + tried * width].reshape(tried, width)
            # Flat arrays, because comparing row by row takes several times as long.
            differ = frames.take(checked, axis=1).ravel() != np.frombuffer(expected * tried, np.uint8)
            first_difference = int(differ.argmax())
            if differ[first_difference]:
                sendings += first_difference // len(checked)
                break
            sendings += tried
            left -= tried
            max_tried = min(max_tried * 4, _MAX_RUN)
        while sendings > 1 and not self._complete(layout, at + sendings * width):
            sendings -= 1
        return sendings

    def arrays(self, stop: _Stop) -> FrameIndex:
        """Return the index of all runs. If it would become far larger than the file, this raises `FieldError`."""
        if not self._runs:
            return FrameIndex(np.empty(0, np.int32), {}, {}, stop.at, stop.failure)
        slots = [Slot(*slot) for slot in dict.fromkeys(slot for layout in self._layouts for slot in layout.slots)]
        _check_size(self._data, len(slots), sum(run.sendings for run in self._runs), self._runs[0].start)
        runs = np.array(self._runs, np.int64)
        which = np.repeat(runs[:, 2], runs[:, 1])
        if len(runs) <= _FEW_RUNS:
            starts, words, offsets = self._few_runs(slots)
        else:
            starts, words, offsets = self._many_runs(slots, runs, which)
        numbers = (words.byteswap() if _LITTLE_ENDIAN else words.copy()).view(np.int32)
        repeated = {
            command: self._repeated_events(command, starts, which)
            for command in dict.fromkeys(command for layout in self._layouts for command in layout.repeated)
        }
        return FrameIndex(numbers, offsets, repeated, stop.at, stop.failure)

    def _few_runs(self, slots: Sequence[Slot]) -> tuple[Offsets, npt.NDArray[np.uint32], dict[Slot, Offsets]]:
        """For each sending, return its start, its frame number in the byte order of the file, and the offsets of its
        slots.

        This goes through the runs one by one, and uses strided views.
        """
        total = sum(run.sendings for run in self._runs)
        starts, words = np.empty(total, np.int64), np.empty(total, np.uint32)
        by_slot = {slot: np.empty(total, np.int64) for slot in slots}
        first = 0
        for run in self._runs:
            layout, end = self._layouts[run.layout], first + run.sendings
            width = layout.width_bytes
            run_starts = starts[first:end]
            run_starts[:] = np.arange(run.start, run.start + run.sendings * width, width)
            words[first:end] = self._strided(run.start + layout.number_offset, run)
            for slot, offsets in by_slot.items():
                offset = layout.slots.get(slot, ABSENT)
                if offset == ABSENT:
                    offsets[first:end] = ABSENT
                else:
                    np.add(run_starts, offset, out=offsets[first:end])
            first = end
        return starts, words, by_slot

    def _many_runs(
        self, slots: Sequence[Slot], runs: npt.NDArray[np.int64], which: npt.NDArray[np.int64]
    ) -> tuple[Offsets, npt.NDArray[np.uint32], dict[Slot, Offsets]]:
        """Return the same arrays as `_few_runs`, but gather them over all runs.

        `which` contains the layout of each sending.
        """
        layouts, sendings = self._layouts, runs[:, 1]
        starts = np.arange(len(which), dtype=np.int64)
        starts -= np.repeat(np.cumsum(sendings) - sendings, sendings)
        starts *= np.array([layout.width_bytes for layout in layouts])[which]
        starts += np.repeat(runs[:, 0], sendings)
        words = self._words[starts + _of_each([layout.number_offset for layout in layouts], which)]
        by_slot: dict[Slot, Offsets] = {}
        for slot in slots:
            of_layouts = [layout.slots.get(slot, ABSENT) for layout in layouts]
            offset = _of_each(of_layouts, which)
            offsets = by_slot[slot] = starts + offset
            if ABSENT in of_layouts:
                offsets[offset == ABSENT] = ABSENT
        return starts, words, by_slot

    def _repeated_events(self, command: int, starts: Offsets, which: npt.NDArray[np.int64]) -> RepeatedEvents:
        lists = [layout.repeated.get(command, []) for layout in self._layouts]
        counts = _of_each([len(one) for one in lists], which)
        firsts = np.concatenate([[0], np.cumsum(counts)])
        ends = np.cumsum([len(one) for one in lists])
        base = _of_each([int(end) - len(one) for end, one in zip(ends, lists, strict=True)], which)
        index = np.arange(firsts[-1]) + np.repeat(base - firsts[:-1], counts)
        flat = np.array([offset for one in lists for offset in one], np.int64)
        return RepeatedEvents(np.repeat(starts, counts) + flat[index], firsts)

    def _strided(self, at: int, run: _Run) -> npt.NDArray[np.uint32]:
        """Return the frame numbers of the event at `at`, and of the same event in all other sendings of the run.

        They are in the byte order of the file.
        """
        width = self._layouts[run.layout].width_bytes
        return np.ndarray((run.sendings,), np.uint32, self._data, at + FRAME_NUMBER_OFFSET, (width,))

    def numbers_agree(self, index: FrameIndex) -> bool:
        """Whether in each sending, all events have the same frame number."""
        numbers = index.numbers.view(np.uint32)
        words = numbers.byteswap() if _LITTLE_ENDIAN else numbers
        few = len(self._runs) <= _FEW_RUNS
        first = 0
        unchecked = np.ones(0 if few else len(numbers), np.bool_)
        for run in self._runs:
            end = first + run.sendings
            if few or run.sendings >= _LONG_RUN:
                if not self._run_agrees(run, words[first:end]):
                    return False
                unchecked[first:end] = False
            first = end
        rows = np.flatnonzero(unchecked)
        expected = words[rows]
        for offsets in index.slots.values() if len(rows) else ():
            chosen = offsets[rows]
            differ = self._words[chosen] != expected
            if differ.any() and (differ & (chosen != ABSENT)).any():
                return False
        return all(
            np.array_equal(self._words[offsets], np.repeat(words, np.diff(firsts)))
            for offsets, firsts in index.repeated.values()
        )

    def _run_agrees(self, run: _Run, words: npt.NDArray[np.uint32]) -> bool:
        """Whether the frame numbers in one run agree. We use strided views to compare them."""
        offsets = self._layouts[run.layout].slots.values()
        return not any((self._strided(run.start + offset, run) != words).any() for offset in offsets)


def _is_ordinary(events: Sequence[Event], *, bookends: bool) -> bool:
    """Whether it makes sense to compare later sendings with the layout of these events."""
    if len(events) > _MAX_EVENTS or (bookends and events[-1][0] != BOOKEND):
        return False
    return all(command != OVERRULED for command, _ in events)


def _ends_once(data: bytes, events: Sequence[Event]) -> bool:
    """Whether only the last event can complete the sending, no matter which characters were in the sending before."""
    completion: Completion[bytes] = Completion(())
    completion.begin()
    for command, at in events:
        if command == OVERRULED or (completion.complete and command in FRAMED):
            return False
        if command == PRE:
            completion.pre_frame(character_at(data, at))
        elif command == POST:
            completion.post_frame(character_at(data, at))
    return True


def _of_each(of_layouts: Sequence[int], which: npt.NDArray[np.int64]) -> Offsets:
    """Return a value for each sending, given the values for each layout."""
    if len(set(of_layouts)) == 1:
        return np.broadcast_to(np.int64(of_layouts[0]), which.shape)
    return np.array(of_layouts, np.int64)[which]


def _character_of(data: bytes, at: int) -> bytes:
    """Return the command, the player index and the follower flag of the event at `at`."""
    return data[at : at + 1] + data[at + PLAYER_INDEX_OFFSET : at + FOLLOWER_OFFSET + 1]
