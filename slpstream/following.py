"""A file that a station follows, and what has come of it so far."""

from __future__ import annotations

import trio

from slpstream.formats import of_name
from slpstream.messages import FramesMode, Position
from slpstream.pipeline import Pipeline
from slpstream.replay import MODES, FileReplay, RecordingReplay
from slpstream.stream import Game
from slpstream.tail import TailedFile


class Following:
    """A file that is being read. `existed`: it was there before, and is not live before its end was reached."""

    def __init__(self, file: TailedFile, pipeline: Pipeline, *, existed: bool) -> None:
        self.file = file
        self.pipeline = pipeline
        self.existed = existed
        self.game: Game | None = None
        self.grown_at = trio.current_time()
        self.written_whole = of_name(file.path.name).written_whole
        self.play_of: int | None = None
        """Size of the file, of a format that is written in one go, when it was taken as complete."""

    @property
    def behind(self) -> bool:
        """Bytes of the file wait to be read."""
        if self.written_whole:
            return self.play_of != self.file.size_bytes
        return self.pipeline.bytes_read < self.file.size_bytes

    def replay(self, game_id: str, limiter: trio.CapacityLimiter) -> FileReplay | RecordingReplay:
        """Its game read back from it, as far as it was read."""
        if self.written_whole:
            return RecordingReplay(lambda: self.file.path, self.published, game_id, limiter)
        return FileReplay(lambda: self.file.path, lambda: self.pipeline.bytes_read, game_id, limiter)

    def let_go(self, limiter: trio.CapacityLimiter) -> None:
        """Nobody follows it any more. Its game stays known, and does not hold on to the pipeline: that is megabytes."""
        game, file, bytes_read = self.game, self.file, self.pipeline.bytes_read
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
