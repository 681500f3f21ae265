"""The archive of a station.

These are the files that it doesn't follow, and the search in them for the game of an old cursor.

Games from before the start of this daemon are known but not streamed. We only read their ids when a client asks for a
game. To find it, we go from the newest file to the oldest. If several files hold the same game, the one that holds most
of it counts. This means that the older files are searched as well, unless one of the newer ones is whole.

Clients can ask for games that do not exist. This is why a single search serves all of them. It works in short slices,
and its result is kept until the files change.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import trio

from slpstream.daemon.station.context import StationContext
from slpstream.formats.registry import of_name
from slpstream.game.log_reader import archived_game, peek_game_id
from slpstream.model.errors import CursorGone, FormatError, NoSuchGame
from slpstream.model.messages import timestamp
from slpstream.sources.tail.events import TailedFile
from slpstream.store.backfill import path_key
from slpstream.stream.game import Game
from slpstream.system.files import open_regular, printable

_RECENT_FILES = 50
_END_BYTES = 16 * 1024
"""How many bytes we read at each end of a file to see whether it is whole."""
_SLICE_SECONDS = 0.02
_FEW_FILES = 100
"""Up to this number of files, we open the files without asking the index first, because it would return all files of
the station."""
_GAMES_AT_ONCE = 100


class Archive:
    """The files below a folder that are known but not followed."""

    def __init__(self, context: StationContext, files: Callable[[], Sequence[TailedFile]]) -> None:
        """`files` returns the files in the archive. Unless one of them has changed, this must be the same object."""
        self._context = context
        self._files = files
        self._described: Sequence[TailedFile] = ()
        self._newest: list[dict[str, Any]] = []
        self._search = _Search((), {})
        self._one_search = trio.Lock()

    def newest(self) -> list[dict[str, Any]]:
        """Return the newest files as `/v1/stations/{id}` lists them, with names that are relative to the folder."""
        files = self._files()
        if files is not self._described:
            self._described = files
            self._newest = [
                {
                    "file": printable(file.path, self._context.folder),
                    "modifiedAt": timestamp(file.mtime_ns / 1e9),
                    "sizeBytes": file.size_bytes,
                }
                for file in heapq.nlargest(_RECENT_FILES, files, key=_age)
            ]
        return self._newest

    async def games_from(self, game_id: str) -> list[Game]:
        """Return the game with this id and all newer ones.

        Raises `NoSuchGame` if there is no such game, and `CursorGone` if it may be in a file that can't be read now.
        """
        async with self._one_search:
            search = await self._search_for(game_id)
            if game_id not in search.found and search.unreadable is not None:
                raise CursorGone(f"a replay cannot be read, perhaps that of this game: {search.unreadable}")
            if game_id not in search.found:
                raise NoSuchGame(f"no such game: {game_id}")
            found = await trio.to_thread.run_sync(search.games_from, game_id)
        games: list[Game] = []
        for file, mtime_ns, its_id in found:
            if len(games) % _GAMES_AT_ONCE == 0:
                await trio.lowlevel.checkpoint()
            # The path is looked up each time, because files are renamed.
            games.append(archived_game(partial(getattr, file, "path"), mtime_ns, its_id, self._context.limiter))
        return games

    async def _search_for(self, game_id: str) -> _Search:
        """Search the files that are there now until this game is found or all files have been read."""
        files = self._files()
        search = self._search
        if search.listing is not files or search.unreadable is not None:
            search = await trio.to_thread.run_sync(_Search, files, search.game_ids)
            if self._context.index is not None and len(files) - len(search.game_ids) > _FEW_FILES:
                stored = await self._context.index.game_ids(self._context.id)
                await trio.to_thread.run_sync(search.take, stored)
            self._search = search
        while game_id not in search.found and not search.over:
            await trio.to_thread.run_sync(search.advance)
        return search


class _Search:
    """An incremental search of files for games, which begins with the newest file. It never reads a file twice.

    The methods block. You can call them in any thread, but only one at a time.
    """

    def __init__(self, listing: Sequence[TailedFile], known: Mapping[tuple[Path, int], str | None]) -> None:
        """`known` are the game ids that earlier searches have found, or `None` for each file without a game. They are
        valid for a file as long as its path and its modification time in nanoseconds stay the same.
        """
        self.listing = listing
        self.files = sorted(listing, key=_age, reverse=True)
        self.found: set[str] = set()
        self.unreadable: str | None = None
        """The reason why one of the files could not be read."""
        self._keys = [(file.path, file.mtime_ns) for file in self.files]
        self.game_ids = {key: known[key] for key in self._keys if key in known}
        self._next = 0

    @property
    def over(self) -> bool:
        """Whether all files were read."""
        return self._next == len(self.files)

    def take(self, stored: Mapping[bytes, tuple[int, int, str]]) -> None:
        """Take the game ids from the index for those files that haven't changed since they were indexed."""
        for file, key in zip(self.files, self._keys, strict=True):
            if key not in self.game_ids:
                mtime_ns, size_bytes, game_id = stored.get(path_key(key[0]), (0, 0, ""))
                if (mtime_ns, size_bytes) == (key[1], file.size_bytes):
                    self.game_ids[key] = game_id

    def advance(self) -> None:
        """Read files for the duration of one slice."""
        deadline = time.monotonic() + _SLICE_SECONDS
        while not self.over and time.monotonic() < deadline:
            game_id = self._game_id(self._next)
            self._next += 1
            if game_id is not None:
                self.found.add(game_id)

    def games_from(self, game_id: str) -> list[tuple[TailedFile, int, str]]:
        """Return the files of a game that was found, and of all newer games, each with its modification time and game
        id.
        """
        keys = self._keys
        count = 1 + next(place for place, key in enumerate(keys) if self.game_ids.get(key) == game_id)
        while True:
            fullest = self._fullest(count)
            if fullest[game_id] < count:
                break
            count = fullest[game_id] + 1  # an older file has more of the wanted game, so more files are newer than it
        found = sorted((place, its_id) for its_id, place in fullest.items() if place < count)
        return [(self.files[place], keys[place][1], its_id) for place, its_id in found]

    def _fullest(self, count: int) -> dict[str, int]:
        """Return the place of the file that holds most of each game, for the games in the newest `count` files.

        If none of these files has a whole game, the older and larger files are searched for it too.
        """
        fullest: dict[str, int] = {}
        for place in range(count):
            game_id = self._game_id(place)
            if game_id is not None and self._holds_more(place, fullest.get(game_id)):
                fullest[game_id] = place
        cut_off = {game_id for game_id, place in fullest.items() if not _is_whole(self.files[place].path)}
        for place in range(count, len(self.files)):
            if not any(self._holds_more(place, fullest[game_id]) for game_id in cut_off):
                continue
            game_id = self._game_id(place)
            if game_id in cut_off and self._holds_more(place, fullest[game_id]):
                fullest[game_id] = place
                if _is_whole(self.files[place].path):
                    cut_off.remove(game_id)
        return fullest

    def _holds_more(self, place: int, other: int | None) -> bool:
        return other is None or self.files[place].size_bytes > self.files[other].size_bytes

    def _game_id(self, place: int) -> str | None:
        """Return the id of the game in a file, or `None` if there is no game in it or it cannot be read now."""
        key = self._keys[place]
        if key not in self.game_ids:
            try:
                self.game_ids[key] = peek_game_id(key[0])
            except FileNotFoundError:
                pass  # it has just been removed
            except OSError as error:
                self.unreadable = error.strerror or type(error).__name__
        return self.game_ids.get(key)


def _is_whole(path: Path) -> bool:
    """Whether the two ends of the file show a finished game, which means that no other file has more of it."""
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


def _age(file: TailedFile) -> tuple[int, int, Path]:
    return file.mtime_ns, file.size_bytes, file.path
