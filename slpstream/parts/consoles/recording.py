"""Records one game of a console as a growing `.slp` file.

The file is created under an unused name. Events are appended to it, and in the end it is closed in the same way as the
game does it: first the metadata, and then the raw length. `Recording` runs in the event loop, and keeps the bytes that
aren't on disk yet. `RecordingFile` makes the blocking calls, and is only used in worker threads.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from enum import Enum, auto
from errno import EEXIST, EIO
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from slpstream.formats.slippi import metadata
from slpstream.formats.slippi.commands import FIRST_FRAME, FRAMES_PER_SECOND
from slpstream.formats.slippi.container import CLOSE, HEADER_BYTES, MAGIC, header, raw_length
from slpstream.formats.slippi.game_start import GameStartPayload
from slpstream.formats.slippi.game_time import timer_start
from slpstream.model.errors import FieldError
from slpstream.model.foreign_data import json_or_none
from slpstream.model.prepared import prepared
from slpstream.parts.consoles.event_framer import Characters, GameBegan, GameEvents, GameFramer
from slpstream.system.files import read_regular

RESUME_FILE = ".resume.json"
_FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_MAX_NAMES = 1000
_MAX_GAPS = 200
"""Further gaps are left out, because the size of metadata is limited. Only the last of them is kept in memory."""
_MAX_ADOPTED_BYTES = 256 << 20


@prepared
class ResumePoint(Struct, frozen=True):
    """Everything that we need to continue a game after a restart. It is stored in the file next to a recording.

    `token` is the client token, `base_cursor` is the console's cursor of the first byte of the game, and `lost_bytes`
    is the number of bytes that are missing in the file.
    """

    file: str
    token: int
    base_cursor: int = msgspec.field(name="base")
    lost_bytes: int = msgspec.field(name="lost")


class RecordingFile:
    """The file of a recording. All methods block, and raise `OSError` if they fail."""

    def __init__(self, path: Path) -> None:
        """`path` is the name that we would like to have. If it is taken, `create` appends `-2`, `-3` and so on."""
        self.path = path
        self._descriptor = -1

    def create(self) -> None:
        """Create the file. If it is already open, this does nothing."""
        if self._descriptor >= 0:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        stem, suffix = self.path.stem, self.path.suffix
        for number in range(1, _MAX_NAMES):
            path = self.path if number == 1 else self.path.with_name(f"{stem}-{number}{suffix}")
            try:
                self._descriptor = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                continue
            self.path = path
            return
        raise OSError(EEXIST, "no free file name", str(self.path))

    def reopen(self) -> None:
        """Open the existing file, to continue it."""
        self._descriptor = os.open(self.path, _FLAGS)

    def write(self, offset: int, data: bytes) -> int:
        """Write at an offset. Returns how many bytes were written, which can be fewer than `data` has."""
        os.lseek(self._descriptor, offset, os.SEEK_SET)
        return os.write(self._descriptor, data)

    def close(self) -> None:
        """Close the file. If it is already closed, this does nothing."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def save_resume_point(self, point: ResumePoint) -> None:
        """Save the resume point next to the recording."""
        target = self.path.with_name(RESUME_FILE)
        temporary = target.with_suffix(".tmp")
        temporary.write_bytes(msgspec.json.encode(point))
        temporary.replace(target)


OpenFile = Callable[[Path], RecordingFile]


class UnwrittenBytes:
    """The bytes that come after those in a file, and are waiting to be written."""

    def __init__(self) -> None:
        self.written_bytes = 0
        """The number of bytes in the file."""
        self.pending = bytearray()
        self._lock = threading.Lock()
        """Guards both of them, because `read` is called in worker threads."""

    def append(self, data: bytes) -> None:
        """Add bytes at the end."""
        with self._lock:
            self.pending += data

    def mark_written(self, size_bytes: int) -> None:
        """Record that the first `size_bytes` of the pending bytes are in the file now."""
        with self._lock:
            del self.pending[:size_bytes]
            self.written_bytes += size_bytes

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return pending bytes at a file offset. There may be none. You can call this from any thread."""
        with self._lock:
            start = offset - self.written_bytes
            return bytes(self.pending[start : start + max_bytes]) if start >= 0 else b""


class GameProgress(Struct, frozen=True):
    """The part of a game that its events have shown so far. `ended` means that we have received Game End."""

    ended: bool = False
    last_frame: int | None = None
    characters: Characters = {}


class RecordingState(Enum):
    """The state of a recording."""

    OPEN = auto()
    CLOSING = auto()
    """The metadata is written or pending, and only the raw length has to follow."""
    DONE = auto()
    """Everything is written, including the raw length."""
    ABANDONED = auto()
    """The file won't be written to any more."""


class Recording:
    """A game that is being recorded, with the bytes that are waiting to be written."""

    def __init__(self, file: RecordingFile, head: bytes, *, started_at: str) -> None:
        """`head` consists of Event Payloads and Game Start. `started_at` is the wall-clock time in ISO 8601."""
        self.file = file
        self.head = head
        self.started_at = started_at
        self.gaps: list[dict[str, int]] = []
        """Where bytes are missing. Each gap has the number `lostBytes` of bytes before the file offset `offset`."""
        self.unwritten = UnwrittenBytes()
        self.streamed_offset = 0
        """The file offset up to which the station has received bytes directly."""
        self.unrecorded_bytes = 0
        """How many bytes were streamed but aren't in any file, because too many bytes were pending."""
        self.state = RecordingState.OPEN
        self.complete = False
        """Whether everything is written, from the view of worker threads."""
        self.stream_only = False
        """Whether too many bytes were pending, so that the rest of the game isn't recorded."""
        self.progress = GameProgress()
        self.untouched = False
        """Whether an earlier daemon left this file and it has not grown since then."""
        self.has_partial_event = False
        """Whether the file ends in the middle of an event."""
        self.point: ResumePoint | None = None
        """A resume point that has changed and is waiting to be saved."""
        self._raw_bytes = len(head)
        self.unwritten.append(header(0) + head)

    @property
    def size_bytes(self) -> int:
        """The size that the file will have once everything is written."""
        return self.unwritten.written_bytes + len(self.unwritten.pending)

    @property
    def is_open(self) -> bool:
        """Whether events may be appended."""
        return self.state is RecordingState.OPEN

    @property
    def is_over(self) -> bool:
        """Whether the file won't be written to any more."""
        return self.state is RecordingState.DONE or self.state is RecordingState.ABANDONED

    @property
    def has_work(self) -> bool:
        """Whether something is waiting to be written."""
        if self.is_open:
            return bool(self.unwritten.pending) or self.point is not None
        return self.state is RecordingState.CLOSING

    def append_events(self, data: bytes) -> None:
        """Append whole events."""
        self._raw_bytes += len(data)
        self.unwritten.append(data)
        self.untouched = self.has_partial_event = False

    def add_gap(self, lost_bytes: int | None) -> None:
        """Record that bytes are missing before the next ones. `None` means that we don't know how many."""
        del self.gaps[_MAX_GAPS:]
        self.gaps.append({"offset": self.size_bytes} | ({} if lost_bytes is None else {"lostBytes": lost_bytes}))

    def extend_gap(self, size_bytes: int) -> bool:
        """Add unusable bytes to the gap at the end of the recording.

        Returns False if the recording doesn't end with a gap.
        """
        if not self.is_open or not self.gaps or self.gaps[-1]["offset"] != self.size_bytes:
            return False
        if "lostBytes" in self.gaps[-1]:
            self.gaps[-1]["lostBytes"] += size_bytes
        return True

    def close(self, *, played_on: str, nick: str) -> bytes:
        """Append the metadata and the closing brace, and return them. After that, no more events may follow."""
        values: dict[str, Any] = {"startAt": self.started_at}
        if self.progress.last_frame is not None:
            values["lastFrame"] = self.progress.last_frame
        values["players"] = self._players()
        values["playedOn"] = played_on
        if nick:
            values["consoleNick"] = nick
        if self.gaps:
            values["gaps"] = self.gaps[:_MAX_GAPS]
        element = metadata.MARKER + metadata.encode(values) + CLOSE
        self.unwritten.append(element)
        self.state = RecordingState.CLOSING
        return element

    def _players(self) -> dict[str, dict[str, Any]]:
        """Return the players for the metadata, in the same form as the file writer of slippi-js: `characters` and
        `names`.

        These are all players in Game Start. Names that are missing are empty.
        """
        names: dict[int, dict[str, str]] = {}
        with contextlib.suppress(FieldError):  # a Game Start that is too small is recorded nevertheless
            after_event_payloads = 1 + self.head[1]
            for player in GameStartPayload(self.head[after_event_payloads:]).settings().players:
                names[player.player_index] = {"netplay": player.display_name, "code": player.connect_code}
        characters = self.progress.characters
        return {
            str(index): {
                "characters": {str(character): count for character, count in characters.get(index, {}).items()},
                **({"names": names[index]} if index in names else {}),
            }
            for index in sorted({*characters, *names})
        }

    def write(self, data: bytes, offset: int, point: ResumePoint | None, last: bool) -> int:
        """Create the file if necessary, and write `data` at `offset`. Call this in a worker thread.

        If there is a `point`, it is saved first. With `last`, the raw length is written after all of `data`, and the
        file is closed. Returns how many bytes of `data` were written. Raises `OSError` if a step fails, which doesn't
        undo the steps before it.
        """
        if self.complete:
            return len(data)  # an earlier call was cancelled, but its work was completed
        file = self.file
        file.create()
        if point is not None:
            file.save_resume_point(msgspec.structs.replace(point, file=file.path.name))
        written = file.write(offset, data) if data else 0
        if last and written == len(data):
            if file.write(0, header(self._raw_bytes)) != HEADER_BYTES:
                raise OSError(EIO, "the raw length was not written", str(file.path))
            file.close()
            self.complete = True
        return written

    @classmethod
    def adopt(cls, file: RecordingFile, last: LastRecording) -> Recording:
        """Continue a file that an earlier daemon left unfinished."""
        recording = cls(file, last.head, started_at=last.started_at)
        recording.unwritten.pending.clear()
        recording.unwritten.written_bytes = HEADER_BYTES + last.raw_bytes
        recording._raw_bytes = last.raw_bytes
        recording.untouched = True
        recording.has_partial_event = bool(last.framer.buffered_bytes)
        recording.progress = GameProgress(last.ended, last.framer.frame, last.framer.characters)
        return recording


class LastRecording(Struct, frozen=True):
    """The newest recording that an earlier daemon left in a folder.

    `framer` has read its events, and holds the part of an incomplete event at the end. `ended` means that the recording
    contains Game End, and `closed` that its raw length is set.
    """

    path: Path
    head: bytes
    raw_bytes: int
    framer: GameFramer
    ended: bool
    closed: bool
    started_at: str
    point: ResumePoint | None


def find_last_recording(folder: Path, timestamp: Callable[[float], str]) -> LastRecording | None:
    """Find the newest recording in a folder. This blocks. `timestamp` formats a Unix time.

    Returns `None` if there is no recording, or if its header is followed by something other than events.
    """
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
    framer = GameFramer()
    output = framer.feed(raw)
    game = output[0] if output else None
    if not isinstance(game, GameBegan) or not all(isinstance(item, GameEvents) for item in output[1:]):
        return None  # it has its metadata already, or is damaged: leave it as it is
    ended = any(isinstance(item, GameEvents) and item.ended for item in output)
    path = Path(newest.path)
    played = 0 if framer.frame is None else framer.frame - timer_start(framer.first_frame) - FIRST_FRAME
    began_at = modified - played / FRAMES_PER_SECOND
    point = _resume_point(path)
    return LastRecording(path, game.head, len(raw), framer, ended, size > 0, timestamp(began_at), point)


def _resume_point(path: Path) -> ResumePoint | None:
    try:
        point = json_or_none(read_regular(path.with_name(RESUME_FILE)), ResumePoint)
    except OSError:
        return None
    if point is None or point.file != path.name:
        return None
    return point if 0 <= point.token < 1 << 32 and 0 <= point.base_cursor < 1 << 63 else None
