"""Records the games of a console as files in the folder of its station, which tails them like any others.

The file is the log. Whatever happens to the connection, it must stay a valid replay, and contain each event once. This
is why we only write whole events. A position in a game is the number of bytes since its Event Payloads began, including
those that were lost. A console can send a game again from the beginning, because it no longer knows our token or
because the daemon was restarted. We recognise such a game by its Game Start, and skip the bytes that are already
recorded. A gap doesn't end a recording. It continues with the next whole event, because the stocks, the percents and
the end of the game are still useful. The metadata lists where bytes are missing, and the listener is notified
immediately. If another game begins, a recording without Game End is closed as it is.

The disk may be slower than the event loop, so a separate task does the writing, in a thread. Pending bytes wait in
memory up to a limit (see `disk_writer`). If there are more, the rest of that game is streamed but not recorded, and the
listener is notified.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from slpstream.parts.consoles.disk_writer import DiskWriter, InThread, RecordingListener
from slpstream.parts.consoles.event_framer import (
    FramerOutput,
    GameBegan,
    GameBroken,
    GameEvents,
    GameFramer,
    SkippedBytes,
)
from slpstream.parts.consoles.recording import (
    GameProgress,
    LastRecording,
    OpenFile,
    Recording,
    RecordingFile,
    RecordingState,
    ResumePoint,
    find_last_recording,
)


class GamePosition:
    """Positions in the newest game. All of them are in bytes since its Event Payloads began, including lost bytes."""

    def __init__(self) -> None:
        self.head: bytes | None = None
        """Event Payloads and Game Start."""
        self.received = 0
        """The position of the next byte that the framer will return."""
        self.recorded = 0
        """The position up to which the game is recorded."""
        self.is_known = True
        """Whether we know the position. After an unknown number of bytes was lost, we don't."""
        self.lost_bytes = 0
        """The number of bytes that are missing in the recording."""
        self.saved_point: tuple[int, int, int] | None = None
        """The token, the base cursor and the lost bytes of the last resume point."""

    def begin(self, head: bytes) -> bool:
        """Note that a game begins. Returns False if it is the same game again, sent from its beginning."""
        self.received = len(head)
        if head == self.head and self.is_known:
            return False
        self.head, self.recorded, self.is_known = head, len(head), True
        self.lost_bytes, self.saved_point = 0, None
        return True

    def resume(self, last: LastRecording) -> ResumePoint | None:
        """Continue after the bytes of an earlier recording. Returns the point from which to continue, if we know it."""
        self.head = last.head
        self.lost_bytes = 0 if last.point is None else last.point.lost_bytes
        # If the file ends in the middle of an event, the beginning of that event is both in the file and in the framer.
        self.recorded = last.raw_bytes + self.lost_bytes
        self.received = self.recorded - last.framer.buffered_bytes
        point = last.point
        if point is None:
            return None
        self.saved_point = (point.token, point.base_cursor, point.lost_bytes)
        return ResumePoint(point.file, point.token, point.base_cursor + self.recorded, 0)

    def record(self, data: bytes) -> bytes:
        """Count received bytes as recorded, and return those of them that were not recorded before."""
        start = self.received - len(data)
        new = data if start >= self.recorded else data[self.recorded - start :]
        self.lost_bytes += max(0, start - self.recorded)
        self.recorded = self.received
        return new

    def changed_resume_point(self, token: int, base_cursor: int) -> ResumePoint | None:
        """Return the resume point, if it is known and has changed since the last call."""
        point = (token, base_cursor, self.lost_bytes)
        if not self.is_known or base_cursor < 0 or point == self.saved_point:
            return None
        self.saved_point = point
        return ResumePoint("", *point)


class FileNames:
    """Names recordings after the time when they start. A name is unique even before its file exists.

    If two games start in the same second, they need different names immediately, because bytes that aren't on disk are
    identified by the path of the file.
    """

    def __init__(self) -> None:
        self._stem = ""
        self._repetitions = 0
        """How many recordings in a row have this stem."""

    def next_name(self, unix_seconds: float) -> str:
        """Return the name for a recording that starts now."""
        stem = datetime.fromtimestamp(unix_seconds, UTC).astimezone().strftime("Game_%Y%m%dT%H%M%S")
        self._repetitions = self._repetitions + 1 if stem == self._stem else 1
        self._stem = stem
        return f"{stem}.slp" if self._repetitions == 1 else f"{stem}-{self._repetitions}.slp"


class Recorder:
    """Records the games of one station.

    One task runs `run`. The other methods are called in the event loop and, except for `prepare`, don't wait.
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
        """The name of the console, for the metadata."""
        self._folder = folder
        self._listener = listener
        self._played_on = played_on
        self._max_unwritten_bytes = max_unwritten_bytes
        self._in_thread = in_thread
        self._wall_clock = wall_clock
        self._open_file = open_file
        self._framer = GameFramer()
        self._position = GamePosition()
        self._names = FileNames()
        self._newest: Recording | None = None
        self._writer = DiskWriter(listener, in_thread)

    @property
    def _recording(self) -> Recording | None:
        """The recording of the newest game, until it is completely written."""
        return None if self._newest is None or self._newest.is_over else self._newest

    async def prepare(self) -> ResumePoint | None:
        """Find the last recording of an earlier daemon.

        It is continued, or if its game is sent again, this is skipped. Returns the point from which to continue, if we
        know it. Its `base_cursor` is the cursor that you should request.
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
            self._newest = Recording.adopt(file, last)
            self._writer.add(self._newest)
        self._framer = last.framer
        return self._position.resume(last)

    @property
    def unwritten_bytes(self) -> int:
        """The number of pending bytes. You can read this from a worker thread."""
        return self._writer.unwritten_bytes

    def read_unwritten(self, path: Path, offset: int, max_bytes: int) -> bytes:
        """Return bytes of a recording that aren't in its file yet.

        There may be none. You can call this from any thread.
        """
        return self._writer.read_unwritten(path, offset, max_bytes)

    async def run(self) -> None:
        """Write recordings to disk until cancelled."""
        await self._writer.run()

    def restart(self) -> None:
        """Note that the next bytes begin at the start of a game or between two games, and not where the source
        stopped.
        """
        self._framer.restart()

    def gap(self, lost_bytes: int | None) -> None:
        """Note that bytes are missing before the next ones. `None` means that we don't know how many."""
        recording = self._recording
        if recording is None or not recording.is_open or not self._framer.in_game:
            self._framer.restart()
            return
        lost = None if lost_bytes is None else lost_bytes + self._framer.gap()
        if recording.has_partial_event:
            self._abandon(recording)
            self._framer.restart()
            return
        self._listener.gap(recording.file.path, recording.size_bytes, f"{_byte_count(lost)} lost in transmission")
        if lost is None:
            self._framer.gap()
            self._position.is_known = False
        else:
            self._position.received += lost
        recording.add_gap(lost)

    def receive(self, data: bytes, *, token: int = 0, end_cursor: int | None = None) -> None:
        """Take the next bytes. If the console has cursors, `end_cursor` is its cursor after these bytes."""
        for output in self._framer.feed(data):
            self._process(output)
        if end_cursor is not None:
            self._update_resume_point(token, end_cursor - self._framer.buffered_bytes - self._position.received)
        self._writer.stream_if_failing()

    def close_ended_game(self) -> None:
        """Close the recording if its game has ended. Call this when no bytes have arrived for a moment."""
        recording = self._recording
        if recording is not None and recording.progress.ended:
            self._close(recording)

    def _process(self, output: FramerOutput) -> None:
        recording = self._recording
        if isinstance(output, GameEvents):
            self._add_events(output)
        elif isinstance(output, GameBegan):
            self._begin(output.head)
        elif isinstance(output, SkippedBytes):
            self._position.received += output.size_bytes
            if recording is not None and recording.extend_gap(output.size_bytes):
                return  # part of a gap that was reported already
            path, offset = (None, 0) if recording is None else (recording.file.path, recording.size_bytes)
            self._listener.gap(path, offset, f"{output.size_bytes} unusable bytes: {output.reason}")
        elif isinstance(output, GameBroken) and recording is not None:
            self._listener.gap(
                recording.file.path, recording.size_bytes, f"the game cannot be continued: {output.reason}"
            )
            self._close(recording)
            self._position.head = None

    def _begin(self, head: bytes) -> None:
        if not self._position.begin(head):
            return
        recording = self._recording
        if recording is not None:
            self._close(recording)
            self._position.head = head
        now = self._wall_clock()
        path = self._folder / self._names.next_name(now)
        self._newest = Recording(self._open_file(path), head, started_at=_iso(now))
        self._writer.add(self._newest)

    def _add_events(self, events: GameEvents) -> None:
        position = self._position
        position.received += len(events.data)
        recording = self._recording
        if recording is None or not recording.is_open or position.received <= position.recorded:
            return
        new = position.record(events.data)
        recording.progress = GameProgress(events.ended, events.frame, events.characters)
        if recording.stream_only:
            self._writer.stream_unrecorded(recording, new)
            return
        recording.append_events(new)
        self._writer.wake()
        if len(recording.unwritten.pending) > self._max_unwritten_bytes:
            recording.stream_only = True
            reason = (
                f"more than {self._max_unwritten_bytes} bytes wait for the disk: the rest of the game is streamed only"
            )
            self._listener.gap(recording.file.path, recording.size_bytes, reason)

    def _close(self, recording: Recording) -> None:
        if not recording.is_open:
            return
        if recording.has_partial_event or (recording.untouched and not recording.progress.ended):
            self._abandon(recording)
            return
        element = recording.close(played_on=self._played_on, nick=self.nick)
        if recording.stream_only:
            self._writer.stream_unrecorded(recording, element)
        self._writer.wake()

    def _abandon(self, recording: Recording) -> None:
        """Leave a file as the earlier daemon left it, because we didn't receive the bytes that continue it."""
        recording.state = RecordingState.ABANDONED
        self._position.head = None
        self._writer.wake()

    def _update_resume_point(self, token: int, base_cursor: int) -> None:
        """Have the resume point saved if it has changed."""
        recording = self._recording
        if recording is None or not recording.is_open:
            return
        point = self._position.changed_resume_point(token, base_cursor)
        if point is not None:
            recording.point = point
            self._writer.wake()


def _byte_count(count: int | None) -> str:
    return "an unknown number of bytes was" if count is None else f"{count} bytes were"


def _iso(unix_seconds: float) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
