"""What a console sends becomes files in the folder of its station, which tails them like any other.

The file is the log, so it must stay a valid replay whatever happens to the connection, and each event must be in it
once. Only whole events are written. Each game has a place, the bytes since its Event Payloads, lost ones included; a
console that sends a game again from its beginning (it does not know us any more, or we have been restarted) is
recognised by its Game Start, and what is already recorded is passed over. A gap is not closed: the recording goes on
with the next whole event, because stocks, percents and the end of the game are worth having; the metadata says where
bytes are missing, and the listener is told at once. A recording whose game never ended is closed as it stands when
another game begins.

The disk is slower than the event loop may be, so writing is a task of its own, in a thread. What it does not take
(full, read-only, or it just hangs) waits in memory up to a bound and is handed to the station directly, which streams
on; when the disk takes bytes again the file is completed, and the station passes over what it knows. Beyond the
bound the rest of that game is streamed and not recorded, and that is said.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import trio

from slpstream.sources.console.event_framer import Begun, Broken, Cut, Events, GameFramer, Skipped
from slpstream.sources.console.recording import Found, OpenFile, Recording, RecordingFile, ResumePoint, find_newest

_WRITE_BYTES = 256 * 1024
_RETRY_SECONDS = 1.0
_HANGING_SECONDS = 1.0
"""Bytes that wait longer for the disk are handed to the station."""
_FAREWELL_SECONDS = 2.0
"""What waits for the disk when the daemon stops gets so long."""
_MAX_OPEN = 8
"""Recordings that wait for the disk at the same time; of older ones what waits is given up."""


InThread = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs what blocks in a worker thread, and waits for it."""


class Listener(Protocol):
    """The station, as the recorder sees it. All of it returns at once."""

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Bytes of a file that the disk has not taken. The file offset up to which the station has all bytes."""

    def recording_trouble(self, what: str | None) -> None:
        """The disk takes no bytes, and why; `None`: it does again."""

    def gap(self, path: Path | None, offset: int, what: str) -> None:
        """Bytes of a game are missing, or cannot be used."""


class Recorder:
    """The recordings of one station. One task runs `run`; everything else is called in the event loop and returns at
    once."""

    def __init__(
        self,
        folder: Path,
        listener: Listener,
        *,
        played_on: str,
        max_unwritten_bytes: int,
        in_thread: InThread,
        wall_clock: Callable[[], float],
        open_file: OpenFile = RecordingFile,
    ) -> None:
        """`played_on` is what the metadata says; `max_unwritten_bytes` bounds what waits for the disk;
        `in_thread` runs what blocks."""
        self.nick = ""
        """The console's name, for the metadata."""
        self._folder = folder
        self._listener = listener
        self._played_on = played_on
        self._max_unwritten_bytes = max_unwritten_bytes
        self._in_thread = in_thread
        self._wall_clock = wall_clock
        self._open_file = open_file
        self._cutter = GameFramer()
        self._recording: Recording | None = None
        self._open: deque[Recording] = deque()
        self._head: bytes | None = None
        """Of the game that came last: Event Payloads and Game Start."""
        self._at = 0
        """Place in the game of the next byte that the cutter says."""
        self._have = 0
        """Place up to which the game is recorded."""
        self._exact = True
        """All places are known: nothing was lost of which the size is not."""
        self._lost_bytes = 0
        self._remembered: tuple[int, int, int] | None = None
        self._trouble: str | None = None
        self._stem = ""
        self._of_second = 0
        self._step_began: float | None = None
        self._work = trio.Event()

    # -- what the source asks and says --------------------------------------------------------------------------------

    async def prepare(self) -> ResumePoint | None:
        """Looks at what an earlier daemon recorded last, to go on with it, or behind it. Where that is, if it is
        known: the client token, and as `base_cursor` the cursor to ask for."""
        found = await self._in_thread(lambda: find_newest(self._folder, _iso))
        if found is None or (found.closed and not found.ended):
            return None
        if not found.closed:
            file = self._open_file(found.path)
            try:
                await self._in_thread(file.reopen)
            except OSError:
                return None
            self._recording = Recording.adopt(file, found)
            self._open.append(self._recording)
        return self._go_on(found)

    def _go_on(self, found: Found) -> ResumePoint | None:
        self._head, self._cutter = found.head, found.cutter
        point = found.point
        self._lost_bytes = 0 if point is None else point.lost_bytes
        # Where a write was cut in the middle of an event, the cutter holds the beginning of that event, and the file
        # has it.
        self._have = found.raw_bytes + self._lost_bytes
        self._at = self._have - found.cutter.waiting_bytes
        if point is None:
            return None
        self._remembered = (point.token, point.base_cursor, point.lost_bytes)
        return ResumePoint(point.file, point.token, point.base_cursor + self._have, 0)

    @property
    def unwritten_bytes(self) -> int:
        """What waits for the disk; asked from a worker thread."""
        return sum(len(recording.waiting) for recording in list(self._open))

    def read_unwritten(self, path: Path, offset: int, max_bytes: int) -> bytes:
        """Bytes of a recording that are not in its file; empty when there are none. From any thread."""
        recording = next((one for one in list(self._open) if one.file.path == path), None)
        return b"" if recording is None else recording.read(offset, max_bytes)

    def restart(self) -> None:
        """What comes now begins at a game's beginning, or behind one: the source does not go on where it stopped."""
        self._cutter.restart()

    def gap(self, lost_bytes: int | None) -> None:
        """Bytes are missing before what comes now; `None`: nobody knows how many."""
        recording = self._recording
        if recording is None or recording.closing or not self._cutter.in_game:
            self._cutter.restart()
            return
        lost = None if lost_bytes is None else lost_bytes + self._cutter.gap()
        if recording.cut_event:
            self._leave(recording)
            self._cutter.restart()
            return
        self._listener.gap(recording.file.path, recording.size_bytes, f"{_bytes(lost)} lost on the way")
        if lost is None:
            self._cutter.gap()
            self._exact = False
        else:
            self._at += lost
        recording.gap(lost)

    def receive(self, data: bytes, *, token: int = 0, end_cursor: int | None = None) -> None:
        """The next bytes. `end_cursor` is the console's cursor behind them, where it has cursors."""
        for cut in self._cutter.feed(data):
            self._take(cut)
        if end_cursor is not None:
            self._remember(token, end_cursor - self._cutter.waiting_bytes - self._at)
        if self._trouble is not None or self._is_hanging():
            self._hand_over()

    def rest(self) -> None:
        """Nothing has come for a moment: a game that has ended is closed."""
        recording = self._recording
        if recording is not None and recording.ended:
            self._close(recording)

    # -- games --------------------------------------------------------------------------------------------------------

    def _take(self, cut: Cut) -> None:
        recording = self._recording
        if isinstance(cut, Events):
            self._events(cut)
        elif isinstance(cut, Begun):
            self._begin(cut.head)
        elif isinstance(cut, Skipped):
            self._at += cut.size_bytes
            if recording is not None and recording.skip(cut.size_bytes):
                return  # a part of the gap that was told
            path, offset = (None, 0) if recording is None else (recording.file.path, recording.size_bytes)
            self._listener.gap(path, offset, f"{cut.size_bytes} bytes are of no use: {cut.what}")
        elif isinstance(cut, Broken) and recording is not None:
            self._listener.gap(recording.file.path, recording.size_bytes, f"the game cannot go on: {cut.what}")
            self._close(recording)
            self._head = None

    def _begin(self, head: bytes) -> None:
        recording = self._recording
        self._at = len(head)
        if head == self._head and self._exact:
            return  # the same game once more
        if recording is not None:
            self._close(recording)
        self._head, self._have, self._exact, self._lost_bytes, self._remembered = head, len(head), True, 0, None
        now = self._wall_clock()
        self._recording = Recording(self._open_file(self._folder / self._name(now)), head, started_at=_iso(now))
        self._open.append(self._recording)
        self._work.set()
        waiting = [recording for recording in self._open if not recording.abandoned]
        for older in waiting[:-_MAX_OPEN]:
            self._give_up(older)

    def _name(self, unix_seconds: float) -> str:
        """Of two games of one second each has its own name from the start: past the disk they are told by it."""
        stem = datetime.fromtimestamp(unix_seconds).astimezone().strftime("Game_%Y%m%dT%H%M%S")
        self._of_second = self._of_second + 1 if stem == self._stem else 1
        self._stem = stem
        return f"{stem}.slp" if self._of_second == 1 else f"{stem}-{self._of_second}.slp"

    def _events(self, cut: Events) -> None:
        start, self._at = self._at, self._at + len(cut.data)
        recording = self._recording
        if recording is None or recording.closing or self._at <= self._have:
            return
        new = cut.data if start >= self._have else cut.data[self._have - start :]
        self._lost_bytes += max(0, start - self._have)
        self._have = self._at
        recording.ended, recording.last_frame, recording.characters = cut.ended, cut.frame, cut.characters
        if recording.cut_short:
            self._pass_by(recording, new)
            return
        recording.events(new)
        self._work.set()
        if len(recording.waiting) > self._max_unwritten_bytes:
            recording.cut_short = True
            what = (
                f"more than {self._max_unwritten_bytes} bytes wait for the disk: the rest of the game is streamed only"
            )
            self._listener.gap(recording.file.path, recording.size_bytes, what)

    def _close(self, recording: Recording) -> None:
        if recording.closing:
            return
        if recording.cut_event or (recording.left and not recording.ended):
            self._leave(recording)
            return
        element = recording.close(played_on=self._played_on, nick=self.nick)
        if recording.cut_short:
            self._pass_by(recording, element)
        self._work.set()

    def _leave(self, recording: Recording) -> None:
        """It stays as the earlier daemon left it: what belongs behind it has not come."""
        recording.abandoned = True
        self._recording = self._head = None
        self._work.set()

    def _give_up(self, recording: Recording) -> None:
        """More recordings wait for the disk than may."""
        what = f"{len(recording.waiting)} bytes were never taken by the disk"
        self._listener.gap(recording.file.path, recording.written, what)
        recording.waiting.clear()
        recording.abandoned = True

    def _remember(self, token: int, base_cursor: int) -> None:
        """Keeps how to go on with this game, when it has changed."""
        recording = self._recording
        if recording is None or recording.closing or not self._exact or base_cursor < 0:
            return
        point = (token, base_cursor, self._lost_bytes)
        if point != self._remembered:
            self._remembered = point
            recording.point = ResumePoint("", *point)
            self._work.set()

    # -- past the disk ------------------------------------------------------------------------------------------------

    def _is_hanging(self) -> bool:
        began = self._step_began
        if began is None or trio.current_time() - began < _HANGING_SECONDS:
            return False
        self._set_trouble("the disk does not answer")
        return True

    def _hand_over(self) -> None:
        """What the disk has not taken goes to the station; what it does not take now is offered again."""
        for recording in self._open:
            at = max(recording.written, recording.handed)
            while at < recording.size_bytes:
                data = recording.read(at, _WRITE_BYTES)
                reached = self._listener.feed_unwritten(recording.file.path, at, data)
                if reached < at + len(data):
                    break
                at += len(data)
            recording.handed = at

    def _pass_by(self, recording: Recording, data: bytes) -> None:
        """Streamed, and in no file."""
        self._hand_over()
        self._listener.feed_unwritten(recording.file.path, recording.size_bytes + recording.unrecorded, data)
        recording.unrecorded += len(data)

    def _set_trouble(self, what: str | None) -> None:
        if what != self._trouble:
            self._trouble = what
            self._listener.recording_trouble(what)

    # -- the disk -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Writes what comes, until cancelled."""
        try:
            while True:
                await self._work.wait()
                self._work = trio.Event()
                while not await self._write():
                    self._hand_over()
                    await trio.sleep(_RETRY_SECONDS)
        finally:
            with trio.move_on_after(_FAREWELL_SECONDS, shield=True):
                await self._write()
                files = [recording.file for recording in self._open]
                await self._in_thread(lambda: _close_all(files))

    async def _write(self) -> bool:
        """Everything that waits; false when the disk does not take it."""
        for recording in list(self._open):
            while recording.has_work:
                try:
                    await self._step(recording)
                except OSError as error:
                    self._set_trouble(f"the disk takes no bytes: {error.strerror or error}")
                    return False
            if recording.done or recording.abandoned:
                self._open.remove(recording)
                if recording is self._recording:
                    self._recording = None
                await self._in_thread(recording.file.close)
        self._set_trouble(None)
        return True

    async def _step(self, recording: Recording) -> None:
        data = bytes(recording.waiting[:_WRITE_BYTES])
        last = recording.closing and len(data) == len(recording.waiting)
        point = recording.point
        self._step_began = trio.current_time()
        try:
            written: int = await self._in_thread(lambda: recording.step(data, recording.written, point, last))
        finally:
            self._step_began = None
        recording.taken(written)
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
