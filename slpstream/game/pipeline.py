"""One game: you put in bytes, and get out log messages.

The pipeline has no clock, opens no files, and doesn't care how the bytes were split. It is used by `dump`, by `verify`,
when a subscriber resumes from an old cursor, and by the live daemon. That's why all of them agree.

A game has two logs, one for each `frames` mode that a subscription can choose. The live log contains every revision of
every frame, in the order of the file, and announces which frames have become final. In the finalized log, you find each
frame number only once, in ascending order, after it became final. A pipeline only writes the logs of the modes that you
create it with.

We only use final frames to compute stats and derived events. In the finalized log they come after the final frame
itself, and in both logs they come after the message that makes the frame final.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import msgspec

from slpstream.formats.interface import Reader, StatsComputer
from slpstream.formats.registry import new_stats
from slpstream.model import highlight
from slpstream.model.errors import FormatError
from slpstream.model.events import (
    DESCRIBING,
    Diagnostic,
    Event,
    Frame,
    FrameFinalized,
    GameEnd,
    GameEvent,
    GameStart,
    PackedEntry,
    StatsUpdate,
)
from slpstream.model.messages import START, FramesMode, LogMessage, content_of

Encoded = tuple[str, bytes | PackedEntry, int | None]
"""Message type, payload and frame number, as `content_of` returns them."""

_DERIVED = (GameEvent, StatsUpdate)
"""The events of a stats computer. Each names the final frame that caused it."""
_NOTHING_FINALIZED = FrameFinalized(0, 0, ())
_NOTABLE = frozenset({*DESCRIBING, Diagnostic})


class LogWriter:
    """Turns events into the messages of one log, and gives each of them its position."""

    def __init__(self, mode: FramesMode) -> None:
        self.mode = mode
        self._offset, self._count = START

    def write(self, events: Iterable[tuple[Event, Encoded]], game_id: str) -> list[LogMessage]:
        """Return the messages of the next events.

        A call that makes a frame final must also have all events that were derived from this frame.
        """
        if self.mode == "finalized":
            events = _in_final_order(events)
        offset, count = self._offset, self._count
        out: list[LogMessage] = []
        for event, (kind, body, frame) in events:
            if event.end_offset > offset:
                offset, count = event.end_offset, 0
            else:
                count += 1
            out.append(LogMessage(kind, game_id, self.mode, offset, count, body, frame))
        self._offset, self._count = offset, count
        return out


def _in_final_order(events: Iterable[tuple[Event, Encoded]]) -> list[tuple[Event, Encoded]]:
    """Return the events of the finalized log. Each frame comes with the event that made it final.

    Even if several frames become final at the same time, the derived events of one frame come before the next.
    """
    ordered: list[tuple[Event, Encoded]] = []
    finalized: FrameFinalized = _NOTHING_FINALIZED
    written = 0  # of its frames
    for event, encoded in events:
        kind = type(event)
        if kind is Frame:
            continue
        frames = finalized.frames
        through = event.frame if kind in _DERIVED else None  # type: ignore[attr-defined]
        while written < len(frames) and (through is None or frames[written].number <= through):
            ordered.append((finalized, content_of(frames[written])))
            written += 1
        if kind is FrameFinalized:
            finalized, written = event, 0  # type: ignore[assignment]
        else:
            ordered.append((event, encoded))
    ordered.extend([(finalized, content_of(frame)) for frame in finalized.frames[written:]])
    return ordered


MakeStats = Callable[[GameStart], StatsComputer | None]
"""Creates the stats computer of a game, given its Game Start. Returns `None` for a game without stats."""


class Deriver:
    """Adds stats and derived events to the events of the reader: each after its frame has become final, but before the
    end.
    """

    def __init__(self, make_stats: MakeStats = new_stats) -> None:
        self._make_stats = make_stats
        self._computer: StatsComputer | None = None

    def copy(self) -> Self:
        """Return a copy that is independent from now on."""
        twin = copy.copy(self)
        twin._computer = None if self._computer is None else self._computer.copy()
        return twin

    def derive(self, events: list[Event]) -> list[Event]:
        """Return the same events, with the derived ones inserted in the right places."""
        computer = self._computer
        derived: list[Event] = []
        for event in events:
            kind = type(event)
            if computer is None:
                if kind is GameStart:
                    computer = self._computer = self._make_stats(event)  # type: ignore[arg-type]
            elif kind is FrameFinalized:
                derived.append(event)
                for frame in event.frames:  # type: ignore[attr-defined]
                    derived += computer.feed(frame, event.end_offset)
                continue
            elif kind is GameEnd:
                derived += computer.finish(event)  # type: ignore[arg-type]
            derived.append(event)
        return derived


class Batch(msgspec.Struct, frozen=True):
    """The events and messages that you get from one call to a pipeline."""

    logs: dict[FramesMode, list[LogMessage]]
    """The new messages of each mode's log."""
    events: Sequence[Event] = ()
    """All events, including the derived ones, in the order of the log."""
    loose: Sequence[LogMessage] = ()
    """Diagnostics from before Game Start, which belong to no game and have no cursor."""
    start: GameStart | None = None
    end: GameEnd | None = None
    frames: int = 0
    """Number of `Frame` events, including revisions after a rollback."""
    resent_frames: int = 0
    """Number of revisions among these."""
    notable: Sequence[Event] = ()
    """The events about the game or its bytes: Game Start, highlights, stats, Game End, metadata, diagnostics."""

    def messages(self, mode: FramesMode) -> list[LogMessage]:
        """Return all messages of one mode in order. They begin with the diagnostics that don't belong to any game."""
        return [*self.loose, *self.logs[mode]] if self.loose else self.logs[mode]


class Pipeline:
    """Turns the bytes of one game's file into batches of events and messages.

    `feed`, `rewrite`, `finish` and `more` do the same as those of the format's reader.
    """

    def __init__(
        self,
        reader: Reader,
        modes: Sequence[FramesMode] = ("live",),
        *,
        make_stats: MakeStats = new_stats,
    ) -> None:
        self.reader = reader
        self.modes = tuple(modes)
        self._writers = [LogWriter(mode) for mode in self.modes]
        self._deriver = Deriver(make_stats)
        self.game_id: str | None = None
        self.bytes_read = 0
        self.last_frame: int | None = None
        """Highest frame number so far."""
        self.ended = False
        """The log has its `game_end`."""
        self._fed_after_close = False

    def copy(self) -> Self:
        """Return a copy of this pipeline. It has the same state, but is independent from then on."""
        twin = copy.copy(self)
        twin.reader = self.reader.copy()
        twin._deriver = self._deriver.copy()
        twin._writers = [copy.copy(writer) for writer in self._writers]
        return twin

    @property
    def failure(self) -> FormatError | None:
        """If the bytes were wrong, this is the error that ended the log."""
        return self.reader.failure

    @property
    def closed(self) -> bool:
        """Whether the logs are complete, so that they stay the same no matter which bytes follow."""
        return self.reader.closed

    @property
    def exhausted(self) -> bool:
        """Whether you can stop reading the file.

        This doesn't become true as soon as the log is complete, because the first bytes after the end can still cause a
        diagnostic.
        """
        return self._fed_after_close or self.failure is not None

    def feed(self, data: bytes) -> Batch:
        """Take the next bytes of the file."""
        if self.ended and self.closed:
            self._fed_after_close = True
        self.bytes_read += len(data)
        return self._batch(self.reader.feed(data))

    def rewrite(self, header: bytes) -> Batch:
        """Take the first bytes of the file again, because they have changed."""
        return self._batch(self.reader.rewrite(header))

    def finish(self) -> Batch:
        """Tell the pipeline that the file is complete. Only commands like `dump` can know that; a daemon never does."""
        return self._batch(self.reader.finish())

    @property
    def pending(self) -> bool:
        """Whether you will get something if you call `more`."""
        return self.reader.pending

    def more(self, max_frames: int) -> Batch:
        """Decode at most `max_frames` more frames.

        You need this for formats that only expand frames when you ask for them.
        """
        return self._batch(self.reader.more(max_frames))

    def _batch(self, events: list[Event]) -> Batch:
        if not events:
            return Batch({mode: [] for mode in self.modes})
        events = self._deriver.derive(events)
        start, end = None, None
        frames = resent_frames = 0
        loose: list[LogMessage] = []
        notable: list[Event] = []
        encoded_events: list[tuple[Event, Encoded]] = []
        game_id = self.game_id
        for event in events:
            kind = type(event)
            if kind is Frame:
                frames += 1
                resent_frames += event.revision > 0  # type: ignore[attr-defined]
                number = event.number  # type: ignore[attr-defined]
                if self.last_frame is None or number > self.last_frame:
                    self.last_frame = number
            elif kind in _NOTABLE:
                notable.append(event)
                if isinstance(event, GameStart):
                    start, game_id = event, event.game_id
                elif isinstance(event, GameEnd):
                    end = event
            elif kind is GameEvent and event.kind == highlight.KIND:  # type: ignore[attr-defined]
                notable.append(event)
            encoded = content_of(event)
            if game_id is None:
                loose.append(LogMessage(encoded[0], None, self.modes[0], 0, 0, encoded[1], None))
            else:
                encoded_events.append((event, encoded))
        logs: dict[FramesMode, list[LogMessage]] = {}
        for writer in self._writers:
            logs[writer.mode] = [] if game_id is None else writer.write(encoded_events, game_id)
        self.game_id = game_id
        self.ended = self.ended or end is not None
        return Batch(logs, events, loose, start, end, frames, resent_frames, notable)
