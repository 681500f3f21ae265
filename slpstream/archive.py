"""The games of a station that are over: which files they are in, and how an old cursor finds its game among them.

What was played before this daemon started is not streamed, but it is known. A file's game id is read when somebody asks
for a game, newest file first, and only until the wanted one is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import trio

from slpstream.errors import NoSuchGame
from slpstream.replay import archived_game, peek_game_id
from slpstream.stream import Game

_RECENT_FILES = 50


class Archive:
    """The files below a folder that are known and not followed."""

    def __init__(self, folder: Path, limiter: trio.CapacityLimiter) -> None:
        """`limiter` bounds the threads that read files."""
        self._folder = folder
        self._limiter = limiter
        self._files: dict[Path, tuple[int, int]] = {}
        """Modification time in nanoseconds and size."""
        self._game_ids: dict[tuple[Path, int], str | None] = {}

    def __len__(self) -> int:
        return len(self._files)

    def put(self, path: Path, mtime_ns: int, size_bytes: int) -> None:
        """A file that nobody follows (any more)."""
        self._files[path] = (mtime_ns, size_bytes)

    def discard(self, path: Path) -> None:
        """A file is followed now, or has gone."""
        self._files.pop(path, None)

    def newest(self) -> list[dict[str, Any]]:
        """The newest files, as `/v1/stations/{id}` lists them. Names only, never paths."""
        newest = sorted(self._files.items(), key=lambda item: item[1], reverse=True)[:_RECENT_FILES]
        return [
            {"file": printable(path, self._folder), "modifiedAt": timestamp(mtime_ns / 1e9), "sizeBytes": size_bytes}
            for path, (mtime_ns, size_bytes) in newest
        ]

    async def games_from(self, game_id: str) -> list[Game]:
        """The game with this id and all newer ones. Raises `NoSuchGame`."""
        files = sorted(((at, path) for path, at in self._files.items()), reverse=True)
        found = await trio.to_thread.run_sync(self._find, files, game_id, limiter=self._limiter)
        return [archived_game(path, mtime_ns, found_id, self._limiter) for path, mtime_ns, found_id in found]

    def _find(self, files: Sequence[tuple[tuple[int, int], Path]], game_id: str) -> list[tuple[Path, int, str]]:
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


def timestamp(unix_seconds: float) -> str:
    """A wall-clock time as messages have it: ISO 8601, UTC, milliseconds."""
    return datetime.fromtimestamp(unix_seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def printable(path: Path, folder: Path) -> str:
    """A file as people see it: relative to its station's folder, and always text."""
    relative = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
    return str(relative).encode("utf-8", "replace").decode()
