"""Base classes for formats whose files are written by the game in one go.

You can't read such a file before it is complete, because lengths depend on each other, checksums cover everything, and
the game id is a hash of the whole file. That's why `feed` only collects the bytes, and `finish` reads them. The result
is a `Recording`. Its frames are made by `more` when they're needed, so a run of inputs stays a run until then, and a
checkpoint is just a number.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from slpstream.model.errors import FormatError
from slpstream.model.events import Diagnostic, Event


class Recording(ABC):
    """A decoded file, consisting of the events before the frames, the frames, and the events after them."""

    head: Sequence[Event] = ()
    """Events before the frames: Game Start, diagnostics, game events."""
    tail: Sequence[Event] = ()
    """Events after the frames: game events, Game End, metadata."""

    @property
    @abstractmethod
    def frame_count(self) -> int:
        """The number of frames. You can read it without making any of them."""

    @abstractmethod
    def frame_events(self, first: int, stop: int) -> list[Event]:
        """Make the events of the frames with indices from `first` to `stop - 1`.

        For each frame in order, these are its `Frame`, its `FrameFinalized`, and the game events that happen in it.
        """


class WholeFileReader(ABC):
    """Reads one game: `feed` collects the bytes, `finish` decodes them, and `more` makes the frames.

    If you write such a format, inherit from this class and implement `read`.
    """

    rewritable_bytes: ClassVar[int] = 0
    max_bytes: ClassVar[int] = 4 << 20
    """Larger files are refused."""

    def __init__(self) -> None:
        self.failure: FormatError | None = None
        """The error that ended the log, if the bytes were wrong."""
        self._data = bytearray()
        self._recording: Recording | None = None
        self._next = 0
        self._tail_taken = False

    @abstractmethod
    def read(self, data: bytes) -> Recording:
        """Decode a complete file.

        You should raise `FormatError` if it can't be decoded. If the problem is less serious, put a `Diagnostic` into
        the head or tail.
        """

    @property
    def recording(self) -> Recording | None:
        """The decoded file. It is `None` before `finish` is called, and also if there was an error."""
        return self._recording

    @property
    def pending(self) -> bool:
        """Whether you will get more events if you call `more`."""
        return self._recording is not None and not self._tail_taken

    @property
    def closed(self) -> bool:
        """Whether the log is complete, so that it stays the same no matter which bytes follow."""
        return self.failure is not None or (self._recording is not None and self._tail_taken)

    def copy(self) -> Self:
        """Return a copy of this reader that is independent from now on. Both share the decoded file."""
        twin = copy.copy(self)
        twin._data = bytearray(self._data)
        return twin

    def feed(self, data: bytes) -> list[Event]:
        """Collect the next bytes of the file. Unless the file is too long, this doesn't return any events."""
        if self.failure is not None or self._recording is not None:
            return []
        self._data += data
        if len(self._data) > self.max_bytes:
            return self._fail(FormatError(f"the file is longer than {self.max_bytes} bytes", offset=self.max_bytes))
        return []

    def rewrite(self, header: bytes) -> list[Event]:
        """Do nothing, because such a file doesn't change after it was written."""
        return []

    def finish(self) -> list[Event]:
        """Decode the file, which must be complete now, and return the events that come before its frames."""
        if self.failure is not None or self._recording is not None:
            return []
        try:
            recording = self.read(bytes(self._data))
        except FormatError as error:
            return self._fail(error)
        self._data = bytearray()
        self._recording = recording
        return list(recording.head)

    def more(self, max_frames: int) -> list[Event]:
        """Return the events of at most `max_frames` more frames.

        After the last frame, you also get the events that follow it.
        """
        recording = self._recording
        if recording is None or self._tail_taken:
            return []
        first, self._next = self._next, min(self._next + max_frames, recording.frame_count)
        events = recording.frame_events(first, self._next)
        if self._next == recording.frame_count:
            self._tail_taken = True
            events = [*events, *recording.tail]
        return events

    def take_command_counts(self) -> dict[str, int]:
        """Return nothing, because these formats don't have commands."""
        return {}

    def _fail(self, error: FormatError) -> list[Event]:
        self.failure = error.with_traceback(None)  # a traceback would keep this reader alive
        self._data = bytearray()
        return [Diagnostic(error.offset, "error", error.code, error.offset, error.what)]
