"""Where everything is: the offset of each event of each frame of a whole game, found at memory speed.

Event sizes are fixed by Event Payloads, so framing is a chain: one event begins where the last one ends. Nearly all
frames of a game have the same few layouts, and that makes the chain vectorisable without giving up its exactness. A
`_Layout` is learned from one frame, event by event: commands, player indices, follower flags, and their offsets. Then
the bytes at those offsets are compared in the next k frames at that stride, with one strided view; since each command
byte fixes the size of its event, equality *proves* the framing of the whole run. Where a run breaks, the next frame is
looked up among the layouts that were learned, by what stands between its pre-frames and its post-frames (items and
stage events), and only if none fits it is read event by event again.

That equality does not cover the frame numbers inside the events. They are compared afterwards, for the whole game at
once; should one differ from its frame's, everything is read again event by event (`_scan`), by the rules of the
assembler. Both ways must give what the live path gives; tests and a fuzzer hold that.

The result is arrays of offsets, not values: `columns` makes values of them when they are asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from slpstream.formats.slippi import metadata
from slpstream.formats.slippi.commands import (
    FRAME_BOOKEND,
    FRAME_START,
    GAME_END,
    ITEM_UPDATE,
    MAX_THINGS,
    MESSAGE_SPLITTER,
    POST_FRAME,
    PRE_FRAME,
    STAGE_EVENT_KINDS,
    TABLES,
)
from slpstream.formats.slippi.offsets import ABSENT, FrameIndex, Offsets, Slot, Things
from slpstream.model.errors import FieldError, FormatError, FramingError

_START, _PRE, _POST, _ITEM, _BOOKEND = (
    table.command for table in (FRAME_START, PRE_FRAME, POST_FRAME, ITEM_UPDATE, FRAME_BOOKEND)
)
_GAME_END = GAME_END.command
_LISTED = (_ITEM, *STAGE_EVENT_KINDS)
"""Commands that a frame can have many of."""
_FRAMED = frozenset({_START, _PRE, _POST, _BOOKEND, *_LISTED})
"""Commands whose events begin with the frame number."""
_FRAME_AT, _PLAYER_AT, _FOLLOWER_AT = 1, 5, 6
_SPLITTER_BYTES = 0x205

_MAX_EVENTS = 96
"""A frame with more goes event by event every time."""
_MAX_LAYOUTS = 512
_ALIKE_BEFORE_A_RUN = 2
"""How many frames of one layout follow each other before a run is tried: below that, one by one is faster."""
_FIRST_RUN, _MAX_RUN = 32, 4096
_LONG_RUN, _FEW_RUNS = 256, 8
"""So long a run, or so few of them: then a strided view for each event is faster than a gather over all frames."""

_OFFSET_BYTES = 8
_ALWAYS_BYTES, _MAX_TIMES = 64 << 20, 8
"""An index may have so many bytes, or so many times those of the file; of a game it has a fraction."""
_LITTLE_ENDIAN = sys.byteorder == "little"

_Event = tuple[int, int]
"""Command, or `_OVERRULED`, and position of the command byte."""
_OVERRULED = -1
"""Stands for the command of an event that counts for nothing: a later one has its place, or there are too many."""


class _Layout:
    """The layout of one sending: where its events are, counted from its first byte."""

    def __init__(self, data: bytes, events: Sequence[_Event], past: int) -> None:
        """`events` in the order of the file; `past` is the position behind the last one."""
        start = events[0][1]
        self.start = start
        self.width_bytes = past - start
        self.slots: dict[Slot, int] = {}
        self.things: dict[int, list[int]] = {}
        self.number_at = next(at for command, at in events if command in _FRAMED) - start
        """Of the first event that has a frame number."""
        self.ordinary = len(events) <= _MAX_EVENTS
        """Later frames may be compared with it."""
        self.lead_bytes = 0
        """Up to the end of the last Pre-Frame Update."""
        self.first_player = b""
        """Command, player index and follower flag of the first Pre-Frame Update."""
        checked: list[int] = []
        for command, at in events:
            where = at - start
            checked.append(where)
            if command in (_PRE, _POST):
                checked += [where + _PLAYER_AT, where + _FOLLOWER_AT]
                self.slots[Slot(command, data[at + _PLAYER_AT], bool(data[at + _FOLLOWER_AT]))] = where
                if command == _PRE:
                    self.lead_bytes = where + 1
                    self.first_player = self.first_player or _who(data, at)
            elif command in (_START, _BOOKEND):
                self.slots[Slot(command)] = where
            elif command in _LISTED:
                self.things.setdefault(command, []).append(where)
            elif command == _OVERRULED:
                self.ordinary = False
        self.checked = np.array(checked)
        frame = data[start:past]
        self._pick = itemgetter(0, *checked)
        self._expected = self._pick(frame)
        self.expected = bytes(self._expected[1:])

    def fits(self, frame: bytes) -> bool:
        """`frame`, of `width_bytes`, has this layout."""
        return self._pick(frame) == self._expected  # type: ignore[no-any-return]


class _Run(NamedTuple):
    """So many sendings of one layout, one after the other."""

    start: int
    sendings: int
    layout: int


class _Stop(NamedTuple):
    at: int
    failure: FormatError | None = None


def frame_index(data: bytes, at: int, limit: int, widths: Sequence[int]) -> FrameIndex:
    """The frames from `data[at]` on, which is the first byte behind Game Start.

    `limit` is the end of the raw array where it is known, at most the end of the file. `widths` are the declared sizes
    with the command byte, by command byte, 0 where none was declared.
    """
    walk = _Walk(data, limit, widths)
    stop = walk.by_layouts(at)
    index = walk.arrays(stop)
    if not walk.numbers_agree(index):
        stop = walk.by_events(at)
        index = walk.arrays(stop)
    return index


class _Walk:
    """A pass over a game's bytes: first to runs of layouts, then to arrays."""

    def __init__(self, data: bytes, limit: int, widths: Sequence[int]) -> None:
        self._data = data
        self._limit = limit
        self._widths = widths
        self._bookends = widths[_BOOKEND] > 0
        self._too_small = {
            command: table
            for command, table in TABLES.items()
            if widths[command] and len(table.layout(widths[command] - 1).fields) < table.required
        }
        self._bytes = np.frombuffer(data, np.uint8)
        words = max(0, len(data) - _FRAME_AT - 3)
        self._words = np.ndarray((words,), np.uint32, data, _FRAME_AT, (1,))
        """The four bytes that are a frame number, if an event begins at the index; as they are, to be compared."""
        self._layouts: list[_Layout] = []
        self._runs: list[_Run] = []

    def by_layouts(self, at: int) -> _Stop:
        """The fast way. Frame numbers inside the events are not looked at."""
        widths, layouts, runs, bookends = self._widths, self._layouts, self._runs, self._bookends
        known: dict[bytes, int] = {}
        lead, last, alike = 0, -1, 0
        while True:
            # Mostly a frame is like the one before; else what stands between pres and posts tells which it can be like.
            found = last
            past = self._end_of(last, at) if alike else 0
            if not past and known:
                found = known.get(self._between(at + lead), -1)
                past = self._end_of(found, at) if found >= 0 else 0
            if not past:
                events, at, stop = self._sending(at)
                last, alike = -1, 0
                if events:
                    learned = self._learn(events, at)
                    layout = layouts[learned]
                    closed = not bookends or events[-1][0] == _BOOKEND
                    if layout.ordinary and closed and len(known) < _MAX_LAYOUTS:
                        last, alike = learned, 1
                        ahead = layout.lead_bytes + widths[_PRE] - 1 if layout.lead_bytes else 0
                        if ahead != lead:
                            known.clear()
                            lead = ahead
                        known[self._between(layout.start + lead)] = last
                if stop is not None:
                    return stop
                continue
            alike = alike + 1 if found == last else 1
            last = found
            sendings = 1
            if alike > _ALIKE_BEFORE_A_RUN:
                sendings = self._run_length(layouts[found], at)
                past = at + sendings * layouts[found].width_bytes
                alike = 0
            start, before, layout_before = runs[-1]
            if layout_before == found:  # then the run before ends here
                runs[-1] = _Run(start, before + sendings, found)
            else:
                runs.append(_Run(at, sendings, found))
            at = past

    def _end_of(self, index: int, at: int) -> int:
        """The position behind a sending at `at` that has a layout and is complete; 0 when it is not."""
        layout = self._layouts[index]
        past = at + layout.width_bytes
        if past > self._limit or not layout.fits(self._data[at:past]):
            return 0
        return past if self._bookends or self._complete(layout, past) else 0

    def by_events(self, at: int) -> _Stop:
        """The slow way: every event by itself."""
        self._layouts, self._runs = [], []
        while True:
            events, at, stop = self._sending(at)
            if events:
                self._learn(events, at)
            if stop is not None:
                return stop

    def _learn(self, events: Sequence[_Event], past: int) -> int:
        layout = _Layout(self._data, events, past)
        self._layouts.append(layout)
        self._runs.append(_Run(layout.start, 1, len(self._layouts) - 1))
        return len(self._layouts) - 1

    def _between(self, at: int) -> bytes:
        """The command bytes of what stands between pre-frames and post-frames: they tell the layouts apart."""
        data, widths, limit = self._data, self._widths, self._limit
        commands = b""
        while at < limit and (command := data[at]) != _POST and len(commands) < _MAX_EVENTS:
            if not widths[command] or command == _BOOKEND:
                break
            commands += data[at : at + 1]
            at += widths[command]
        return commands

    def _complete(self, layout: _Layout, past: int) -> bool:
        """A sending of this layout that ends at `past` is complete there. Before 3.0, which has no bookends, the event
        that follows tells: a Frame Start, or again the player who began this sending."""
        if self._bookends:
            return True
        data, widths = self._data, self._widths
        if past >= self._limit:
            return False
        command = data[past]
        if not widths[command] or past + widths[command] > self._limit or command in self._too_small:
            return False
        return command == _START or (layout.first_player != b"" and _who(data, past) == layout.first_player)

    def _run_length(self, layout: _Layout, at: int) -> int:
        """How many sendings of this layout follow each other from `at` on; the first is known to fit."""
        width, checked, expected = layout.width_bytes, layout.checked, layout.expected
        sendings, most = 1, _FIRST_RUN
        left = (self._limit - at) // width - 1
        while left > 0:
            tried = min(most, left)
            first = at + sendings * width
            frames = self._bytes[first : first + tried * width].reshape(tried, width)
            # One line of bytes against another: row by row would take several times as long.
            differ = frames.take(checked, axis=1).ravel() != np.frombuffer(expected * tried, np.uint8)
            first_difference = int(differ.argmax())
            if differ[first_difference]:
                sendings += first_difference // len(checked)
                break
            sendings += tried
            left -= tried
            most = min(most * 4, _MAX_RUN)
        while sendings > 1 and not self._complete(layout, at + sendings * width):
            sendings -= 1
        return sendings

    # -- event by event, by the rules of the assembler
    # ------------------------------------------------------------------------------------------------------------

    def _sending(self, at: int) -> tuple[list[_Event], int, _Stop | None]:
        """One sending: its events, where the next one begins, and why none does. No events when it is dropped."""
        data, widths = self._data, self._widths
        number: int | None = None
        events: list[_Event] = []
        who_is_in: set[bytes] = set()
        posts: dict[bytes, int] = {}
        things = {True: 0, False: 0}
        while True:
            stop = self._end(at)
            if stop is not None:
                kept = events if number is not None and stop.failure is None else []
                return kept, at, stop
            command = data[at]
            if command not in _FRAMED:
                if events or command != MESSAGE_SPLITTER:
                    events.append((command, at))
                at += widths[command]
                continue
            frame = int.from_bytes(data[at + 1 : at + 5], "big", signed=True)
            if number is not None and (frame != number or command == _START):
                return events, at, None
            if command in (_PRE, _POST):
                who = data[at + _PLAYER_AT : at + _FOLLOWER_AT] + (b"\1" if data[at + _FOLLOWER_AT] else b"\0")
                if command == _PRE and who in who_is_in:
                    return events, at, None
                who_is_in.add(who)
                if command == _POST:
                    if who in posts:
                        events[posts[who]] = (_OVERRULED, events[posts[who]][1])
                    posts[who] = len(events)
            elif command in _LISTED:
                things[command == _ITEM] += 1
                if things[command == _ITEM] > MAX_THINGS:
                    command = _OVERRULED
            number = frame
            events.append((command, at))
            at += widths[data[at]]
            if command == _BOOKEND:
                return events, at, None

    def _end(self, at: int) -> _Stop | None:
        """Why no event can be taken at `at`; `None` when one can."""
        data, limit = self._data, self._limit
        if at >= limit:
            return _Stop(at)
        command = data[at]
        width = self._widths[command]
        if width == 0:
            marker = metadata.MARKER
            if data[at : at + len(marker)] == marker[: len(data) - at]:
                return _Stop(at)
            return _Stop(at, FramingError(f"undeclared command byte {command:#04x}", offset=at, command=command))
        if at + width > limit:
            return _Stop(at)
        if command in self._too_small:
            what = f"{self._too_small[command].title}: the declared size of {width - 1} bytes is too small"
            return _Stop(at, FieldError(what, offset=at, command=command))
        if command == MESSAGE_SPLITTER and width < _SPLITTER_BYTES:
            return _Stop(at, FieldError("Message Splitter is too small", offset=at, command=command))
        return _Stop(at) if command == _GAME_END else None

    # -- runs to arrays
    # ------------------------------------------------------------------------------------------------------------

    def arrays(self, stop: _Stop) -> FrameIndex:
        """What the walk found. Raises `FieldError` when that would take far more memory than the file."""
        if not self._runs:
            return FrameIndex(np.empty(0, np.int32), {}, {}, stop.at, stop.failure)
        self._check_size()
        runs = np.array(self._runs, np.int64)
        which = np.repeat(runs[:, 2], runs[:, 1])
        starts, words, slots = self._few_runs() if len(runs) <= _FEW_RUNS else self._many_runs(runs, which)
        numbers = (words.byteswap() if _LITTLE_ENDIAN else words.copy()).view(np.int32)
        things = {
            command: self._things(command, starts, which)
            for command in dict.fromkeys(command for layout in self._layouts for command in layout.things)
        }
        return FrameIndex(numbers, slots, things, stop.at, stop.failure)

    def _check_size(self) -> None:
        """A file can say updates of 256 players and of all their followers in one frame, and ten thousand frames of
        nine bytes behind it."""
        slots = {slot for layout in self._layouts for slot in layout.slots}
        size_bytes = len(slots) * sum(run.sendings for run in self._runs) * _OFFSET_BYTES
        if size_bytes > max(_ALWAYS_BYTES, _MAX_TIMES * len(self._data)):
            what = f"updates of {len(slots) // 2} players and followers: no game has so many"
            raise FieldError(what, offset=self._runs[0].start, command=_PRE)

    def _few_runs(self) -> tuple[Offsets, npt.NDArray[np.uint32], dict[Slot, Offsets]]:
        """Start, frame number as it is, and slots of each sending, run by run: strided, nothing is gathered."""
        total = sum(run.sendings for run in self._runs)
        starts, words = np.empty(total, np.int64), np.empty(total, np.uint32)
        slots = {slot: np.empty(total, np.int64) for layout in self._layouts for slot in layout.slots}
        first = 0
        for run in self._runs:
            layout, past = self._layouts[run.layout], first + run.sendings
            width = layout.width_bytes
            begin = starts[first:past]
            begin[:] = np.arange(run.start, run.start + run.sendings * width, width)
            words[first:past] = self._strided(run.start + layout.number_at, run)
            for slot, offsets in slots.items():
                where = layout.slots.get(slot, ABSENT)
                if where == ABSENT:
                    offsets[first:past] = ABSENT
                else:
                    np.add(begin, where, out=offsets[first:past])
            first = past
        return starts, words, slots

    def _many_runs(
        self, runs: npt.NDArray[np.int64], which: npt.NDArray[np.int64]
    ) -> tuple[Offsets, npt.NDArray[np.uint32], dict[Slot, Offsets]]:
        """The same for all runs at once."""
        layouts, sendings = self._layouts, runs[:, 1]
        starts = np.arange(len(which), dtype=np.int64)
        starts -= np.repeat(np.cumsum(sendings) - sendings, sendings)
        starts *= np.array([layout.width_bytes for layout in layouts])[which]
        starts += np.repeat(runs[:, 0], sendings)
        words = self._words[starts + _of_each([layout.number_at for layout in layouts], which)]
        slots: dict[Slot, Offsets] = {}
        for slot in dict.fromkeys(slot for layout in layouts for slot in layout.slots):
            of_layouts = [layout.slots.get(slot, ABSENT) for layout in layouts]
            where = _of_each(of_layouts, which)
            offsets = slots[slot] = starts + where
            if ABSENT in of_layouts:
                offsets[where == ABSENT] = ABSENT
        return starts, words, slots

    def _things(self, command: int, starts: Offsets, which: npt.NDArray[np.int64]) -> Things:
        lists = [layout.things.get(command, []) for layout in self._layouts]
        counts = _of_each([len(one) for one in lists], which)
        firsts = np.concatenate([[0], np.cumsum(counts)])
        ends = np.cumsum([len(one) for one in lists])
        base = _of_each([int(end) - len(one) for end, one in zip(ends, lists, strict=True)], which)
        place = np.arange(firsts[-1]) + np.repeat(base - firsts[:-1], counts)
        flat = np.array([where for one in lists for where in one], np.int64)
        return Things(np.repeat(starts, counts) + flat[place], firsts)

    def _strided(self, at: int, run: _Run) -> npt.NDArray[np.uint32]:
        """The frame numbers, as they are, of the events at `at` and at the same place in all sendings of the run."""
        width = self._layouts[run.layout].width_bytes
        return np.ndarray((run.sendings,), np.uint32, self._data, at + _FRAME_AT, (width,))

    def numbers_agree(self, index: FrameIndex) -> bool:
        """Within each sending all frame numbers are the same."""
        numbers = index.numbers.view(np.uint32)
        words = numbers.byteswap() if _LITTLE_ENDIAN else numbers
        few = len(self._runs) <= _FEW_RUNS
        first = 0
        short = np.ones(0 if few else len(numbers), np.bool_)
        for run in self._runs:
            past = first + run.sendings
            if few or run.sendings >= _LONG_RUN:
                if not self._run_agrees(run, words[first:past]):
                    return False
                short[first:past] = False
            first = past
        rest = np.flatnonzero(short)
        wanted = words[rest]
        for offsets in index.slots.values() if len(rest) else ():
            chosen = offsets[rest]
            differ = self._words[chosen] != wanted
            if differ.any() and (differ & (chosen != ABSENT)).any():
                return False
        return all(
            np.array_equal(self._words[offsets], np.repeat(words, np.diff(firsts)))
            for offsets, firsts in index.things.values()
        )

    def _run_agrees(self, run: _Run, words: npt.NDArray[np.uint32]) -> bool:
        """The same for one run, without gathering: its events lie at one stride."""
        slots = self._layouts[run.layout].slots.values()
        return not any((self._strided(run.start + where, run) != words).any() for where in slots)


def _of_each(of_layouts: Sequence[int], which: npt.NDArray[np.int64]) -> Offsets:
    """A value of each sending's layout."""
    if len(set(of_layouts)) == 1:
        return np.broadcast_to(np.int64(of_layouts[0]), which.shape)
    return np.array(of_layouts, np.int64)[which]


def _who(data: bytes, at: int) -> bytes:
    """Command, player index and follower flag of the event at `at`."""
    return data[at : at + 1] + data[at + _PLAYER_AT : at + _FOLLOWER_AT + 1]
