"""One game: you put in bytes, and get out log messages.

The pipeline has no clock, opens no files, and doesn't care how the bytes were split. It is used by `dump`, by `verify`,
when a subscriber resumes from an old cursor, and by the live daemon. That's why all of them agree.

A game has two logs, one for each `frames` mode that a subscription can choose. The live log contains every revision of
every frame, in the order of the file, and announces which frames have become final. The finalized log contains each
frame number once, in ascending order, after it became final.

Stats and derived events are computed from final frames. In the finalized log they come after the final frame itself,
and in both logs after the message that makes the frame final.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Self

from slpstream.formats.interface import Reader, StatsComputer
from slpstream.formats.registry import new_stats
from slpstream.game.log_writer import Batch, new_log_writer
from slpstream.model import highlight
from slpstream.model.errors import FormatError
from slpstream.model.events import DESCRIBING, Diagnostic, Event, GameEnd, GameEvent, GameStart
from slpstream.model.messages import FramesMode, LogMessage, content_of

_NOTABLE = frozenset({*DESCRIBING, Diagnostic})

MakeStats = Callable[[GameStart], StatsComputer | None]
"""Creates the stats computer of a game, given its Game Start. Returns `None` for a game without stats."""


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
        self._writer = new_log_writer(self.modes)
        self._make_stats = make_stats
        self.computer: StatsComputer | None = None
        """Computes stats and derived events from final frames; `None` before Game Start, and in games without stats."""
        self.game_id: str | None = None
        self.bytes_read = 0
        self.ended = False
        """The log has its `game_end`."""
        self._fed_after_close = False

    def copy(self) -> Self:
        """Return a copy of this pipeline. It has the same state, but is independent from then on."""
        twin = copy.copy(self)
        twin.reader = self.reader.copy()
        twin.computer = None if self.computer is None else self.computer.copy()
        twin._writer = self._writer.copy()
        return twin

    @property
    def failure(self) -> FormatError | None:
        """If the bytes were wrong, this is the error that ended the log."""
        return self.reader.failure

    @property
    def last_frame(self) -> int | None:
        """Highest frame number so far."""
        return self._writer.last_frame

    @property
    def closed(self) -> bool:
        """Whether the logs are complete, so that they stay the same no matter which bytes follow."""
        return self.reader.closed

    @property
    def exhausted(self) -> bool:
        """Whether you can stop reading the file. At the end of the log, you can't yet, because the first bytes after it
        can still cause a diagnostic.
        """
        return self._fed_after_close or self.failure is not None

    def feed(self, data: bytes) -> Batch:
        """Take the next bytes of the file."""
        if self.ended and self.closed:
            self._fed_after_close = True
        self.bytes_read += len(data)
        return self._writer.write_events(self.reader.feed(data), self, self._write_other)

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
        """Decode at most `max_frames` more frames, in formats that only expand them when you ask for them."""
        return self._batch(self.reader.more(max_frames))

    def _batch(self, events: list[Event]) -> Batch:
        """Write the events into the logs, together with what is derived from them."""
        return self._writer.write_events(events, self, self._write_other)

    def _write_other(self, batch: Batch, event: Event) -> None:
        """Write an event that is the same in both logs."""
        if type(event) is GameStart:
            batch.start, self.game_id = event, event.game_id
            self._writer.begin_game(event.game_id)
            if self.computer is None:
                self.computer = self._make_stats(event)
        elif type(event) is GameEnd:
            for derived in [] if self.computer is None else self.computer.finish(event):
                self._write_other(batch, derived)
            batch.end, self.ended = event, True
        if type(event) in _NOTABLE or (type(event) is GameEvent and event.kind == highlight.KIND):
            batch.notable.append(event)
        content = content_of(event)
        if self.game_id is None:
            kind, body, _ = content
            batch.loose.append(LogMessage(kind, None, self.modes[0], 0, 0, body, None))
            return
        self._writer.write(content, event.end_offset)
