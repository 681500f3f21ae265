"""Writes recordings to disk in a separate task, because the disk may be slower than the event loop.

If the disk doesn't accept bytes (because it is full, read-only or hanging), they wait in memory. In the meantime, we
pass them to the station directly, so it can continue to stream. When the disk works again, the file is completed, and
the station skips the bytes that it already has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import trio

from slpstream.parts.consoles.recording import Recording, RecordingFile, RecordingState

_WRITE_BYTES = 256 * 1024
_RETRY_SECONDS = 1.0
_HANGING_SECONDS = 1.0
"""If a write takes longer than this, pending bytes are passed to the station."""
_STOP_SECONDS = 2.0
"""How much time there is for a last write when the daemon stops."""
_MAX_UNFINISHED = 8
"""The limit for recordings that are waiting for the disk. If there are more, the pending bytes of the oldest ones are
dropped."""


InThread: TypeAlias = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs blocking work in a worker thread, and waits for it."""


class RecordingListener(Protocol):
    """Receives bytes and notices about the recordings of one station. The methods don't wait."""

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Take bytes of a file that aren't on disk. Returns the file offset up to which all bytes are known."""

    def recording_trouble(self, reason: str | None) -> None:
        """Note that writing has failed for this reason, or that it works again (`None`)."""

    def gap(self, path: Path | None, offset: int, reason: str) -> None:
        """Note that bytes of a game are missing or unusable."""


class DiskWriter:
    """Writes the recordings of one station, in the order in which they were added.

    One task runs `run`. The other methods are called in the event loop, and don't wait.
    """

    def __init__(self, listener: RecordingListener, in_thread: InThread) -> None:
        self._listener = listener
        self._in_thread = in_thread
        self._recordings: deque[Recording] = deque()
        self._error: str | None = None
        self._write_began: float | None = None
        self._work = trio.Event()

    @property
    def unwritten_bytes(self) -> int:
        """The number of pending bytes. You can read this from a worker thread."""
        return sum(len(recording.unwritten.pending) for recording in list(self._recordings))

    def read_unwritten(self, path: Path, offset: int, max_bytes: int) -> bytes:
        """Return bytes of a recording that aren't in its file yet.

        There may be none. You can call this from any thread.
        """
        for recording in list(self._recordings):
            if recording.file.path == path:
                return recording.unwritten.read(offset, max_bytes)
        return b""

    def add(self, recording: Recording) -> None:
        """Write another recording.

        If too many are waiting for the disk, the pending bytes of the oldest one are dropped.
        """
        self._recordings.append(recording)
        self.wake()
        waiting = [each for each in self._recordings if each.state is not RecordingState.ABANDONED]
        for older in waiting[:-_MAX_UNFINISHED]:
            reason = f"{len(older.unwritten.pending)} bytes were dropped before the disk accepted them"
            self._listener.gap(older.file.path, older.unwritten.written_bytes, reason)
            older.unwritten.pending.clear()
            older.state = RecordingState.ABANDONED

    def wake(self) -> None:
        """Write the recordings that have changed."""
        self._work.set()

    def stream_if_failing(self) -> None:
        """Pass pending bytes to the station if the last write has failed or is hanging."""
        if self._error is None:
            began = self._write_began
            if began is None or trio.current_time() - began < _HANGING_SECONDS:
                return
            self._set_error("the disk does not answer")
        self._stream_pending()

    def stream_unrecorded(self, recording: Recording, data: bytes) -> None:
        """Pass bytes to the station that won't be in any file."""
        self._stream_pending()
        offset = recording.size_bytes + recording.unrecorded_bytes
        self._listener.feed_unwritten(recording.file.path, offset, data)
        recording.unrecorded_bytes += len(data)

    async def run(self) -> None:
        """Write recordings to disk until cancelled."""
        try:
            while True:
                await self._work.wait()
                self._work = trio.Event()
                while not await self._write_all():
                    self._stream_pending()
                    await trio.sleep(_RETRY_SECONDS)
        finally:
            with trio.move_on_after(_STOP_SECONDS, shield=True):
                await self._write_all()
                files = [recording.file for recording in self._recordings]
                await self._in_thread(lambda: _close_all(files))

    def _stream_pending(self) -> None:
        """Pass pending bytes to the station. If it doesn't take some of them now, we offer them again later."""
        for recording in self._recordings:
            offset = max(recording.unwritten.written_bytes, recording.streamed_offset)
            while offset < recording.size_bytes:
                data = recording.unwritten.read(offset, _WRITE_BYTES)
                known = self._listener.feed_unwritten(recording.file.path, offset, data)
                if known < offset + len(data):
                    break
                offset += len(data)
            recording.streamed_offset = offset

    def _set_error(self, reason: str | None) -> None:
        if reason != self._error:
            self._error = reason
            self._listener.recording_trouble(reason)

    async def _write_all(self) -> bool:
        """Write all pending bytes. Returns False if the disk doesn't accept them."""
        for recording in list(self._recordings):
            while recording.has_work:
                try:
                    await self._write(recording)
                except OSError as error:
                    self._set_error(f"writing to the disk failed: {error.strerror or error}")
                    return False
            if recording.is_over:
                self._recordings.remove(recording)
                await self._in_thread(recording.file.close)
        self._set_error(None)
        return True

    async def _write(self, recording: Recording) -> None:
        unwritten = recording.unwritten
        data = bytes(unwritten.pending[:_WRITE_BYTES])
        last = recording.state is RecordingState.CLOSING and len(data) == len(unwritten.pending)
        point = recording.point
        self._write_began = trio.current_time()
        try:
            written: int = await self._in_thread(lambda: recording.write(data, unwritten.written_bytes, point, last))
        finally:
            self._write_began = None
        unwritten.mark_written(written)
        if recording.point is point:
            recording.point = None
        if last and written == len(data):
            recording.state = RecordingState.DONE


def _close_all(files: Sequence[RecordingFile]) -> None:
    for file in files:
        with suppress(OSError):
            file.close()
