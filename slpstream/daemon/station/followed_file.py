"""A file that a station follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import trio

from slpstream.daemon.station.choice import Candidate, Growth
from slpstream.daemon.station.frame_pacing import FramePacing
from slpstream.formats.registry import of_name
from slpstream.game.log_reader import MODES, FileLogReader, GrowingLogReader, ReadUnwritten, WholeFileLogReader
from slpstream.model.events import Diagnostic, Event, GameEnd, StatsUpdate
from slpstream.stream.game import Game, Role
from slpstream.system.files import WHOLE_FILE_BYTES

if TYPE_CHECKING:
    from slpstream.game.described import DescribedGame
    from slpstream.game.pipeline import Pipeline
    from slpstream.model.messages import FramesMode, Position
    from slpstream.model.setup import Pacing
    from slpstream.sources.tail.events import TailedFile

_MAX_HELD_BYTES = 1 << 16
"""About a second of a game of four players."""


class LiveRecord:
    """The facts about a game that only its live file shows, and the summary of the game so far."""

    def __init__(self, seen_at_ms: int | None) -> None:
        self.seen_at_ms = seen_at_ms
        """When the file was first seen, Unix time; `None` for a file that is older than the station."""
        self.described: DescribedGame | None = None
        """The settings, result and metadata of the game so far; `None` until it begins."""
        self.ended_at_ms: int | None = None
        """When the game was seen to end, Unix time; `None` until then, and for a game that was over before."""
        self._pacing: FramePacing | None = None

    def note_frames(self, frames: int, frames_per_second: int, at: float) -> None:
        """Record that new frames arrived at a time on trio's clock."""
        if self._pacing is None:
            self._pacing = FramePacing(1 / frames_per_second)
        self._pacing.arrived(frames, at)

    def pacing(self) -> Pacing | None:
        """The pacing of a game that has ended; `None` before, and without frames that were seen to arrive."""
        return None if self._pacing is None or self.ended_at_ms is None else self._pacing.measured()


class WholeFile:
    """The state of a file whose game writes it in one go. It is read once it has stopped changing."""

    def __init__(self) -> None:
        self.played_size_bytes: int | None = None
        """The size at which the file was considered complete."""
        self.playing = False
        """Whether the file is being read and published."""


class FollowedFile:
    """A file that is being read, with its pipeline and, once the game has begun, its game."""

    def __init__(self, file: TailedFile, pipeline: Pipeline, *, existed: bool, seen_at_ms: int) -> None:
        """`existed`: the file is older than the station, so it is live only once it has been read to its end.

        `seen_at_ms` is the wall clock, in Unix milliseconds.
        """
        self.file = file
        self.pipeline = pipeline
        self.existed = existed
        self.game: Game | None = None
        self.record = LiveRecord(None if existed else seen_at_ms)
        self.growth = Growth(trio.current_time())
        self.copy_of: Game | None = None
        """The game that another file already holds, so that nothing of this one is published."""
        self.whole = WholeFile() if of_name(file.path.name).written_whole else None
        """`None` for a file that grows event by event."""
        self.unwritten = False
        """Whether the file does not exist yet because it cannot be written to the disk."""
        self.exhausted_size_bytes: int | None = None
        """The last known size of a file that is no longer read, whatever it grows to."""
        self._keep_checkpoint: Callable[[Pipeline], None] | None = None
        self._held: list[bytes] = []
        self._held_bytes = 0

    def hold(self, data: bytes) -> bool:
        """Hold the next bytes of the file back from the pipeline; false, without holding them, beyond a limit."""
        if self._held_bytes + len(data) > _MAX_HELD_BYTES:
            return False
        self._held.append(data)
        self._held_bytes += len(data)
        return True

    def take_held(self) -> bytes:
        """Return the bytes that were held back, for the pipeline."""
        held, self._held, self._held_bytes = self._held, [], 0
        return b"".join(held)

    @property
    def read_bytes(self) -> int:
        """Number of bytes of the file that were read, including those that are held back."""
        return self.pipeline.bytes_read + self._held_bytes

    def is_copy(self) -> bool:
        """Whether nothing of this file is published, because another one holds its game."""
        return self.copy_of is not None

    @property
    def candidate(self) -> Candidate | None:
        """The game in this file, for the choice of the current game; `None` before it begins."""
        return None if self.game is None else Candidate(self.game, self.growth, self.file.arrived_whole)

    @property
    def arrived_at_ms(self) -> int | None:
        """When the first bytes were seen to arrive, Unix time.

        `None` for a file that was there before, one written in one go, and a game that is not seen to be played.
        """
        is_played = self.game is None or self.game.role is Role.PLAYED
        return self.record.seen_at_ms if is_played and self.whole is None else None

    @property
    def pacing(self) -> Pacing | None:
        """How evenly the frames of a game that has ended arrived; `None` if they were not seen to arrive."""
        return None if self.arrived_at_ms is None else self.record.pacing()

    @property
    def has_unread_bytes(self) -> bool:
        """Whether the file has bytes that have not been read. Those of a copy are not needed."""
        if self.is_copy():
            return False
        if self.whole is not None:
            return self.whole.played_size_bytes != self.file.size_bytes
        return self.exhausted_size_bytes is None and self.read_bytes < self.file.size_bytes

    @property
    def is_exhausted(self) -> bool:
        """Whether the rest of the file cannot change its log, or it is too long for a file written in one go."""
        return self.pipeline.exhausted if self.whole is None else self.file.size_bytes > WHOLE_FILE_BYTES

    @property
    def ahead_of_disk(self) -> bool:
        """Whether more bytes were read than the file has, because the disk is full."""
        return self.read_bytes > self.file.size_bytes

    def describe(self, events: Sequence[Event], now_ms: int) -> bool:
        """Update the summary of the game from notable events, which arrived at the Unix time `now_ms`.

        Returns whether any of them is more than a stats update, of which only the newest matters.
        """
        record = self.record
        if record.described is None:
            return False
        events = [event for event in events if type(event) is not Diagnostic]
        record.described.take(events)
        if record.ended_at_ms is None and not self.existed and any(type(event) is GameEnd for event in events):
            record.ended_at_ms = now_ms
        changed = any(type(event) is not StatsUpdate for event in events)
        if changed and self.game is not None:
            # Without the metadata, because its names would appear on stream only after the game.
            self.game.summary = record.described.summary(with_metadata=False)
        return changed

    def after_read(self, offset: int, data: bytes) -> tuple[int, bytes]:
        """Return the part of `data` that has not been read yet, after its offset; no bytes if there is a gap before it.

        `data` begins at file offset `offset`.
        """
        read = self.read_bytes
        if offset == read:
            return offset, data
        return read, data[read - offset :] if offset < read else b""

    def open_log(
        self, game_id: str, limiter: trio.CapacityLimiter, read_unwritten: ReadUnwritten | None
    ) -> FileLogReader:
        """Open a reader for the log of the game in this file, up to the newest published message."""
        if self.whole is not None:
            return WholeFileLogReader(lambda: self.file.path, self._published, game_id, limiter)
        reader = GrowingLogReader(lambda: self.file.path, self._published_bytes, game_id, limiter, read_unwritten)
        self._keep_checkpoint = reader.keep
        return reader

    def keep_checkpoint(self) -> None:
        """Let the log's reader copy the pipeline occasionally, to make jumps into a running game short."""
        if self._keep_checkpoint is not None:
            self._keep_checkpoint(self.pipeline)

    def release(self, limiter: trio.CapacityLimiter) -> None:
        """Stop following the file. Its game can still be read, without the pipeline, which takes megabytes."""
        game, file, bytes_read = self.game, self.file, self.pipeline.bytes_read
        self._keep_checkpoint = None  # it refers to this object, and reference cycles are freed late
        if game is None:
            return
        if self.whole is not None:
            limits = {mode: self._published(mode) for mode in MODES}
            game.log_reader = WholeFileLogReader(lambda: file.path, limits.__getitem__, game.game_id, limiter)
        else:
            game.log_reader = GrowingLogReader(lambda: file.path, lambda: bytes_read, game.game_id, limiter)

    def _published(self, mode: FramesMode) -> Position | None:
        """The position of the newest published message; `None` if all messages were published."""
        return None if self.game is None or self.game.ended else self.game.logs[mode].head

    def _published_bytes(self) -> int:
        """Number of bytes of the file that were published, including by an earlier reading of the same file."""
        game = self.game
        before = 0 if game is None else max(log.head.offset for log in game.logs.values())
        return max(before, self.pipeline.bytes_read)
