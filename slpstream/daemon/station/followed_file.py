"""A file that a station follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import trio

from slpstream.formats.registry import of_name
from slpstream.game.log_reader import FileLogReader, GrowingLogReader, ReadUnwritten, WholeFileLogReader
from slpstream.game.log_writer import MODES
from slpstream.model.events import Diagnostic, Event, GameEnd, StatsUpdate
from slpstream.stream.game import Game, Role

if TYPE_CHECKING:
    from slpstream.daemon.station.frame_pacing import FramePacing
    from slpstream.game.described import DescribedGame
    from slpstream.game.pipeline import Pipeline
    from slpstream.model.messages import FramesMode, Position
    from slpstream.model.setup import Pacing
    from slpstream.sources.tail.events import TailedFile

_MAX_HELD_BYTES = 1 << 16
"""This is about a second of a game with four players."""


class Growth:
    """Remembers when a file grew. All times are those of trio's clock."""

    def __init__(self, now: float) -> None:
        self.opened_at = self.grown_at = now
        self.seen = False
        """Whether the file has grown after it was read to its end."""
        self._read_to_end = False

    def note_growth(self, now: float) -> None:
        """Note that bytes were read."""
        self.grown_at = now
        self.seen = self.seen or self._read_to_end

    def note_end(self) -> None:
        """Note that the file was read to its end."""
        self._read_to_end = True


class FollowedFile:
    """A file that is being read, with its pipeline and, once the game has begun, its game."""

    def __init__(self, file: TailedFile, pipeline: Pipeline, *, existed: bool, seen_at_ms: int) -> None:
        """`existed` means that the file is older than the station, so it is only live once it has been read to its end.

        `seen_at_ms` is the wall clock in Unix milliseconds.
        """
        self.file = file
        self.pipeline = pipeline
        self.existed = existed
        self.game: Game | None = None
        self.growth = Growth(trio.current_time())
        self.copy_of: Game | None = None
        """The game that is already in another file. If this is set, nothing of this file is published."""
        self.unwritten = False
        """Whether the file doesn't exist yet, because it cannot be written to the disk."""
        self.exhausted_size_bytes: int | None = None
        """The last size that we know of a file that is no longer read, however much it grows."""

        self.written_whole = of_name(file.path.name).written_whole
        """Whether the game writes the file in one go. Such a file is read once it has stopped changing."""
        self.played_size_bytes: int | None = None
        """The size at which we considered a file complete that is written in one go."""
        self.playing = False
        """Whether a file that is written in one go is being read and published right now."""

        self.described: DescribedGame | None = None
        """The settings, the result and the metadata of the game so far. This is `None` until it begins."""
        self.ended_at_ms: int | None = None
        """When we saw the game end (Unix time). This is `None` until then, and stays `None` for a game that was already
        over."""
        self.frame_pacing: FramePacing | None = None
        """How evenly the frames arrive. This is `None` until the game begins, and stays `None` if its format has no
        frames."""
        self._seen_at_ms = None if existed else seen_at_ms

        self.log_reader: GrowingLogReader | None = None
        """Reads the log of a growing file back. It wants copies of the pipeline (`keep`), so that jumps into a running
        game are short."""
        self._held: list[bytes] = []
        self.held_bytes = 0
        """The number of bytes that are held back from the pipeline."""

    def hold(self, data: bytes) -> bool:
        """Hold the next bytes of the file back from the pipeline. Returns False if this would exceed the limit."""
        if self.held_bytes + len(data) > _MAX_HELD_BYTES:
            return False
        self._held.append(data)
        self.held_bytes += len(data)
        return True

    def take_held(self) -> bytes:
        """Return the bytes that were held back, so that the pipeline can have them."""
        held, self._held, self.held_bytes = self._held, [], 0
        return b"".join(held)

    @property
    def read_bytes(self) -> int:
        """The number of bytes of the file that were read, including those that are held back."""
        return self.pipeline.bytes_read + self.held_bytes

    @property
    def arrived_at_ms(self) -> int | None:
        """When we saw the first bytes arrive (Unix time).

        This is `None` if the file was there before us, was written in one go, or contains a game that we didn't see
        being played.
        """
        is_played = self.game is None or self.game.role is Role.PLAYED
        return self._seen_at_ms if is_played and not self.written_whole else None

    @property
    def pacing(self) -> Pacing | None:
        """How evenly the frames of a game that has ended arrived, or `None` if we didn't see them arrive."""
        if self.arrived_at_ms is None or self.ended_at_ms is None or self.frame_pacing is None:
            return None
        return self.frame_pacing.measured()

    @property
    def has_unread_bytes(self) -> bool:
        """Whether the file has bytes that we haven't read. In a copy, we do not need them."""
        if self.copy_of is not None:
            return False
        if self.written_whole:
            return self.played_size_bytes != self.file.size_bytes
        return self.exhausted_size_bytes is None and self.read_bytes < self.file.size_bytes

    @property
    def ahead_of_disk(self) -> bool:
        """Whether we have read more bytes than the file has. This happens if the disk is full."""
        return self.read_bytes > self.file.size_bytes

    def describe(self, events: Sequence[Event], now_ms: int) -> bool:
        """Update the summary of the game from notable events, which arrived at the Unix time `now_ms`.

        Returns whether any of them is more than an update of the stats, of which only the newest one matters.
        """
        if self.described is None:
            return False
        events = [event for event in events if type(event) is not Diagnostic]
        self.described.take(events)
        if self.ended_at_ms is None and not self.existed and any(type(event) is GameEnd for event in events):
            self.ended_at_ms = now_ms
        changed = any(type(event) is not StatsUpdate for event in events)
        if changed and self.game is not None:
            # Without the metadata, because its names would appear on stream only after the game.
            self.game.summary = self.described.summary(with_metadata=False)
        return changed

    def open_log(
        self, game_id: str, limiter: trio.CapacityLimiter, read_unwritten: ReadUnwritten | None
    ) -> FileLogReader:
        """Open a reader for the log of the game in this file, up to the newest message that was published."""
        if self.written_whole:
            return WholeFileLogReader(lambda: self.file.path, self._published, game_id, limiter)
        self.log_reader = GrowingLogReader(
            lambda: self.file.path, self._published_bytes, game_id, limiter, read_unwritten
        )
        return self.log_reader

    def release(self, limiter: trio.CapacityLimiter) -> None:
        """Stop following the file.

        Its game can still be read afterwards, without the pipeline, which takes megabytes.
        """
        game, file, bytes_read = self.game, self.file, self.pipeline.bytes_read
        self.log_reader = None  # it refers to this object, and reference cycles are freed late
        if game is None:
            return
        if self.written_whole:
            limits = {mode: self._published(mode) for mode in MODES}
            game.log_reader = WholeFileLogReader(lambda: file.path, limits.__getitem__, game.game_id, limiter)
        else:
            game.log_reader = GrowingLogReader(lambda: file.path, lambda: bytes_read, game.game_id, limiter)

    def _published(self, mode: FramesMode) -> Position | None:
        """Return the position of the newest published message, or `None` if all messages were published."""
        return None if self.game is None or self.game.ended else self.game.logs[mode].head

    def _published_bytes(self) -> int:
        """Return how many bytes of the file were published, in this reading of it or an earlier one."""
        game = self.game
        before = 0 if game is None else max(log.head.offset for log in game.logs.values())
        return max(before, self.pipeline.bytes_read)
