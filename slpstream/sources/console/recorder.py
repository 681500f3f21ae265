"""Record the games of a console as files in its station's folder, which the station tails like any others.

The file is the log, so it must stay a valid replay whatever happens to the connection, and each event must be in it
once. Only whole events are written. A position in a game is the number of bytes since its Event Payloads began,
including lost ones.
A console that sends a game again from the beginning (because it no longer knows us, or we were restarted) is recognised
by its Game Start, and bytes that are already recorded are skipped. A gap does not end a recording: it continues with
the next whole event, because stocks, percents and the end of the game are worth having. The metadata lists where bytes
are missing, and the listener is notified at once. If another game begins, a recording without Game End is closed as it
is.

The disk may be slower than the event loop, so a separate task writes, in a thread. Bytes that the disk does not take
(because it is full, read-only or hanging) wait in memory up to a limit and are passed to the station directly, which
goes on streaming. Once the disk works again, the file is completed, and the station skips the bytes that it has.
Beyond the limit, the rest of that game is streamed but not recorded, and the listener is notified.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import trio

from slpstream.sources.console.event_framer import (
    FramerOutput,
    GameBegan,
    GameBroken,
    GameEvents,
    GameFramer,
    SkippedBytes,
)
from slpstream.sources.console.recording import (
    LastRecording,
    OpenFile,
    Recording,
    RecordingFile,
    ResumePoint,
    find_last_recording,
)

_WRITE_BYTES = 256 * 1024
_RETRY_SECONDS = 1.0
_HANGING_SECONDS = 1.0
"""After a write has taken this long, pending bytes are passed to the station."""
_STOP_SECONDS = 2.0
"""Time for a last write when the daemon stops."""
_MAX_OPEN = 8
"""The most recordings that wait for the disk at the same time. Pending bytes of older ones are dropped."""


InThread = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs blocking work in a worker thread, and waits for it."""


class RecordingListener(Protocol):
    """Receives bytes and notices about the recordings of one station. All methods return at once."""

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Take bytes of a file that are not on disk. Returns the file offset up to which all bytes are known."""

    def recording_trouble(self, reason: str | None) -> None:
        """Writing has failed for this reason, or works again (`None`)."""

    def gap(self, path: Path | None, offset: int, reason: str) -> None:
        """Bytes of a game are missing or unusable."""


class Recorder:
    """Records the games of one station.

    One task runs `run`. Everything else is called in the event loop and, except for `prepare`, returns at once.
    """

    def __init__(
        self,
        folder: Path,
        listener: RecordingListener,
        *,
        played_on: str,
        max_unwritten_bytes: int,
        in_thread: InThread,
        wall_clock: Callable[[], float],
        open_file: OpenFile = RecordingFile,
    ) -> None:
        """`played_on` goes into the metadata. `max_unwritten_bytes` limits the pending bytes of a recording."""
        self.nick = ""
        """The console's name, for the metadata."""
        self._folder = folder
        self._listener = listener
        self._played_on = played_on
        self._max_unwritten_bytes = max_unwritten_bytes
        self._in_thread = in_thread
        self._wall_clock = wall_clock
        self._open_file = open_file
        self._framer = GameFramer()
        self._recording: Recording | None = None
        self._open: deque[Recording] = deque()
        self._head: bytes | None = None
        """Event Payloads and Game Start of the newest game."""
        self._position = 0
        """Position in the game of the next byte that the framer returns."""
        self._recorded = 0
        """Position up to which the game is recorded."""
        self._positions_known = True
        """False after an unknown number of bytes was lost."""
        self._lost_bytes = 0
        self._saved_point: tuple[int, int, int] | None = None
        self._disk_error: str | None = None
        self._stem = ""
        self._same_stem = 0
        """How many recordings in a row have had this stem."""
        self._write_began: float | None = None
        self._work = trio.Event()

    async def prepare(self) -> ResumePoint | None:
        """Find the last recording of an earlier daemon, to continue it, or to skip its game if it is sent again.

        Returns the point from which to continue, if it is known; its `base_cursor` is the cursor to ask for.
        """
        last = await self._in_thread(lambda: find_last_recording(self._folder, _iso))
        if last is None or (last.closed and not last.ended):
            return None
        if not last.closed:
            file = self._open_file(last.path)
            try:
                await self._in_thread(file.reopen)
            except OSError:
                return None
            self._recording = Recording.adopt(file, last)
            self._open.append(self._recording)
        return self._continue(last)

    def _continue(self, last: LastRecording) -> ResumePoint | None:
        self._head, self._framer = last.head, last.framer
        point = last.point
        self._lost_bytes = 0 if point is None else point.lost_bytes
        # If the file ends in the middle of an event, the beginning of that event is both in the file and in the framer.
        self._recorded = last.raw_bytes + self._lost_bytes
        self._position = self._recorded - last.framer.buffered_bytes
        if point is None:
            return None
        self._saved_point = (point.token, point.base_cursor, point.lost_bytes)
        return ResumePoint(point.file, point.token, point.base_cursor + self._recorded, 0)

    @property
    def unwritten_bytes(self) -> int:
        """Number of pending bytes. May be read from a worker thread."""
        return sum(len(recording.pending) for recording in list(self._open))

    def read_unwritten(self, path: Path, offset: int, max_bytes: int) -> bytes:
        """Bytes of a recording that are not in its file yet, possibly none. May be called from any thread."""
        recording = next((recording for recording in list(self._open) if recording.file.path == path), None)
        return b"" if recording is None else recording.read(offset, max_bytes)

    def restart(self) -> None:
        """The next bytes begin at the start of a game or between two games, not where the source stopped."""
        self._framer.restart()

    def gap(self, lost_bytes: int | None) -> None:
        """Bytes are missing before the next ones; `None` if it is unknown how many."""
        recording = self._recording
        if recording is None or recording.closing or not self._framer.in_game:
            self._framer.restart()
            return
        lost = None if lost_bytes is None else lost_bytes + self._framer.gap()
        if recording.has_partial_event:
            self._abandon(recording)
            self._framer.restart()
            return
        self._listener.gap(recording.file.path, recording.size_bytes, f"{_bytes(lost)} lost on the way")
        if lost is None:
            self._framer.gap()
            self._positions_known = False
        else:
            self._position += lost
        recording.add_gap(lost)

    def receive(self, data: bytes, *, token: int = 0, end_cursor: int | None = None) -> None:
        """Take the next bytes. `end_cursor` is the console's cursor after them, if it has cursors."""
        for output in self._framer.feed(data):
            self._process(output)
        if end_cursor is not None:
            self._update_resume_point(token, end_cursor - self._framer.buffered_bytes - self._position)
        if self._disk_error is not None or self._is_disk_hanging():
            self._stream_pending()

    def close_ended_game(self) -> None:
        """Close the recording if its game has ended. Call this when no bytes have come for a moment."""
        recording = self._recording
        if recording is not None and recording.ended:
            self._close(recording)

    def _process(self, output: FramerOutput) -> None:
        recording = self._recording
        if isinstance(output, GameEvents):
            self._add_events(output)
        elif isinstance(output, GameBegan):
            self._begin(output.head)
        elif isinstance(output, SkippedBytes):
            self._position += output.size_bytes
            if recording is not None and recording.extend_gap(output.size_bytes):
                return  # part of a gap that was reported already
            path, offset = (None, 0) if recording is None else (recording.file.path, recording.size_bytes)
            self._listener.gap(path, offset, f"{output.size_bytes} bytes are of no use: {output.reason}")
        elif isinstance(output, GameBroken) and recording is not None:
            self._listener.gap(recording.file.path, recording.size_bytes, f"the game cannot go on: {output.reason}")
            self._close(recording)
            self._head = None

    def _begin(self, head: bytes) -> None:
        recording = self._recording
        self._position = len(head)
        if head == self._head and self._positions_known:
            return  # the same game again
        if recording is not None:
            self._close(recording)
        self._head, self._recorded, self._positions_known = head, len(head), True
        self._lost_bytes, self._saved_point = 0, None
        now = self._wall_clock()
        self._recording = Recording(self._open_file(self._folder / self._name(now)), head, started_at=_iso(now))
        self._open.append(self._recording)
        self._work.set()
        waiting = [recording for recording in self._open if not recording.abandoned]
        for older in waiting[:-_MAX_OPEN]:
            self._drop_pending(older)

    def _name(self, unix_seconds: float) -> str:
        """Name a recording after its start. The name is unique even before the file exists.

        Two games of one second need different names at once, because bytes that are not on disk are identified by the
        file's path.
        """
        stem = datetime.fromtimestamp(unix_seconds, UTC).astimezone().strftime("Game_%Y%m%dT%H%M%S")
        self._same_stem = self._same_stem + 1 if stem == self._stem else 1
        self._stem = stem
        return f"{stem}.slp" if self._same_stem == 1 else f"{stem}-{self._same_stem}.slp"

    def _add_events(self, events: GameEvents) -> None:
        start, self._position = self._position, self._position + len(events.data)
        recording = self._recording
        if recording is None or recording.closing or self._position <= self._recorded:
            return
        new = events.data if start >= self._recorded else events.data[self._recorded - start :]
        self._lost_bytes += max(0, start - self._recorded)
        self._recorded = self._position
        recording.ended, recording.last_frame, recording.characters = events.ended, events.frame, events.characters
        if recording.stream_only:
            self._stream_unrecorded(recording, new)
            return
        recording.append_events(new)
        self._work.set()
        if len(recording.pending) > self._max_unwritten_bytes:
            recording.stream_only = True
            reason = (
                f"more than {self._max_unwritten_bytes} bytes wait for the disk: the rest of the game is streamed only"
            )
            self._listener.gap(recording.file.path, recording.size_bytes, reason)

    def _close(self, recording: Recording) -> None:
        if recording.closing:
            return
        if recording.has_partial_event or (recording.untouched and not recording.ended):
            self._abandon(recording)
            return
        element = recording.close(played_on=self._played_on, nick=self.nick)
        if recording.stream_only:
            self._stream_unrecorded(recording, element)
        self._work.set()

    def _abandon(self, recording: Recording) -> None:
        """Leave a file as the earlier daemon left it, because the bytes that continue it have not come."""
        recording.abandoned = True
        self._recording = self._head = None
        self._work.set()

    def _drop_pending(self, recording: Recording) -> None:
        """Give up a recording, because too many recordings wait for the disk."""
        reason = f"{len(recording.pending)} bytes were never taken by the disk"
        self._listener.gap(recording.file.path, recording.written_bytes, reason)
        recording.pending.clear()
        recording.abandoned = True

    def _update_resume_point(self, token: int, base_cursor: int) -> None:
        """Have the resume point saved if it has changed."""
        recording = self._recording
        if recording is None or recording.closing or not self._positions_known or base_cursor < 0:
            return
        point = (token, base_cursor, self._lost_bytes)
        if point != self._saved_point:
            self._saved_point = point
            recording.point = ResumePoint("", *point)
            self._work.set()

    def _is_disk_hanging(self) -> bool:
        began = self._write_began
        if began is None or trio.current_time() - began < _HANGING_SECONDS:
            return False
        self._set_disk_error("the disk does not answer")
        return True

    def _stream_pending(self) -> None:
        """Pass pending bytes to the station. Bytes that it does not take now are offered again."""
        for recording in self._open:
            offset = max(recording.written_bytes, recording.streamed_offset)
            while offset < recording.size_bytes:
                data = recording.read(offset, _WRITE_BYTES)
                known = self._listener.feed_unwritten(recording.file.path, offset, data)
                if known < offset + len(data):
                    break
                offset += len(data)
            recording.streamed_offset = offset

    def _stream_unrecorded(self, recording: Recording, data: bytes) -> None:
        """Pass bytes to the station that will be in no file."""
        self._stream_pending()
        offset = recording.size_bytes + recording.unrecorded_bytes
        self._listener.feed_unwritten(recording.file.path, offset, data)
        recording.unrecorded_bytes += len(data)

    def _set_disk_error(self, reason: str | None) -> None:
        if reason != self._disk_error:
            self._disk_error = reason
            self._listener.recording_trouble(reason)

    async def run(self) -> None:
        """Write recordings to disk, until cancelled."""
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
                files = [recording.file for recording in self._open]
                await self._in_thread(lambda: _close_all(files))

    async def _write_all(self) -> bool:
        """Write everything that is pending. Returns false if the disk does not take it."""
        for recording in list(self._open):
            while recording.has_work:
                try:
                    await self._write(recording)
                except OSError as error:
                    self._set_disk_error(f"writing to the disk failed: {error.strerror or error}")
                    return False
            if recording.done or recording.abandoned:
                self._open.remove(recording)
                if recording is self._recording:
                    self._recording = None
                await self._in_thread(recording.file.close)
        self._set_disk_error(None)
        return True

    async def _write(self, recording: Recording) -> None:
        data = bytes(recording.pending[:_WRITE_BYTES])
        last = recording.closing and len(data) == len(recording.pending)
        point = recording.point
        self._write_began = trio.current_time()
        try:
            written: int = await self._in_thread(lambda: recording.write(data, recording.written_bytes, point, last))
        finally:
            self._write_began = None
        recording.mark_written(written)
        if recording.point is point:
            recording.point = None
        recording.done = last and written == len(data)


def _close_all(files: Sequence[RecordingFile]) -> None:
    for file in files:
        with suppress(OSError):
            file.close()


def _bytes(count: int | None) -> str:
    return "nobody knows how many bytes are" if count is None else f"{count} bytes are"


def _iso(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
