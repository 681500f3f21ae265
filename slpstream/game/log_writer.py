"""Turn events into the messages of the logs of a game, and give each of them its position.

The kernel does this sixty times a second. Without it, the class here does the same.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import msgspec

from slpstream.formats.kernel import kernel
from slpstream.model.events import Event, Frame, FrameFinalized, GameEnd, GameStart, PackedEntry
from slpstream.model.messages import START, Content, FramesMode, LogMessage, content_of

MODES: tuple[FramesMode, ...] = ("live", "finalized")
"""All modes, in the order in which a message is written to their logs."""


class Batch(msgspec.Struct):
    """The messages and notable events that you get from one call to a pipeline."""

    logs: Mapping[FramesMode, list[LogMessage]]
    """The new messages of each mode's log."""
    loose: list[LogMessage] = msgspec.field(default_factory=list)
    """Diagnostics from before Game Start, which belong to no game and have no cursor."""
    start: GameStart | None = None
    end: GameEnd | None = None
    frames: int = 0
    """Number of `Frame` events, including revisions after a rollback."""
    resent_frames: int = 0
    """Number of revisions among these."""
    notable: list[Event] = msgspec.field(default_factory=list)
    """The events about the game or its bytes: Game Start, highlights, stats, Game End, metadata, diagnostics."""

    def messages(self, mode: FramesMode) -> list[LogMessage]:
        """Return all messages of one mode in order. They begin with the diagnostics that don't belong to any game."""
        return [*self.loose, *self.logs[mode]] if self.loose else self.logs[mode]


class _Log:
    """One of the logs."""

    def __init__(self, mode: FramesMode) -> None:
        self._mode = mode
        self.messages: list[LogMessage] = []
        self._offset, self._count = START

    def write(self, game_id: str | None, content: Content, offset: int) -> None:
        if offset > self._offset:
            self._offset, self._count = offset, 0
        else:
            self._count += 1
        kind, body, frame = content
        self.messages.append(LogMessage(kind, game_id, self._mode, self._offset, self._count, body, frame))


class LogWriter:
    """Writes the messages of a game, for each `frames` mode that it was created with."""

    def __init__(self, modes: Sequence[FramesMode]) -> None:
        self._logs = {mode: _Log(mode) for mode in MODES if mode in modes}
        self._game_id: str | None = None
        self.last_frame: int | None = None
        """Highest frame number so far."""

    def copy(self) -> Self:
        """Return a copy that is at the same positions, but independent from then on."""
        twin = copy.copy(self)
        twin._logs = {mode: copy.copy(log) for mode, log in self._logs.items()}
        return twin

    def begin_game(self, game_id: str, /) -> None:
        """Give the messages from now on the id of their game."""
        self._game_id = game_id

    def write_events(self, events: list[Event], pipeline: Any, write_other: Callable[[Batch, Event], Any], /) -> Batch:
        """Return a new batch with the messages of these events.

        A frame that has become complete is written to the live log, and also which frames have become final. Each final
        frame is written to the finalized log. After that, `write_other` gets the batch and each event that the
        `computer` of `pipeline` (a `StatsComputer` or `None`) derives from it, and also all events that aren't about
        frames. It can call `write`.
        """
        for log in self._logs.values():
            log.messages = []
        batch = Batch({mode: log.messages for mode, log in self._logs.items()})
        for event in events:
            if type(event) is Frame:
                batch.frames += 1
                batch.resent_frames += event.revision > 0
                self.last_frame = event.number if self.last_frame is None else max(self.last_frame, event.number)
                self._write_to("live", event, event.end_offset)
            elif type(event) is FrameFinalized:
                self._write_to("live", event, event.end_offset)
                for frame in event.frames:
                    self._write_to("finalized", frame, event.end_offset)
                    if pipeline.computer is not None:
                        for derived in pipeline.computer.feed(frame, event.end_offset):
                            write_other(batch, derived)
            else:
                write_other(batch, event)
        return batch

    def write(self, content: Content, offset: int, /) -> None:
        """Write a message to all logs, with what `content_of` returns for its event.

        `offset` is the offset in the file just after the bytes that caused it.
        """
        for log in self._logs.values():
            log.write(self._game_id, content, offset)

    def _write_to(self, mode: FramesMode, event: Frame | FrameFinalized, offset: int) -> None:
        log = self._logs.get(mode)
        if log is not None:
            log.write(self._game_id, content_of(event), offset)


def new_log_writer(modes: Sequence[FramesMode]) -> LogWriter:
    """Create the writer of logs that are still empty. With the kernel, it is the kernel's."""
    if kernel is None:
        return LogWriter(modes)
    types = LogMessage, PackedEntry, Frame, FrameFinalized, Batch, content_of
    writer: LogWriter = kernel.LogWriter(tuple(modes), types)
    return writer
