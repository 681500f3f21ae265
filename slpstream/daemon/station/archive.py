"""The games of a station that are over: which files hold them, and how an old cursor finds its game.

Games from before this daemon started are known, but not streamed. A file's game id is read when a game is
asked for, newest file first, and only until the wanted game is found. If several files hold the same
game, the one that holds most counts, so older files are searched too where the newer ones are not whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.formats.registry import of_name
from slpstream.game.log_reader import archived_game, peek_game_id
from slpstream.model.errors import CursorGone, FormatError, NoSuchGame
from slpstream.model.messages import timestamp
from slpstream.sources.tail import TailedFile
from slpstream.stream import Game
from slpstream.system.files import open_regular, printable

_RECENT_FILES = 50
_END_BYTES = 16 * 1024
"""How much is read of both ends of a file to see whether it is whole."""


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
        unreadable: str | None = None
        count = 0
        for place, key in enumerate(keys):
            unreadable = _peek(known, key) or unreadable
            if known.get(key) == game_id:
                count = place + 1
                break
        if not count and unreadable is not None:
            raise CursorGone(f"a replay cannot be read, perhaps that of this game: {unreadable}")
        if not count:
            raise NoSuchGame(f"no such game: {game_id}")
        while True:
            fullest = _fullest(files, keys, count, known)
            if fullest[game_id] < count:
                break
            count = fullest[game_id] + 1  # an older file has more of the wanted game, so more files are newer than it
        found = sorted((place, its_id) for its_id, place in fullest.items() if place < count)
        return [(files[place], keys[place][1], its_id) for place, its_id in found]


_Key = tuple[Path, int]


def _fullest(
    files: Sequence[TailedFile], keys: Sequence[_Key], count: int, known: dict[_Key, str | None]
) -> dict[str, int]:
    """The place of the file that holds most of each game, for the games in the newest `count` files. Blocks.

    For games of which none of these is whole, the older and larger files are searched too.
    """
    fullest: dict[str, int] = {}
    for place, key in enumerate(keys[:count]):
        _peek(known, key)
        game_id = known.get(key)
        if game_id is not None and _holds_more(files, place, fullest.get(game_id)):
            fullest[game_id] = place
    cut_off = {game_id for game_id, place in fullest.items() if not _is_whole(files[place].path)}
    for place in range(count, len(files)):
        if not any(_holds_more(files, place, fullest[game_id]) for game_id in cut_off):
            continue
        _peek(known, keys[place])
        game_id = known.get(keys[place])
        if game_id in cut_off and _holds_more(files, place, fullest[game_id]):
            fullest[game_id] = place
            if _is_whole(files[place].path):
                cut_off.remove(game_id)
    return fullest


def _holds_more(files: Sequence[TailedFile], place: int, other: int | None) -> bool:
    return other is None or files[place].size_bytes > files[other].size_bytes


def _peek(known: dict[_Key, str | None], key: _Key) -> str | None:
    """Add the game id of a file to those that are known. Returns why the file cannot be read; `None` if it can."""
    if key not in known:
        try:
            known[key] = peek_game_id(key[0])
        except FileNotFoundError:
            pass  # it has just been removed
        except OSError as error:
            return error.strerror or type(error).__name__
    return None


def _is_whole(path: Path) -> bool:
    """Whether the ends of the file show a finished game, so that no other file has more of it. Blocks."""
    format_ = of_name(path.name)
    if format_.written_whole or format_.preview is None:
        return True
    try:
        with open_regular(path) as file:
            head = file.read(_END_BYTES)
            offset = max(0, file.seek(0, os.SEEK_END) - _END_BYTES)
            file.seek(offset)
            preview = format_.preview(head, file.read(), offset)
    except (FormatError, OSError):
        return False
    return preview is not None and preview.end.reason != "error"


def _path(file: TailedFile) -> Path:
    return file.path


def _age(file: TailedFile) -> tuple[int, int, Path]:
    return file.mtime_ns, file.size_bytes, file.path
