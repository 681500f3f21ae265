"""Turn events into the messages of a log, and give each of them its position.

The kernel does this for the frames of a live game. Without it, the class here does the same.
"""

from __future__ import annotations

import copy
from typing import Protocol, Self

from slpstream.formats.kernel import kernel
from slpstream.model.events import Frame, PackedEntry
from slpstream.model.messages import START, Content, FramesMode, LogMessage, content_of


class LogWriter(Protocol):
    """Writes the messages of one log."""

    def begin(self) -> list[LogMessage]:
        """Return a new list, to which the messages that you write from now on are appended."""

    def copy(self) -> Self:
        """Return a copy that is at the same position, but independent from then on."""

    def write(self, game_id: str | None, content: Content, offset: int, /) -> None:
        """Write the next message, with what `content_of` returns for its event.

        `offset` is the offset in the file just after the bytes that caused it.
        """

    def write_frame(self, game_id: str | None, frame: Frame, offset: int, /) -> None:
        """Write the message of a frame."""


class PythonLogWriter:
    """A `LogWriter` that doesn't need the kernel."""

    def __init__(self, mode: FramesMode) -> None:
        self._mode = mode
        self._offset, self._count = START
        self._messages: list[LogMessage] = []

    def begin(self) -> list[LogMessage]:
        """Return a new list for the next messages."""
        self._messages = []
        return self._messages

    def copy(self) -> Self:
        """Return a copy that is independent from now on."""
        twin = copy.copy(self)
        twin._messages = []
        return twin

    def write(self, game_id: str | None, content: Content, offset: int, /) -> None:
        """Write the next message."""
        if offset > self._offset:
            self._offset, self._count = offset, 0
        else:
            self._count += 1
        kind, body, frame = content
        self._messages.append(LogMessage(kind, game_id, self._mode, self._offset, self._count, body, frame))

    def write_frame(self, game_id: str | None, frame: Frame, offset: int, /) -> None:
        """Write the message of a frame."""
        self.write(game_id, content_of(frame), offset)


def new_log_writer(mode: FramesMode) -> LogWriter:
    """Create the writer of a log that is still empty."""
    return PythonLogWriter(mode) if kernel is None else kernel.LogWriter(mode, LogMessage, PackedEntry, content_of)
