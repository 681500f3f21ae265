"""A file that a station follows, and what has come of it so far."""

from __future__ import annotations

from collections.abc import Callable

import trio

from slpstream.formats import of_name
from slpstream.messages import FramesMode, Position
from slpstream.pipeline import Pipeline
from slpstream.stream import Game
from slpstream.tail import TailedFile


class Following:
    """A file that is being read. `existed`: it was there before, and is not live before its end was reached."""

    def __init__(self, file: TailedFile, pipeline: Pipeline, *, existed: bool) -> None:
        self.file = file
        self.pipeline = pipeline
        self.existed = existed
        self.game: Game | None = None
        self.keep: Callable[[Pipeline], None] | None = None
        """Takes a copy of the pipeline now and then, for who reads the log back."""
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

    def published(self, mode: FramesMode) -> Position | None:
        """The newest message of the game that was published; `None` when all were."""
        return None if self.game is None or self.game.ended else self.game.logs[mode].head
