"""One game: bytes in, log messages out. Pure: no clock, no files, no dependence on how the bytes were split.

`dump`, `verify`, a resume from an old cursor and the live daemon all run this module, which is why they agree.

A game has two logs, one per `frames` mode of a subscription. The live log has every revision of every frame as it
comes, and announces what has become final. The finalized log has each frame number once, in order, when it can no
longer change. A pipeline writes the logs that it is asked for.

Stats and derived events are computed from final frames only, and follow in both logs what made the frame final.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Self

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
"""The events of a stats computer. They name the final frame that causes them."""
_NOTABLE = frozenset({*DESCRIBING, Diagnostic})
MAX_UNWRITTEN_EVENTS = 240
"""About two seconds of a game."""


class LogWriter:
    """Gives the messages of the live log their positions."""

    mode: FramesMode = "live"

    def __init__(self) -> None:
        self._offset, self._count = START
        self.unwritten: list[tuple[Event, Encoded]] = []
        """Events whose messages nobody reads yet. Together they are written in a fraction of the time."""

    def copy(self) -> Self:
        """An independent writer in the same state."""
        twin = copy.copy(self)
        twin.unwritten = list(self.unwritten)
        return twin

    def write_all(self, game_id: str, out: list[LogMessage]) -> None:
        """Append the messages of everything that is unwritten."""
        write = self.write
        for event, encoded in self.unwritten:
            write(event, encoded, game_id, out)
        self.unwritten.clear()
        self.flush(game_id, out)

    def flush(self, game_id: str, out: list[LogMessage]) -> None:
        """Append what had to wait for the end of the batch of events."""

    def write(self, event: Event, encoded: Encoded, game_id: str, out: list[LogMessage]) -> None:
        """Append the messages that an event causes."""
        if event.end_offset > self._offset:
            self._offset = event.end_offset
            self._count = 0
        else:
            self._count += 1
        kind, body, frame = encoded
        out.append(LogMessage(kind, game_id, self.mode, self._offset, self._count, body, frame))


class FinalizedLogWriter(LogWriter):
    """Holds each frame back until it is final.

    When several frames become final at once, what one of them caused still comes before the next frame.
    """

    mode: FramesMode = "finalized"

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[int, Encoded] = {}
        self._through: int | None = None
        self._final: FrameFinalized | None = None
        """The finalization whose frames are being written; what these frames caused is in the same batch."""

    def copy(self) -> Self:
        """An independent writer in the same state."""
        twin = super().copy()
        twin._waiting = dict(self._waiting)
        return twin

    def flush(self, game_id: str, out: list[LogMessage]) -> None:
        """Append the frames that are final."""
        final = self._final
        if final is not None:
            self._final = None
            self._release(final, final.through, game_id, out)

    def write(self, event: Event, encoded: Encoded, game_id: str, out: list[LogMessage]) -> None:
        """Append the messages that an event causes."""
        kind = type(event)
        if kind is Frame:
            number = event.number  # type: ignore[attr-defined]
            if self._through is None or number > self._through:  # a final frame that is sent again stays as it was
                self._waiting[number] = encoded
            return
        final = self._final
        if final is not None:
            if kind in _DERIVED and event.frame is not None:  # type: ignore[attr-defined]
                self._release(final, event.frame, game_id, out)  # type: ignore[attr-defined]
            else:
                self.flush(game_id, out)
        if kind is FrameFinalized:
            self._final = event  # type: ignore[assignment]
            self._through = event.through  # type: ignore[attr-defined]
        else:
            super().write(event, encoded, game_id, out)

    def _release(self, final: FrameFinalized, through: int, game_id: str, out: list[LogMessage]) -> None:
        waiting = self._waiting
        limit = min(through, final.through)
        for number in sorted(waiting):
            if number > limit:
                break
            super().write(final, waiting.pop(number), game_id, out)


_WRITERS: Mapping[FramesMode, type[LogWriter]] = {"live": LogWriter, "finalized": FinalizedLogWriter}


MakeStats = Callable[[GameStart], StatsComputer | None]
"""Makes a stats computer for a game that begins; `None` for a game without stats."""


class Deriver:
    """Inserts stats and derived events among the reader's events: after the frame that causes them, before the end."""

    def __init__(self, make_stats: MakeStats = new_stats) -> None:
        self._make_stats = make_stats
        self._computer: StatsComputer | None = None
        self._waiting: dict[int, Frame] = {}
        self._through: int | None = None

    def copy(self) -> Self:
        """Return an independent deriver in the same state; frames are values and shared."""
        twin = copy.copy(self)
        twin._computer = None if self._computer is None else self._computer.copy()
        twin._waiting = dict(self._waiting)
        return twin

    def derive(self, events: list[Event]) -> list[Event]:
        """Return the same events with the derived ones among them."""
        computer, waiting = self._computer, self._waiting
        derived: list[Event] = []
        for event in events:
            kind = type(event)
            if computer is None:
                if kind is GameStart:
                    computer = self._computer = self._make_stats(event)  # type: ignore[arg-type]
            elif kind is Frame:
                number = event.number  # type: ignore[attr-defined]
                if self._through is None or number > self._through:  # once a number is final, later ones do not count
                    waiting[number] = event  # type: ignore[assignment]
            elif kind is FrameFinalized:
                derived.append(event)
                self._through = through = event.through  # type: ignore[attr-defined]
                if len(waiting) == 1 and through in waiting:  # nearly always, when frames are final at their bookends
                    derived += computer.feed(waiting.pop(through), event.end_offset)
                else:
                    for number in sorted(n for n in waiting if n <= through):
                        derived += computer.feed(waiting.pop(number), event.end_offset)
                continue
            elif kind is GameEnd:
                derived += computer.finish(event)  # type: ignore[arg-type]
                waiting.clear()
            derived.append(event)
        return derived


class Batch(NamedTuple):
    """The events and messages that one call to a pipeline produced."""

    logs: dict[FramesMode, list[LogMessage]]
    """The new messages of each mode's log."""
    events: Sequence[Event] = ()
    """All events, derived ones among them, in the order of the log."""
    loose: Sequence[LogMessage] = ()
    """Diagnostics from before Game Start, which belong to no game and have no cursor."""
    start: GameStart | None = None
    end: GameEnd | None = None
    frames: int = 0
    """Number of `Frame` events, including frames that a rollback sent again."""
    resent_frames: int = 0
    """How many of them a rollback sent again."""
    notable: Sequence[Event] = ()
    """The events that describe the game or its bytes: Game Start, stats, Game End, metadata, diagnostics."""

    def messages(self, mode: FramesMode) -> list[LogMessage]:
        """All messages of one mode in order, those that belong to no game first."""
        return [*self.loose, *self.logs[mode]] if self.loose else self.logs[mode]


class Pipeline:
    """The logs of one game: the bytes of its file in, batches of events and messages out.

    `feed`, `rewrite`, `finish` and `more` correspond to those of the format's reader.
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
        self._writers = [_WRITERS[mode]() for mode in self.modes]
        self._deriver = Deriver(make_stats)
        self.game_id: str | None = None
        self.bytes_read = 0
        self.last_frame: int | None = None
        """Highest frame number so far."""
        self.ended = False
        """The log has its `game_end`."""
        self._fed_after_close = False

    def copy(self) -> Self:
        """An independent pipeline in the same state."""
        twin = copy.copy(self)
        twin.reader = self.reader.copy()
        twin._deriver = self._deriver.copy()
        twin._writers = [writer.copy() for writer in self._writers]
        return twin

    @property
    def failure(self) -> FormatError | None:
        """The error in the bytes that ended the log, if any."""
        return self.reader.failure

    @property
    def closed(self) -> bool:
        """Whether further bytes cannot change the logs."""
        return self.reader.closed

    @property
    def exhausted(self) -> bool:
        """Whether the rest of the file need not be read. The first bytes after the end can still cause a diagnostic."""
        return self._fed_after_close or self.failure is not None

    def feed(self, data: bytes, unread: Collection[FramesMode] = ()) -> Batch:
        """Take the next bytes of the file.

        The batch may leave out messages of the logs in `unread`. A later batch has them: the next one in which the log
        is not unread or something notable happens, that of `settle`, or at the latest the one after
        `MAX_UNWRITTEN_EVENTS`.
        """
        if self.ended and self.closed:
            self._fed_after_close = True
        self.bytes_read += len(data)
        return self._batch(self.reader.feed(data), unread)

    def settle(self) -> Batch:
        """The messages that earlier batches have left out."""
        logs: dict[FramesMode, list[LogMessage]] = {mode: [] for mode in self.modes}
        if self.game_id is not None:
            for writer in self._writers:
                if writer.unwritten:
                    writer.write_all(self.game_id, logs[writer.mode])
        return Batch(logs)

    def rewrite(self, header: bytes) -> Batch:
        """Take the first bytes of the file again, after they have changed."""
        return self._batch(self.reader.rewrite(header))

    def finish(self) -> Batch:
        """No more bytes will come. A daemon never knows that; `dump` does."""
        return self._batch(self.reader.finish())

    @property
    def pending(self) -> bool:
        """Whether `more` has something to return."""
        return self.reader.pending

    def more(self, max_frames: int) -> Batch:
        """The messages of at most `max_frames` further frames, for formats that expand frames on demand."""
        return self._batch(self.reader.more(max_frames))

    def _batch(self, events: list[Event], unread: Collection[FramesMode] = ()) -> Batch:
        logs: dict[FramesMode, list[LogMessage]] = {mode: [] for mode in self.modes}
        if not events:
            return Batch(logs)
        events = self._deriver.derive(events)
        waiting = [writer for writer in self._writers if writer.mode in unread] if unread else ()
        outputs = [(writer, logs[writer.mode]) for writer in self._writers if writer not in waiting]
        for writer, log in outputs:
            if writer.unwritten and self.game_id is not None:
                writer.write_all(self.game_id, log)
        start, end = None, None
        frames = resent_frames = 0
        loose: list[LogMessage] = []
        notable: list[Event] = []
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
                continue
            for writer, log in outputs:
                writer.write(event, encoded, game_id, log)
            for writer in waiting:
                writer.unwritten.append((event, encoded))
        if game_id is not None:
            for writer, log in outputs:
                writer.flush(game_id, log)
            for writer in waiting:
                if notable or len(writer.unwritten) >= MAX_UNWRITTEN_EVENTS:
                    writer.write_all(game_id, logs[writer.mode])
        self.game_id = game_id
        self.ended = self.ended or end is not None
        return Batch(logs, events, loose, start, end, frames, resent_frames, notable)
