"""A file that a station follows, and the mapping from files to games."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import trio

from slpstream.daemon.station.frame_pacing import FramePacing
from slpstream.formats.registry import of_name
from slpstream.game.described import DescribedGame
from slpstream.game.log_reader import MODES, FileLogReader, GrowingLogReader, ReadUnwritten, WholeFileLogReader
from slpstream.game.pipeline import Pipeline
from slpstream.model.events import Diagnostic, Event, GameEnd, StatsUpdate
from slpstream.model.messages import FramesMode, Position
from slpstream.model.setup import Pacing
from slpstream.sources.tail import FileIdentity, TailedFile
from slpstream.sources.tail.identity import key_of
from slpstream.stream import Game, Role
from slpstream.system.files import WHOLE_FILE_BYTES

_MAX_HELD_BYTES = 1 << 16
"""About a second of a game of four players."""


class FollowedFile:
    """A file that is being read, with its pipeline and, once the game has begun, its game."""

    def __init__(self, file: TailedFile, pipeline: Pipeline, *, existed: bool, seen_at_ms: int) -> None:
        """`existed`: the file is older than the station, so it is live only once it has been read to its end.

        `seen_at_ms` is the wall clock, in Unix milliseconds.
        """
        self._seen_at_ms = None if existed else seen_at_ms
        self.file = file
        self.pipeline = pipeline
        self.existed = existed
        self.game: Game | None = None
        self.described: DescribedGame | None = None
        """The settings, result and metadata of the game so far; `None` until it begins."""
        self.ended_at_ms: int | None = None
        """When the game was seen to end, Unix time; `None` until then, and for a game that was over before."""
        self._pacing: FramePacing | None = None
        self.opened_at = self.grown_at = trio.current_time()
        self.grows = False
        """Whether the file has grown after it was read to its end."""
        self.copy_of: Game | None = None
        """The game that another file holds already, so that nothing of this one is published."""
        self._read_to_end = False
        self.written_whole = of_name(file.path.name).written_whole
        """Whether files of this format are written in one go. They are read once they have stopped changing."""
        self.unwritten = False
        """Whether the file does not exist yet because it cannot be written to the disk."""
        self.played_size_bytes: int | None = None
        """For a file written in one go: its size when it was considered complete."""
        self.playing = False
        """For a file written in one go: whether it is being read and published."""
        self.exhausted_size_bytes: int | None = None
        """The last known size of a file that is no longer read, whatever it grows to."""
        self._keep_checkpoint: Callable[[Pipeline], None] | None = None
        self._held: list[bytes] = []
        self._held_bytes = 0

    def hold(self, data: bytes) -> bool:
        """Keep the next bytes of the file back from the pipeline; false if there are too many of them already."""
        if self._held_bytes + len(data) > _MAX_HELD_BYTES:
            return False
        self._held.append(data)
        self._held_bytes += len(data)
        return True

    def take_held(self) -> bytes:
        """The bytes that were held back, for the pipeline to take."""
        held, self._held, self._held_bytes = self._held, [], 0
        return b"".join(held)

    @property
    def read_bytes(self) -> int:
        """How many bytes of the file were read, with those that are held back."""
        return self.pipeline.bytes_read + self._held_bytes

    def is_copy(self) -> bool:
        """Whether nothing of this file is published, because another one holds its game."""
        return self.copy_of is not None

    def note_growth(self) -> None:
        """Take note that bytes were read."""
        self.grown_at = trio.current_time()
        self.grows = self.grows or self._read_to_end

    def note_end(self) -> None:
        """Take note that the file was read to its end."""
        self._read_to_end = True

    @property
    def arrived_at_ms(self) -> int | None:
        """When the first bytes were seen to arrive, Unix time.

        `None` for a file that was there before, one written in one go, and a game that is not seen to be played.
        """
        is_played = self.game is None or self.game.role is Role.PLAYED
        return self._seen_at_ms if is_played and not self.written_whole else None

    def note_frames(self, frames: int, frames_per_second: int) -> None:
        """Take note that new frames were in the bytes that were read last."""
        if self._pacing is None:
            self._pacing = FramePacing(1 / frames_per_second)
        self._pacing.arrived(frames, self.grown_at)

    @property
    def pacing(self) -> Pacing | None:
        """How evenly the frames of a game that has ended arrived; `None` if they were not seen to arrive."""
        ended = self._pacing is not None and self.ended_at_ms is not None and self.arrived_at_ms is not None
        return self._pacing.measured() if ended and self._pacing is not None else None

    @property
    def has_unread_bytes(self) -> bool:
        """Whether the file has bytes that have not been read. Those of a copy are not needed."""
        if self.is_copy():
            return False
        if self.written_whole:
            return self.played_size_bytes != self.file.size_bytes
        return self.exhausted_size_bytes is None and self.read_bytes < self.file.size_bytes

    @property
    def is_exhausted(self) -> bool:
        """Whether the rest of the file cannot change its log, or it is too long for a file written in one go."""
        return self.file.size_bytes > WHOLE_FILE_BYTES if self.written_whole else self.pipeline.exhausted

    @property
    def ahead_of_disk(self) -> bool:
        """Whether more bytes were read than the file has, because the disk is full."""
        return self.read_bytes > self.file.size_bytes

    def describe(self, events: Sequence[Event], now_ms: int) -> bool:
        """Update the summary of the game from notable events, which came at the Unix time `now_ms`.

        Returns whether any of them is more than a stats update, of which only the newest matters.
        """
        events = [event for event in events if type(event) is not Diagnostic]
        if self.described is None:
            return False
        self.described.take(events)
        if self.ended_at_ms is None and not self.existed and any(type(event) is GameEnd for event in events):
            self.ended_at_ms = now_ms
        changed = any(type(event) is not StatsUpdate for event in events)
        if changed and self.game is not None:
            # Without the metadata, because its names would appear on stream only after the game.
            self.game.summary = self.described.summary(with_metadata=False)
        return changed

    def after_read(self, offset: int, data: bytes) -> tuple[int, bytes]:
        """The part of `data`, which begins at file offset `offset`, that has not been read yet.

        Returns the offset of that part and its bytes, or no bytes if there is a gap before `data`.
        """
        read = self.read_bytes
        if offset == read:
            return offset, data
        return read, data[read - offset :] if offset < read else b""

    def open_log(
        self, game_id: str, limiter: trio.CapacityLimiter, read_unwritten: ReadUnwritten | None
    ) -> FileLogReader:
        """Open a reader for the log of the game in this file, up to the newest published message."""
        if self.written_whole:
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
        if self.written_whole:
            limits = {mode: self._published(mode) for mode in MODES}
            game.log_reader = WholeFileLogReader(lambda: file.path, limits.__getitem__, game.game_id, limiter)
        else:
            game.log_reader = GrowingLogReader(lambda: file.path, lambda: bytes_read, game.game_id, limiter)

    def _published(self, mode: FramesMode) -> Position | None:
        """The position of the newest published message; `None` if all messages were published."""
        return None if self.game is None or self.game.ended else self.game.logs[mode].head

    def _published_bytes(self) -> int:
        """How many bytes of the file were published, including an earlier reading of the same file."""
        game = self.game
        before = 0 if game is None else max(log.head.offset for log in game.logs.values())
        return max(before, self.pipeline.bytes_read)


class GamesByFile:
    """A station's games by file, so that a file that is read again continues its game."""

    def __init__(self) -> None:
        self._games: dict[tuple[FileIdentity, str], tuple[Game, TailedFile]] = {}

    def put(self, file: TailedFile, game: Game) -> None:
        """Record that `file` holds `game`."""
        self._games[file.identity, game.game_id] = (game, file)

    def find(self, file: TailedFile, game_id: str) -> Game | None:
        """The game with this id that `file` holds or held."""
        game, _ = self._games.get((file.identity, game_id), (None, None))
        return game

    def can_continue(self, game: Game) -> bool:
        """Whether a game that has stopped goes on if its file, or a copy of it, does."""
        return any(held is game for held, _ in self._games.values())

    def forget(self, game: Game) -> None:
        """Forget a game that will not continue, whatever its file contains later."""
        self._games = {key: held for key, held in self._games.items() if held[0] is not game}

    def forget_file(self, file: TailedFile) -> None:
        """Forget the games in a file whose bytes have changed."""
        changed = key_of(file.identity, str(file.path))
        self._games = {
            key: (game, held)
            for key, (game, held) in self._games.items()
            if key_of(held.identity, str(held.path)) != changed
        }

    def prune(self, known: Collection[Game], exists: Callable[[TailedFile], bool]) -> None:
        """Forget all games except those in `known`, and those that were left and whose files still exist."""
        kept = set(known)
        self._games = {
            key: (game, file)
            for key, (game, file) in self._games.items()
            if game in kept or (game.left and exists(file))
        }


def unwritten_file(path: Path, wall_clock_seconds: float) -> TailedFile:
    """A placeholder for a file that does not exist yet."""
    return TailedFile(path, FileIdentity(0, 0), 0, int(wall_clock_seconds * 1e9))
