"""A file that a station follows, and what has come of it so far; what a station needs others for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import trio

from slpstream.formats.registry import of_name
from slpstream.game.described import DescribedGame
from slpstream.game.log_reader import MODES, FileReplay, ReadUnwritten, RecordingReplay
from slpstream.game.pipeline import Pipeline
from slpstream.model.events import Event, StatsUpdate
from slpstream.model.messages import FramesMode, Position
from slpstream.sources.tail import FileIdentity, TailedFile
from slpstream.store import GameRecord
from slpstream.stream import Game


class FollowedFile:
    """A file that is being read. `existed`: it was there before, and is not live before its end was reached."""

    def __init__(self, file: TailedFile, pipeline: Pipeline, *, existed: bool) -> None:
        self.file = file
        self.pipeline = pipeline
        self.existed = existed
        self.game: Game | None = None
        self.described: DescribedGame | None = None
        self.keep: Callable[[Pipeline], None] | None = None
        """Takes a copy of the pipeline now and then, for who reads the log back."""
        self.grown_at = trio.current_time()
        self.written_whole = of_name(file.path.name).written_whole
        self.unwritten = False
        """There is no file yet: the disk does not take it."""
        self.play_of: int | None = None
        """Size of the file, of a format that is written in one go, when it was taken as complete."""
        self.playing = False
        """It is being read and told, of a format that is written in one go."""

    @property
    def behind(self) -> bool:
        """Bytes of the file wait to be read."""
        if self.written_whole:
            return self.play_of != self.file.size_bytes
        return self.pipeline.bytes_read < self.file.size_bytes

    @property
    def ahead(self) -> bool:
        """More bytes are known than the file has: the disk did not take them."""
        return self.pipeline.bytes_read > self.file.size_bytes

    def take(self, events: Sequence[Event]) -> bool:
        """Update the summary of the game from events that describe it. Returns whether they tell more than stats; the
        stats that count come with the end."""
        if self.described is None:
            return False
        self.described.take(events)
        changed = any(type(event) is not StatsUpdate for event in events)
        if changed and self.game is not None:
            # Without the metadata, because its names would appear on stream only after the game.
            self.game.summary = self.described.summary(with_metadata=False)
        return changed

    def unread(self, offset: int, data: bytes) -> tuple[int, bytes]:
        """What of the bytes at a file offset follows those that were read; nothing when some are missing between."""
        read = self.pipeline.bytes_read
        if offset == read:
            return offset, data
        return read, data[read - offset :] if offset < read else b""

    def replay(
        self, game_id: str, limiter: trio.CapacityLimiter, read_unwritten: ReadUnwritten | None
    ) -> FileReplay | RecordingReplay:
        """Its game read back from it, as far as it was read."""
        if self.written_whole:
            return RecordingReplay(lambda: self.file.path, self.published, game_id, limiter)
        replay = FileReplay(lambda: self.file.path, self._told_bytes, game_id, limiter, read_unwritten)
        self.keep = replay.keep
        return replay

    def _told_bytes(self) -> int:
        """How far the file was read, now or, of a game that is read again, before."""
        game = self.game
        before = 0 if game is None else max(log.head.offset for log in game.logs.values())
        return max(before, self.pipeline.bytes_read)

    def let_go(self, limiter: trio.CapacityLimiter) -> None:
        """Nobody follows it any more. Its game stays known, and does not hold on to the pipeline: that is megabytes."""
        game, file, bytes_read = self.game, self.file, self.pipeline.bytes_read
        self.keep = None  # it holds on to this, and would be freed late
        if game is None:
            return
        if self.written_whole:
            limits = {mode: self.published(mode) for mode in MODES}
            game.read_back_by(RecordingReplay(lambda: file.path, limits.__getitem__, game.game_id, limiter))
        else:
            game.read_back_by(FileReplay(lambda: file.path, lambda: bytes_read, game.game_id, limiter))

    def published(self, mode: FramesMode) -> Position | None:
        """The newest message of the game that was published; `None` when all were."""
        return None if self.game is None or self.game.ended else self.game.logs[mode].head


class GamesByFile:
    """Games of a station by the files that they are in, so that one that is read again goes on where it was."""

    def __init__(self) -> None:
        self._games: dict[tuple[FileIdentity, str], tuple[Game, TailedFile]] = {}

    def put(self, file: TailedFile, game: Game) -> None:
        """A game is in this file."""
        self._games[file.identity, game.game_id] = (game, file)

    def find(self, file: TailedFile, game_id: str) -> Game | None:
        """The game of this id that is or was in this file."""
        game, _ = self._games.get((file.identity, game_id), (None, None))
        return game

    def forget(self, game: Game) -> None:
        """It does not go on, whatever its file will hold."""
        self._games = {key: held for key, held in self._games.items() if held[0] is not game}

    def prune(self, known: Collection[Game], there: Callable[[TailedFile], bool]) -> None:
        """Keeps those that are known, and those that were left and whose files are `there`."""
        kept = set(known)
        self._games = {
            key: (game, file)
            for key, (game, file) in self._games.items()
            if game in kept or (game.left and there(file))
        }


def unwritten_file(path: Path, wall_clock_seconds: float) -> TailedFile:
    """Stands for a file that is not there yet."""
    return TailedFile(path, FileIdentity(0, 0), 0, int(wall_clock_seconds * 1e9))


class ByteConsumer(Protocol):
    """Who wants the bytes of a station's games as they come; returns at once."""

    def grew(self, following: FollowedFile, offset: int, data: bytes) -> None:
        """The next bytes of a file, at their offset in it, without holes. One that is read again, because it was not
        followed for a while, comes again from its beginning."""


class Index(Protocol):
    """Keeps a list of the games. All methods return at once."""

    def played(self, station: str, path: Path, mtime_ns: int, size_bytes: int, record: GameRecord) -> None:
        """Keep what is known of the game in a file."""

    def listed(self, station: str, files: Iterable[tuple[Path, int, int]]) -> None:
        """Files that were there before: path, modification time in nanoseconds, size."""

    def gone(self, path: Path) -> None:
        """A file is not there any more."""
