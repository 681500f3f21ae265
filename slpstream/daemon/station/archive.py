"""The games of a station that are over: which files hold them, and how an old cursor finds its game.

Games from before this daemon started are known, but not streamed. A file's game id is read when a game is
asked for, newest file first, and only until the wanted game is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.game.log_reader import archived_game, peek_game_id
from slpstream.model.errors import CursorGone, NoSuchGame
from slpstream.model.messages import timestamp
from slpstream.sources.tail import TailedFile
from slpstream.stream import Game
from slpstream.system.files import printable

_RECENT_FILES = 50


class Archive:
    """The files below a folder that are known and not followed."""

    def __init__(self, folder: Path, limiter: trio.CapacityLimiter, files: Callable[[], Sequence[TailedFile]]) -> None:
        """`limiter` bounds the threads that read files; `files` returns the archived files as of now."""
        self._folder = folder
        self._limiter = limiter
        self._files = files
        self._game_ids: dict[tuple[Path, int], str | None] = {}
        """By path and modification time in nanoseconds; `None` for a file without a game."""

    def newest(self) -> list[dict[str, Any]]:
        """The newest files, as `/v1/stations/{id}` lists them: names relative to the folder, never full paths."""
        return [
            {
                "file": printable(file.path, self._folder),
                "modifiedAt": timestamp(file.mtime_ns / 1e9),
                "sizeBytes": file.size_bytes,
            }
            for file in sorted(self._files(), key=_age, reverse=True)[:_RECENT_FILES]
        ]

    async def games_from(self, game_id: str) -> list[Game]:
        """The game with this id and all newer ones.

        Raises `NoSuchGame`, or `CursorGone` when the game may be in a file that cannot be read now.
        """
        files = sorted(self._files(), key=_age, reverse=True)
        found = await trio.to_thread.run_sync(self._find, files, game_id, limiter=self._limiter)
        # The path is looked up anew each time, because files are renamed.
        return [
            archived_game(partial(_path, file), mtime_ns, its_id, self._limiter) for file, mtime_ns, its_id in found
        ]

    def _find(self, files: Sequence[TailedFile], game_id: str) -> list[tuple[TailedFile, int, str]]:
        """In a worker thread: the wanted game's file and all newer ones. Raises the same errors as `games_from`."""
        keys = [(file.path, file.mtime_ns) for file in files]
        before = self._game_ids  # another thread may be here too
        known = self._game_ids = {key: before[key] for key in keys if key in before}
        found: list[tuple[TailedFile, int, str]] = []
        seen: set[str] = set()
        unreadable: str | None = None
        for file, key in zip(files, keys, strict=True):
            path, mtime_ns = key
            if key not in known:
                try:
                    known[key] = peek_game_id(path)
                except FileNotFoundError:
                    continue  # it has just been removed
                except OSError as error:
                    unreadable = error.strerror or type(error).__name__
                    continue
            found_id = known[key]
            if found_id is None or found_id in seen:
                continue  # of two files with the same game, the newer one counts
            seen.add(found_id)
            found.append((file, mtime_ns, found_id))
            if found_id == game_id:
                return found
        if unreadable is not None:
            raise CursorGone(f"a replay cannot be read, perhaps that of this game: {unreadable}")
        raise NoSuchGame(f"no such game: {game_id}")


def _path(file: TailedFile) -> Path:
    return file.path


def _age(file: TailedFile) -> tuple[int, int, Path]:
    return file.mtime_ns, file.size_bytes, file.path
