"""Base classes for formats whose files the game writes in one go.

Such a file cannot be read before it is complete: lengths depend on each other, checksums cover everything, and the game
id is a hash of the whole file. So `feed` collects the bytes and `finish` reads them. The result is a `Recording`, whose
frames are made on demand by `more`: a run of inputs stays a run until its frames are taken, and a checkpoint is one
number.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from slpstream.model.errors import FormatError
from slpstream.model.events import Diagnostic, Event


class Recording(ABC):
    """A decoded file: the events before the frames, the frames, and the events after them."""

    head: Sequence[Event] = ()
    """Events before the frames: Game Start, diagnostics, game events."""
    tail: Sequence[Event] = ()
    """Events after the frames: game events, Game End, metadata."""

    @property
    @abstractmethod
    def frame_count(self) -> int:
        """The number of frames. Reading it makes no frame."""

    @abstractmethod
    def frame_events(self, first: int, stop: int) -> list[Event]:
        """The events of the frames with the indices from `first` to `stop - 1`.

        These are, for each frame in order, its `Frame`, its `FrameFinalized`, and the game events in it.
        """


class WholeFileReader(ABC):
    """Reads one game of such a format: `feed` collects bytes, `finish` decodes them, `more` makes the frames."""

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

        Raises `FormatError` for a file that cannot be decoded. Lesser faults become a `Diagnostic` in the head or tail.
        """

    @property
    def recording(self) -> Recording | None:
        """The decoded file; `None` before `finish`, and after an error."""
        return self._recording

    @property
    def pending(self) -> bool:
        """Whether `more` has further events to return."""
        return self._recording is not None and not self._tail_taken

    @property
    def closed(self) -> bool:
        """Whether no further byte can change the log."""
        return self.failure is not None or (self._recording is not None and self._tail_taken)

    def copy(self) -> Self:
        """An independent reader in the same state. The decoded file is shared."""
        twin = copy.copy(self)
        twin._data = bytearray(self._data)
        return twin

    def feed(self, data: bytes) -> list[Event]:
        """Collect the next bytes of the file. Returns no events, except the diagnostic for a file that is too long."""
        if self.failure is not None or self._recording is not None:
            return []
        self._data += data
        if len(self._data) > self.max_bytes:
            return self._fail(FormatError(f"the file is longer than {self.max_bytes} bytes", offset=self.max_bytes))
        return []

    def rewrite(self, header: bytes) -> list[Event]:
        """Always empty: the file does not change after it was written."""
        return []

    def finish(self) -> list[Event]:
        """Decode the file, which is complete now, and return the events before its frames."""
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
        """The events of at most `max_frames` more frames. The last ones come with the events after the frames."""
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
        """Always empty: such formats have no commands."""
        return {}

    def _fail(self, error: FormatError) -> list[Event]:
        self.failure = error.with_traceback(None)  # a traceback would keep this reader alive
        self._data = bytearray()
        return [Diagnostic(error.offset, "error", error.code, error.offset, error.what)]
