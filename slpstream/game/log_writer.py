"""Turn events into the messages of the logs of a game, and give each of them its position.

The kernel does this sixty times a second. Without it, the class here does the same.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

from slpstream.formats.interface import StatsComputer
from slpstream.formats.kernel import kernel
from slpstream.model.events import Event, Frame, FrameFinalized, PackedEntry
from slpstream.model.messages import START, Content, FramesMode, LogMessage, content_of

_ORDER: tuple[FramesMode, ...] = ("live", "finalized")

Written = tuple[Mapping[FramesMode, list[LogMessage]], int, int, int | None]
"""What some events have led to: the messages of each log, the number of frames, how many of these were sent again, and
the highest frame number."""


class Derives(Protocol):
    """Has what derives events from final frames."""

    @property
    def computer(self) -> StatsComputer | None:
        """Computes events from final frames. This is `None` if there's nothing to compute."""


class LogWriter(Protocol):
    """Writes the messages of a game, for each `frames` mode that it was created with."""

    def copy(self) -> Self:
        """Return a copy that is at the same positions, but independent from then on."""

    def begin_game(self, game_id: str, /) -> None:
        """Give the messages from now on the id of their game."""

    def write_events(
        self, events: list[Event], deriver: Derives, write_other: Callable[[Any, Event], object], about: Any, /
    ) -> Written:
        """Begin a new batch with the messages of these events.

        A frame that has become complete is written to the live log, and also which frames have become final. Each final
        frame is written to the finalized log. After that, `write_other` is called with `about` and each event that the
        computer of `deriver` derives from it. It is also called for all events that aren't about frames, and can call
        `write`.
        """

    def write(self, content: Content, offset: int, /) -> None:
        """Write a message to all logs, with what `content_of` returns for its event.

        `offset` is the offset in the file just after the bytes that caused it.
        """


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


class PythonLogWriter:
    """A `LogWriter` that doesn't need the kernel."""

    def __init__(self, modes: Sequence[FramesMode]) -> None:
        self._logs = {mode: _Log(mode) for mode in _ORDER if mode in modes}
        self._game_id: str | None = None

    def copy(self) -> Self:
        """Return a copy that is independent from then on."""
        twin = copy.copy(self)
        twin._logs = {mode: copy.copy(log) for mode, log in self._logs.items()}
        return twin

    def begin_game(self, game_id: str, /) -> None:
        """Give the messages from now on the id of their game."""
        self._game_id = game_id

    def write_events(
        self, events: list[Event], deriver: Derives, write_other: Callable[[Any, Event], object], about: Any, /
    ) -> Written:
        """Begin a new batch with the messages of these events."""
        for log in self._logs.values():
            log.messages = []
        frames: list[Frame] = []
        for event in events:
            if type(event) is Frame:
                frames.append(event)
                self._write_to("live", event, event.end_offset)
            elif type(event) is FrameFinalized:
                self._write_to("live", event, event.end_offset)
                for frame in event.frames:
                    self._write_to("finalized", frame, event.end_offset)
                    if deriver.computer is not None:
                        for derived in deriver.computer.feed(frame, event.end_offset):
                            write_other(about, derived)
            else:
                write_other(about, event)
        resent = sum(frame.revision > 0 for frame in frames)
        highest = max((frame.number for frame in frames), default=None)
        return {mode: log.messages for mode, log in self._logs.items()}, len(frames), resent, highest

    def write(self, content: Content, offset: int, /) -> None:
        """Write a message to all logs."""
        for log in self._logs.values():
            log.write(self._game_id, content, offset)

    def _write_to(self, mode: FramesMode, event: Frame | FrameFinalized, offset: int) -> None:
        log = self._logs.get(mode)
        if log is not None:
            log.write(self._game_id, content_of(event), offset)


_TYPES: tuple[Any, ...] = (LogMessage, PackedEntry, Frame, FrameFinalized, content_of)


def new_log_writer(modes: Sequence[FramesMode]) -> LogWriter:
    """Create the writer of logs that are still empty."""
    if kernel is None:
        return PythonLogWriter(modes)
    writer: LogWriter = kernel.LogWriter(tuple(modes), _TYPES)
    return writer
