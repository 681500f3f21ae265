"""A file that a station follows, and the games that its files hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import trio

from slpstream.formats.registry import of_name
from slpstream.game.described import DescribedGame
from slpstream.game.log_reader import MODES, FileLogReader, GrowingLogReader, ReadUnwritten, WholeFileLogReader
from slpstream.game.pipeline import Pipeline
from slpstream.model.events import Diagnostic, Event, StatsUpdate
from slpstream.model.messages import FramesMode, Position
from slpstream.sources.tail import FileIdentity, TailedFile
from slpstream.stream import Game


class FollowedFile:
    """A file that is being read, its pipeline, and its game once it has begun."""

    def __init__(self, file: TailedFile, pipeline: Pipeline, *, existed: bool) -> None:
        """`existed`: the file was there before, and is not live until its end is reached."""
        self.file = file
        self.pipeline = pipeline
        self.existed = existed
        self.game: Game | None = None
        self.described: DescribedGame | None = None
        """What is known of the game apart from its frames, once it has begun."""
        self.grown_at = trio.current_time()
        self.written_whole = of_name(file.path.name).written_whole
        """The format's files are written in one go, and read when they have come to rest."""
        self.unwritten = False
        """There is no such file yet, because the disk does not take it."""
        self.played_size_bytes: int | None = None
        """Size of a file written in one go when it was taken as complete."""
        self.playing = False
        """A file written in one go is being read and published."""
        self._keep_checkpoint: Callable[[Pipeline], None] | None = None

    @property
    def has_unread_bytes(self) -> bool:
        """Whether bytes of the file wait to be read."""
        if self.written_whole:
            return self.played_size_bytes != self.file.size_bytes
        return self.pipeline.bytes_read < self.file.size_bytes

    @property
    def ahead_of_disk(self) -> bool:
        """Whether more bytes were read than the file has, because the disk did not take them."""
        return self.pipeline.bytes_read > self.file.size_bytes

    def describe(self, events: Sequence[Event]) -> bool:
        """Update the summary of the game from notable events.

        Returns whether they tell more than stats, of which only the last ones count.
        """
        events = [event for event in events if type(event) is not Diagnostic]
        if self.described is None:
            return False
        self.described.take(events)
        changed = any(type(event) is not StatsUpdate for event in events)
        if changed and self.game is not None:
            # Without the metadata, because its names would appear on stream only after the game.
            self.game.summary = self.described.summary(with_metadata=False)
        return changed

    def after_read(self, offset: int, data: bytes) -> tuple[int, bytes]:
        """The part of `data`, which stands at `offset`, that follows what was read.

        Returns its offset and the bytes; no bytes if some are missing in between.
        """
        read = self.pipeline.bytes_read
        if offset == read:
            return offset, data
        return read, data[read - offset :] if offset < read else b""

    def open_log(
        self, game_id: str, limiter: trio.CapacityLimiter, read_unwritten: ReadUnwritten | None
    ) -> FileLogReader:
        """A reader for the log of the game in this file, as far as it was published."""
        if self.written_whole:
            return WholeFileLogReader(lambda: self.file.path, self._published, game_id, limiter)
        reader = GrowingLogReader(lambda: self.file.path, self._published_bytes, game_id, limiter, read_unwritten)
        self._keep_checkpoint = reader.keep
        return reader

    def keep_checkpoint(self) -> None:
        """Let the log's reader copy the pipeline now and then, for short jumps into a running game."""
        if self._keep_checkpoint is not None:
            self._keep_checkpoint(self.pipeline)

    def release(self, limiter: trio.CapacityLimiter) -> None:
        """Stop following the file. Its game stays known, without the pipeline, which is megabytes."""
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
        """The newest message of the game that was published; `None` when all of them were."""
        return None if self.game is None or self.game.ended else self.game.logs[mode].head

    def _published_bytes(self) -> int:
        """How far the file was read, now or, if it is being read again, before."""
        game = self.game
        before = 0 if game is None else max(log.head.offset for log in game.logs.values())
        return max(before, self.pipeline.bytes_read)


class GamesByFile:
    """A station's games by the files that hold them, so that a file that is read again goes on with its game."""

    def __init__(self) -> None:
        self._games: dict[tuple[FileIdentity, str], tuple[Game, TailedFile]] = {}

    def put(self, file: TailedFile, game: Game) -> None:
        """Record that `file` holds `game`."""
        self._games[file.identity, game.game_id] = (game, file)

    def find(self, file: TailedFile, game_id: str) -> Game | None:
        """The game with this id that `file` holds or held."""
        game, _ = self._games.get((file.identity, game_id), (None, None))
        return game

    def forget(self, game: Game) -> None:
        """Forget a game that does not go on, whatever its file will hold."""
        self._games = {key: held for key, held in self._games.items() if held[0] is not game}

    def prune(self, known: Collection[Game], exists: Callable[[TailedFile], bool]) -> None:
        """Keep the games in `known`, and those that were left and whose files still exist."""
        kept = set(known)
        self._games = {
            key: (game, file)
            for key, (game, file) in self._games.items()
            if game in kept or (game.left and exists(file))
        }


def unwritten_file(path: Path, wall_clock_seconds: float) -> TailedFile:
    """A stand-in for a file that is not there yet."""
    return TailedFile(path, FileIdentity(0, 0), 0, int(wall_clock_seconds * 1e9))
