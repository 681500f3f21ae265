"""One game of a console as a `.slp` that grows: created without ever taking a name that is there, appended to, closed
like the game closes it (metadata, then the raw length).

`Recording` counts and keeps in the event loop what is not on the disk yet. `RecordingFile` does what blocks, and is
called in a worker thread only.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from errno import EEXIST, EIO
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from slpstream.formats.slippi.commands import FIRST_FRAME, FRAMES_PER_SECOND
from slpstream.formats.slippi.container import HEADER_BYTES, MAGIC, raw_length
from slpstream.formats.slippi.writer import RawWriter
from slpstream.sources.console.event_framer import Begun, Characters, Events, GameFramer

RESUME_FILE = ".resume.json"
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_SAME_SECOND = 1000
_MAX_GAPS = 200
"""More are not listed: metadata has bounds."""
_MAX_ADOPTED_BYTES = 256 << 20


class ResumePoint(Struct, frozen=True):
    """How to go on with a game after a restart: the client token, and the console's cursor of the game's first byte."""

    file: str
    token: int
    base_cursor: int
    lost_bytes: int


class RecordingFile:
    """The open file of a recording. Everything here blocks and raises `OSError`."""

    def __init__(self, path: Path) -> None:
        """`path` is what it should be called; it becomes `-2`, `-3` when something has that name."""
        self.path = path
        self._descriptor = -1

    @property
    def is_open(self) -> bool:
        """There is a descriptor."""
        return self._descriptor >= 0

    def create(self) -> None:
        """Makes the file; does nothing when it is open."""
        if self._descriptor >= 0:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        stem, suffix = self.path.stem, self.path.suffix
        for number in range(1, _SAME_SECOND):
            path = self.path if number == 1 else self.path.with_name(f"{stem}-{number}{suffix}")
            try:
                self._descriptor = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
            self.path = path
            return
        raise OSError(EEXIST, "no name is left", str(self.path))

    def reopen(self) -> None:
        """Opens what is there, to go on with it."""
        self._descriptor = os.open(self.path, _FLAGS)

    def write(self, offset: int, data: bytes) -> int:
        """Writes at an offset; how many bytes of it."""
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        return os.write(self._descriptor, data)

    def close(self) -> None:
        """Gives the descriptor back; again does nothing."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def remember(self, point: ResumePoint) -> None:
        """Keeps beside the recording how to go on with it."""
        target = self.path.with_name(RESUME_FILE)
        temporary = target.with_suffix(".tmp")
        values = {"file": point.file, "token": point.token, "base": point.base_cursor, "lost": point.lost_bytes}
        temporary.write_text(json.dumps(values), encoding="utf-8")
        temporary.replace(target)


OpenFile = Callable[[Path], RecordingFile]


class Recording:
    """A game that is being recorded: what of it waits for the disk, and how it is closed."""

    def __init__(self, file: RecordingFile, head: bytes, *, started_at: str) -> None:
        """`head`: Event Payloads and Game Start. `started_at`: wall clock, ISO 8601."""
        self.file = file
        self.head = head
        self.started_at = started_at
        self.gaps: list[dict[str, int]] = []
        """Where bytes are missing: `offset` in the file, `lostBytes` before it."""
        self.written = 0
        """Bytes that are in the file."""
        self.waiting = bytearray()
        """Bytes that follow, and are not in the file yet."""
        self.handed = 0
        """File offset up to which the station was handed bytes past the disk."""
        self.unrecorded = 0
        """Bytes that came when more waited than may: they were streamed, and are in no file."""
        self.closing = False
        """The metadata is among the bytes; the raw length is the last thing to write."""
        self.done = False
        self.abandoned = False
        """It is not written to any more."""
        self.complete = False
        """The raw length is in the file. Said and asked in worker threads only."""
        self.cut_short = False
        """More waited than may: what comes is not recorded any more."""
        self.ended = False
        """Game End has come."""
        self.left = False
        """It was left by an earlier daemon, and has not grown since."""
        self.cut_event = False
        """The file ends in the middle of an event."""
        self.last_frame: int | None = None
        self.characters: Characters = {}
        self.point: ResumePoint | None = None
        """To be kept beside the file, when it has changed."""
        self._lock = threading.Lock()
        """Of `written` and `waiting`: `read` is called in worker threads."""
        self._writer = RawWriter()
        self.append(self._writer.open() + self._writer.raw(head))

    @property
    def size_bytes(self) -> int:
        """Of the file, when all is written."""
        return self.written + len(self.waiting)

    @property
    def raw_bytes(self) -> int:
        """Events so far."""
        return self._writer.raw_length_bytes

    @property
    def has_work(self) -> bool:
        """Something waits to be written."""
        return not (self.done or self.abandoned) and (self.closing or bool(self.waiting) or self.point is not None)

    def append(self, data: bytes) -> None:
        """Bytes for the end of the file."""
        with self._lock:
            self.waiting += data

    def taken(self, size_bytes: int) -> None:
        """The disk has taken so many of the bytes that waited."""
        with self._lock:
            del self.waiting[:size_bytes]
            self.written += size_bytes

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Bytes at an offset of the file that are not in it yet. From any thread."""
        with self._lock:
            start = offset - self.written
            return bytes(self.waiting[start : start + max_bytes]) if start >= 0 else b""

    def events(self, data: bytes) -> None:
        """Whole events."""
        self.append(self._writer.raw(data))
        self.left = self.cut_event = False

    def gap(self, lost_bytes: int | None) -> None:
        """Bytes are missing before what comes next; `None`: nobody knows how many."""
        self.gaps.append({"offset": self.size_bytes} | ({} if lost_bytes is None else {"lostBytes": lost_bytes}))

    def skip(self, size_bytes: int) -> bool:
        """Bytes behind a gap are of no use: they are lost too. False when there is no gap here."""
        if self.closing or not self.gaps or self.gaps[-1]["offset"] != self.size_bytes:
            return False
        if "lostBytes" in self.gaps[-1]:
            self.gaps[-1]["lostBytes"] += size_bytes
        return True

    def close(self, *, played_on: str, nick: str) -> bytes:
        """No more events come. What was appended: the metadata and the closing brace."""
        values: dict[str, Any] = {"startAt": self.started_at}
        if self.last_frame is not None:
            values["lastFrame"] = self.last_frame
        values["players"] = {
            str(index): {"characters": {str(character): count for character, count in used.items()}}
            for index, used in sorted(self.characters.items())
        }
        values["playedOn"] = played_on
        if nick:
            values["consoleNick"] = nick
        if self.gaps:
            values["gaps"] = self.gaps[:_MAX_GAPS]
        element = self._writer.close(values)
        self.append(element)
        self.closing = True
        return element

    def step(self, data: bytes, offset: int, point: ResumePoint | None, last: bool) -> int:
        """In a worker thread: creates the file when there is none, writes `data` at `offset`; `last`: then the raw
        length, and closes. How many bytes of `data` were written. Raises `OSError`; what was done stays done."""
        if self.complete:
            return len(data)  # whoever asked first was cancelled, and it was done all the same
        file = self.file
        file.create()
        if point is not None:
            file.remember(msgspec.structs.replace(point, file=file.path.name))
        written = file.write(offset, data) if data else 0
        if last and written == len(data):
            header = self._writer.header()
            if file.write(0, header) != len(header):
                raise OSError(EIO, "the raw length was not written", str(file.path))
            file.close()
            self.complete = True
        return written

    @classmethod
    def adopt(cls, file: RecordingFile, found: Found) -> Recording:
        """Goes on with a file that was left unfinished."""
        recording = cls(file, found.head, started_at=found.started_at)
        recording.waiting.clear()
        recording.written = HEADER_BYTES + found.raw_bytes
        recording._writer.raw_length_bytes = found.raw_bytes
        recording.ended, recording.left, recording.cut_event = found.ended, True, bool(found.behind)
        recording.last_frame, recording.characters = found.cutter.frame, found.cutter.characters
        return recording


class Found(Struct, frozen=True):
    """The newest recording that a daemon left behind. `closed`: its raw length is set. `behind` are the bytes of an
    event that is not complete."""

    path: Path
    head: bytes
    raw_bytes: int
    behind: bytes
    cutter: GameFramer
    ended: bool
    closed: bool
    started_at: str
    point: ResumePoint | None


def find_newest(folder: Path, timestamp: Callable[[float], str]) -> Found | None:
    """The newest recording of a folder, when its events can be read. Blocks; `timestamp` says a time of the clock."""
    try:
        newest = max(
            (entry for entry in os.scandir(folder) if entry.name.endswith(".slp") and entry.is_file()),
            key=lambda entry: (entry.stat().st_mtime_ns, entry.name),
            default=None,
        )
        if newest is None or not HEADER_BYTES < newest.stat().st_size <= _MAX_ADOPTED_BYTES:
            return None
        data = Path(newest.path).read_bytes()
        modified = newest.stat().st_mtime
    except OSError:
        return None
    if not data.startswith(MAGIC):
        return None
    size = raw_length(data[:HEADER_BYTES])
    raw = data[HEADER_BYTES:][:size] if size else data[HEADER_BYTES:]
    cutter = GameFramer()
    cuts = cutter.feed(raw)
    begun = cuts[0] if cuts else None
    if not isinstance(begun, Begun) or not all(isinstance(cut, Events) for cut in cuts[1:]):
        return None  # it has its metadata already, or is damaged: left as it is
    ended = any(isinstance(cut, Events) and cut.ended for cut in cuts)
    behind = raw[len(raw) - cutter.waiting_bytes :] if cutter.waiting_bytes else b""
    path = Path(newest.path)
    begun_at = modified - (0 if cutter.frame is None else (cutter.frame - FIRST_FRAME) / FRAMES_PER_SECOND)
    point = _resume_point(path)
    return Found(path, begun.head, len(raw), behind, cutter, ended, size > 0, timestamp(begun_at), point)


def _resume_point(path: Path) -> ResumePoint | None:
    try:
        values = json.loads(path.with_name(RESUME_FILE).read_text(encoding="utf-8"))
        point = ResumePoint(str(values["file"]), int(values["token"]), int(values["base"]), int(values["lost"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (
        point if point.file == path.name and 0 <= point.token < 1 << 32 and 0 <= point.base_cursor < 1 << 63 else None
    )
