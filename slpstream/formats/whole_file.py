"""Formats whose files are written in one go: the bytes are gathered, read as a whole when no more will come, and the
frames are expanded as they are taken.

Such a file says nothing before it is complete: lengths stand against each other, checksums cover all of it, the game
id is a hash of it. So `feed` only gathers, and `finish` reads. What was read is a `Recording`, whose frames are asked
for by their index: a run of inputs stays a run until somebody takes its frames, and a checkpoint is one number.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self

from slpstream.model.errors import FormatError
from slpstream.model.events import Diagnostic, Event


class Recording(ABC):
    """One file, read: what comes before the frames, the frames, what comes after them."""

    head: Sequence[Event] = ()
    """Game Start, and the diagnostics and game events that precede the frames."""
    tail: Sequence[Event] = ()
    """What follows the frames: game events, Game End, metadata."""

    @property
    @abstractmethod
    def frame_count(self) -> int:
        """How many frames there are; none is made by asking."""

    @abstractmethod
    def frame_events(self, first: int, stop: int) -> list[Event]:
        """The events of the frames with index `first` to `stop - 1`, in order: each `Frame`, its `FrameFinalized`, and
        what happened in it."""


class WholeFileReader(ABC):
    """One game of a format that is written in one go: `feed` gathers, `finish` reads, `more` expands."""

    rewritable_bytes: ClassVar[int] = 0
    max_bytes: ClassVar[int] = 4 << 20
    """A larger file is refused before it is kept."""

    def __init__(self) -> None:
        self.failure: FormatError | None = None
        """What ended the log, when the bytes were wrong."""
        self._data = bytearray()
        self._recording: Recording | None = None
        self._next = 0
        self._tail_taken = False

    @abstractmethod
    def read(self, data: bytes) -> Recording:
        """A complete file. Raises `FormatError`; what is merely odd is a `Diagnostic` in the head or the tail."""

    @property
    def recording(self) -> Recording | None:
        """What was read, once `finish` was called."""
        return self._recording

    @property
    def pending(self) -> bool:
        """There are events that `more` has not returned yet."""
        return self._recording is not None and not self._tail_taken

    @property
    def closed(self) -> bool:
        """Nothing that can still be appended would change the log."""
        return self.failure is not None or (self._recording is not None and self._tail_taken)

    def copy(self) -> Self:
        """An independent reader at the same place; what was read is shared."""
        twin = copy.copy(self)
        twin._data = bytearray(self._data)
        return twin

    def feed(self, data: bytes) -> list[Event]:
        """The next bytes of the file. Nothing is certain before the last one."""
        if self.failure is not None or self._recording is not None:
            return []
        self._data += data
        if len(self._data) > self.max_bytes:
            return self._fail(FormatError(f"the file is longer than {self.max_bytes} bytes", offset=self.max_bytes))
        return []

    def rewrite(self, header: bytes) -> list[Event]:
        """No byte of such a file changes after it was written."""
        return []

    def finish(self) -> list[Event]:
        """No more bytes will come: the file is read, and what precedes its frames is returned."""
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
        """The events of at most `max_frames` further frames; behind the last frame, what follows it."""
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
        """There are no commands."""
        return {}

    def _fail(self, error: FormatError) -> list[Event]:
        self.failure = error.with_traceback(None)  # which would hold this reader
        self._data = bytearray()
        return [Diagnostic(error.offset, "error", error.code, error.offset, error.what)]
