"""One game: bytes in, log messages out. Pure: no clock, no files, no dependence on how the bytes were cut.

`dump`, `verify`, resume from an old cursor and the live daemon all run this module; that is why they agree.

There are two logs of a game, for the two `frames` modes of a subscription. The live log has every revision of every
frame as it comes, and says what has become final. The finalized log has each number once, in order, when nothing can
change it any more. A pipeline writes the logs that it is asked for.

Stats and derived events are computed from final frames only, and stand in both logs behind what made the frame final.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self

from slpstream.formats.interface import Reader, StatsComputer
from slpstream.formats.registry import new_stats
from slpstream.model.errors import FormatError
from slpstream.model.events import Diagnostic, Event, Frame, FrameFinalized, GameEnd, GameEvent, GameStart, StatsUpdate
from slpstream.model.messages import START, FramesMode, LogMessage, body_of

Encoded = tuple[str, bytes, int | None]

_DERIVED = (GameEvent, StatsUpdate)
"""The events of a stats computer. They name the final frame that causes them."""


class LogWriter:
    """Gives the messages of the live log their places."""

    mode: FramesMode = "live"

    def __init__(self) -> None:
        self._offset, self._count = START

    def copy(self) -> Self:
        """An independent writer at the same place."""
        return copy.copy(self)

    def flush(self, game_id: str | None, out: list[LogMessage]) -> None:
        """Appends what had to see the whole batch of events first."""

    def write(self, event: Event, encoded: Encoded, game_id: str | None, out: list[LogMessage]) -> None:
        """Appends the messages that an event causes."""
        if game_id is not None:
            if event.end_offset > self._offset:
                self._offset = event.end_offset
                self._count = 0
            else:
                self._count += 1
        kind, body, frame = encoded
        out.append(LogMessage(kind, game_id, self.mode, self._offset, self._count, body, frame))


class FinalizedLogWriter(LogWriter):
    """Holds each frame back until it is final. When several become final at once, what one of them caused still comes
    before the next one."""

    mode: FramesMode = "finalized"

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[int, Encoded] = {}
        self._through: int | None = None
        self._final: FrameFinalized | None = None
        """Of what is due: frames that are final and not written yet. What they caused is in the same batch."""

    def copy(self) -> Self:
        """An independent writer at the same place."""
        twin = super().copy()
        twin._waiting = dict(self._waiting)
        return twin

    def flush(self, game_id: str | None, out: list[LogMessage]) -> None:
        """Appends the frames that are due."""
        final = self._final
        if final is not None:
            self._final = None
            self._release(final, final.through, game_id, out)

    def write(self, event: Event, encoded: Encoded, game_id: str | None, out: list[LogMessage]) -> None:
        """Appends the messages that an event causes."""
        kind = type(event)
        if kind is Frame:
            # A frame that comes again although it was final: the first stands.
            number = event.number  # type: ignore[attr-defined]
            if self._through is None or number > self._through:
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

    def _release(self, final: FrameFinalized, through: int, game_id: str | None, out: list[LogMessage]) -> None:
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


class Pipeline:
    """The logs of one game. `feed`, `rewrite` and `finish` are those of the format's reader; each returns a list of
    new messages for every mode, in the order of `modes`."""

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
        """Game End was said."""
        self.events: list[Event] = []
        """What the last call made certain, for those who count."""

    def copy(self) -> Self:
        """An independent pipeline at the same place."""
        twin = copy.copy(self)
        twin.reader = self.reader.copy()
        twin._deriver = self._deriver.copy()
        twin._writers = [writer.copy() for writer in self._writers]
        twin.events = []
        return twin

    @property
    def failure(self) -> FormatError | None:
        """What was wrong with the bytes, when that ended the log."""
        return self.reader.failure

    @property
    def closed(self) -> bool:
        """Nothing that is appended can change the logs any more."""
        return self.reader.closed

    def feed(self, data: bytes) -> list[list[LogMessage]]:
        """The next bytes of the file."""
        self.bytes_read += len(data)
        return self._messages(self.reader.feed(data))

    def rewrite(self, header: bytes) -> list[list[LogMessage]]:
        """The first bytes of the file have changed."""
        return self._messages(self.reader.rewrite(header))

    def finish(self) -> list[list[LogMessage]]:
        """No more bytes will come. The daemon never knows that; `dump` does."""
        return self._messages(self.reader.finish())

    @property
    def pending(self) -> bool:
        """There are messages that `more` has not returned yet."""
        return self.reader.pending

    def more(self, max_frames: int) -> list[list[LogMessage]]:
        """The messages of at most so many further frames, where a format expands them as they are taken."""
        return self._messages(self.reader.more(max_frames))

    def _messages(self, events: list[Event]) -> list[list[LogMessage]]:
        logs: list[list[LogMessage]] = [[] for _ in self._writers]
        if not events:
            self.events = events
            return logs
        self.events = events = self._deriver.derive(events)
        writes = [(writer.write, log) for writer, log in zip(self._writers, logs, strict=True)]
        for event in events:
            kind = type(event)
            if kind is Frame:
                number = event.number  # type: ignore[attr-defined]
                if self.last_frame is None or number > self.last_frame:
                    self.last_frame = number
            elif kind is GameStart:
                self.game_id = event.game_id  # type: ignore[attr-defined]
            elif kind is GameEnd:
                self.ended = True
            encoded = body_of(event)
            for write, log in writes:
                write(event, encoded, self.game_id, log)
        for writer, log in zip(self._writers, logs, strict=True):
            writer.flush(self.game_id, log)
        return logs


def diagnostics(events: Iterable[Event]) -> list[Diagnostic]:
    """The diagnostics among some events."""
    return [event for event in events if isinstance(event, Diagnostic)]
