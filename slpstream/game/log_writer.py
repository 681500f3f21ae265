"""Turn events into the messages of the logs of a game, and give each of them its position.

The kernel does this sixty times a second. Without it, the class here does the same.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Protocol, Self

from slpstream.formats.kernel import kernel
from slpstream.model.events import Frame, FrameFinalized, PackedEntry
from slpstream.model.messages import START, Content, FramesMode, LogMessage, content_of

_ORDER: tuple[FramesMode, ...] = ("live", "finalized")


class LogWriter(Protocol):
    """Writes the messages of a game, for each `frames` mode that it was created with."""

    def begin(self) -> dict[FramesMode, list[LogMessage]]:
        """Return a new list for each log, to which the messages that you write from now on are appended.

        The live log comes first.
        """

    def copy(self) -> Self:
        """Return a copy that is at the same positions, but independent from then on. Call its `begin` first."""

    def write(self, game_id: str | None, content: Content, offset: int, /) -> None:
        """Write a message to all logs, with what `content_of` returns for its event.

        `offset` is the offset in the file just after the bytes that caused it.
        """

    def write_frame(self, game_id: str | None, frame: Frame, /) -> None:
        """Write a frame that has become complete, which only the live log has."""

    def write_finalized(self, game_id: str | None, event: FrameFinalized, /) -> None:
        """Write which frames have become final, which only the live log has."""

    def write_final_frame(self, game_id: str | None, frame: Frame, offset: int, /) -> None:
        """Write a frame that has become final, which only the finalized log has."""


class _Log:
    """One of the logs."""

    def __init__(self, mode: FramesMode) -> None:
        self.mode = mode
        self.messages: list[LogMessage] = []
        self._offset, self._count = START

    def write(self, game_id: str | None, content: Content, offset: int) -> None:
        if offset > self._offset:
            self._offset, self._count = offset, 0
        else:
            self._count += 1
        kind, body, frame = content
        self.messages.append(LogMessage(kind, game_id, self.mode, self._offset, self._count, body, frame))


class PythonLogWriter:
    """A `LogWriter` that doesn't need the kernel."""

    def __init__(self, modes: Sequence[FramesMode]) -> None:
        self._logs = {mode: _Log(mode) for mode in _ORDER if mode in modes}

    def begin(self) -> dict[FramesMode, list[LogMessage]]:
        """Return a new list for each log."""
        for log in self._logs.values():
            log.messages = []
        return {mode: log.messages for mode, log in self._logs.items()}

    def copy(self) -> Self:
        """Return a copy that is independent from then on."""
        twin = copy.copy(self)
        twin._logs = {mode: copy.copy(log) for mode, log in self._logs.items()}
        return twin

    def write(self, game_id: str | None, content: Content, offset: int, /) -> None:
        """Write a message to all logs."""
        for log in self._logs.values():
            log.write(game_id, content, offset)

    def write_frame(self, game_id: str | None, frame: Frame, /) -> None:
        """Write a frame that has become complete."""
        self._write_to("live", game_id, frame, frame.end_offset)

    def write_finalized(self, game_id: str | None, event: FrameFinalized, /) -> None:
        """Write which frames have become final."""
        self._write_to("live", game_id, event, event.end_offset)

    def write_final_frame(self, game_id: str | None, frame: Frame, offset: int, /) -> None:
        """Write a frame that has become final."""
        self._write_to("finalized", game_id, frame, offset)

    def _write_to(self, mode: FramesMode, game_id: str | None, event: Frame | FrameFinalized, offset: int) -> None:
        log = self._logs.get(mode)
        if log is not None:
            log.write(game_id, content_of(event), offset)


def new_log_writer(modes: Sequence[FramesMode]) -> LogWriter:
    """Create the writer of logs that are still empty."""
    if kernel is None:
        return PythonLogWriter(modes)
    writer: LogWriter = kernel.LogWriter(tuple(modes), LogMessage, PackedEntry, content_of)
    return writer
