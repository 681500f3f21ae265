"""A file that a station follows, and what has come of it so far; what a station needs others for; old games' files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

import trio

from slpstream.errors import NoSuchGame
from slpstream.events import Event
from slpstream.formats import of_name
from slpstream.messages import FramesMode, Position
from slpstream.pipeline import Pipeline
from slpstream.replay import peek_game_id
from slpstream.stream import Game
from slpstream.tail import FileIdentity, TailedFile


class Following:
    """A file that is being read. `existed`: it was there before, and is not live before its end was reached."""

    def __init__(self, file: TailedFile, pipeline: Pipeline, *, existed: bool) -> None:
        self.file = file
        self.pipeline = pipeline
        self.existed = existed
        self.game: Game | None = None
        self.grown_at = trio.current_time()
        self.written_whole = of_name(file.path.name).written_whole
        self.unwritten = False
        """There is no file yet: the disk does not take it."""
        self.play_of: int | None = None
        """Size of the file, of a format that is written in one go, when it was taken as complete."""

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

    def unread(self, offset: int, data: bytes) -> tuple[int, bytes]:
        """What of the bytes at a file offset follows those that were read; nothing when some are missing between."""
        read = self.pipeline.bytes_read
        if offset == read:
            return offset, data
        return read, data[read - offset :] if offset < read else b""

    def published(self, mode: FramesMode) -> Position | None:
        """The newest message of the game that was published; `None` when all were."""
        return None if self.game is None or self.game.ended else self.game.logs[mode].head


def unwritten_file(path: Path, wall_clock_seconds: float) -> TailedFile:
    """Stands for a file that is not there yet."""
    return TailedFile(path, FileIdentity(0, 0), 0, int(wall_clock_seconds * 1e9))


class ByteTap(Protocol):
    """Who wants the bytes of a station's games as they come; returns at once."""

    def grew(self, following: Following, offset: int, data: bytes) -> None:
        """The next bytes of a file, at their offset in it, each once and without holes."""


class Index(Protocol):
    """Who keeps a list of the games; all of it returns at once."""

    def played(
        self, station: str, path: Path, mtime_ns: int, size_bytes: int, game_id: str, events: Iterable[Event]
    ) -> None:
        """What was read from a file; without events, that it is finished with."""

    def listed(self, station: str, files: Iterable[tuple[Path, int, int]]) -> None:
        """Files that were there before: path, modification time in nanoseconds, size."""

    def gone(self, path: Path) -> None:
        """A file is not there any more."""


class OldGames:
    """Which game is in which of the files that are not followed."""

    def __init__(self) -> None:
        self._game_ids: dict[tuple[Path, int], str | None] = {}

    def find(self, files: Sequence[tuple[tuple[int, int], Path]], game_id: str) -> list[tuple[Path, int, str]]:
        """In a worker thread: newest first, until the wanted game is found. Raises `NoSuchGame`."""
        found: list[tuple[Path, int, str]] = []
        seen: set[str] = set()
        for (mtime_ns, _), path in files:
            key = (path, mtime_ns)
            if key not in self._game_ids:
                self._game_ids[key] = peek_game_id(path)
            found_id = self._game_ids[key]
            if found_id is None or found_id in seen:
                continue  # of the same game twice, the newest file counts
            seen.add(found_id)
            found.append((path, mtime_ns, found_id))
            if found_id == game_id:
                return found
        raise NoSuchGame(f"no such game: {game_id}")
