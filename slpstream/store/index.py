"""The index, for use under trio. Stations report their games without waiting, one task writes them, and another one
reads old files.

We consider the replay files as the source of truth, and not the database. So if the disk is full or the database is
damaged, we log and count the error, but streaming continues. If a game couldn't be written, the next scan of the
folders will find it.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import trio

from slpstream.model.foreign_data import json_or_none
from slpstream.model.highlight import Highlight
from slpstream.model.setup import CodeList, Pacing
from slpstream.model.summary import IndexedGame
from slpstream.store.arrival_times import ArrivalTimes
from slpstream.store.backfill import OldFile, Read, ReadArchive, path_key
from slpstream.store.database import Database
from slpstream.store.game_record import Entry, GameRecord
from slpstream.store.game_rows import Page, StoredGame
from slpstream.store.games_query import GamesQuery
from slpstream.store.known_facts import MakeFilter
from slpstream.store.live_database import LiveDatabase
from slpstream.store.old_files import OldFiles
from slpstream.store.pending_entries import PendingEntries
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger

_FLUSH_SECONDS = 2.0
RETRY_SECONDS = 10.0
"""Interval of attempts to use a failing database while there is nothing to write."""
_MAX_UNKEPT = 5000
"""Maximum number of things of parts that wait for a failing database. The oldest ones are dropped."""

T = TypeVar("T")


class GameIndex:
    """The index of one daemon. Call `run` in exactly one task."""

    def __init__(
        self,
        database: Database,
        read: Read | None,
        *,
        on_error: Callable[[], None] = lambda: None,
        on_change: Callable[[str | None], None] = lambda station: None,
        on_replaced: Callable[[], None] = lambda: None,
        temporary: str | None = None,
        arrivals: ArrivalTimes | None = None,
        errors: InternalErrors | None = None,
        read_archive: ReadArchive | None = None,
    ) -> None:
        """`read` reads old files and `read_archive` reads archives. If you pass `None`, these are not indexed.

        Set `temporary` if the database will be lost at the end of this run, and give the reason. If you don't pass
        `arrivals`, we use the clocks of the machine.

        `on_error` is called whenever SQLite fails. `on_change` is called when games have changed, with their station,
        or with `None` if we don't know it. `on_replaced` is called after a damaged database was replaced by an empty
        one. In this case, you should call `listed` with all files again. None of these callbacks is allowed to block.
        """
        self.temporary = temporary
        """The reason why the index is lost at the end of this run, or `None` if it is kept."""
        self._errors = errors or InternalErrors()
        self._on_change = on_change
        self._arrivals = arrivals or ArrivalTimes()
        self._database = LiveDatabase(database, on_error, on_replaced)
        self._pending = PendingEntries(on_change)
        self._old_files = (
            None
            if read is None
            else OldFiles(read, read_archive, self._known_files, self._stale_members, self._pending, self._errors)
        )
        self._to_remember: set[str] = set()
        """The keys of remembered values that are not in the database yet."""
        self._unkept: dict[Hashable, Callable[[Database], bool]] = {}
        """The work of parts that could not be done yet, by the keys of what it stores."""
        self._log = get_logger()

    @property
    def games(self) -> int:
        """The number of games. This blocks, so you should read it in a worker thread."""
        try:
            return self._database.database.games.count()
        except sqlite3.Error:
            return 0

    @property
    def trouble(self) -> str | None:
        """If the index doesn't work or isn't kept, this explains why, in words for people. Otherwise, it is `None`."""
        if self.temporary is not None:
            return f"it is kept for this run alone: {self.temporary}"
        problem = self._database.problem
        return None if problem is None else f"it does not work: {problem}"

    @property
    def waiting_files(self) -> int:
        """How many old files still have to be read."""
        return 0 if self._old_files is None else self._old_files.waiting

    def played(
        self,
        station: str,
        path: Path,
        mtime_ns: int,
        size_bytes: int,
        record: GameRecord,
        arrived_at_ms: int | None = None,
        *,
        ended_at_ms: int | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        """Store the record of the game in a file, and how we saw it arrive and end. This doesn't wait."""
        entry = Entry(
            station=station,
            path=path_key(path),
            mtime_ns=mtime_ns,
            size_bytes=size_bytes,
            record=record,
            arrived_at_ms=arrived_at_ms,
            ended_at_ms=ended_at_ms,
            pacing=pacing,
        )
        if arrived_at_ms is not None:
            self._arrivals.note(record.game_id, arrived_at_ms)
        if self._old_files is not None:
            self._old_files.note_reported(entry.path)
        self._pending.update(entry)

    def listed(self, station: str, files: Iterable[tuple[Path, int, int]], archives: Iterable[OldFile] = ()) -> None:
        """Index files that a station has found, and that nothing is writing to. This doesn't wait.

        For each file, you pass its path, its modification time in nanoseconds and its size in bytes. Files that are new
        or have changed are read in the background. Each of the `archives` is read once, from its beginning to its end.
        """
        if self._old_files is not None:
            self._old_files.add(station, [*(OldFile(*file) for file in files), *archives])

    def gone(self, path: Path) -> None:
        """Remove a file, because it doesn't exist any more. This doesn't wait."""
        self._pending.remove([path_key(path)])

    async def page(self, query: GamesQuery, folders: Sequence[Path] = (), only: MakeFilter | None = None) -> Page:
        """Return a page of the games that match a query. If the database fails, the page is empty.

        If `query.watched` is set, you only get games that have a file below one of the `folders`. `only` is used to
        turn `query.query` into a condition.
        """
        paths = [path_key(folder) for folder in folders]
        page = await self._database.call(lambda database: database.games.page(query, paths, only))
        return Page([], None) if page is None else page

    async def game(self, game_id: str) -> StoredGame | None:
        """Return one game, or `None` if we don't know it."""
        return await self._database.call(lambda database: database.games.get(game_id))

    async def game_ids(self, station: str) -> Mapping[bytes, tuple[int, int, str]]:
        """Return the games in the files of the given station, in the same form as `Games.game_ids`.

        If the database fails, this is empty.
        """
        return await self._database.call(lambda database: database.games.game_ids(station)) or {}

    async def keep_stats(self, game_id: str, stats: bytes) -> None:
        """Store the summary of a game's stats."""
        await self._database.call(lambda database: database.games.keep_stats(game_id, stats))

    async def keep_highlights(self, game_id: str, highlights: Sequence[Highlight]) -> None:
        """Store the highlights of a game. They must be in the order in which they ended."""
        await self._database.call(lambda database: database.highlights.keep(game_id, highlights))

    async def keep_codes(self, game_id: str, codes: CodeList | None) -> None:
        """Store the codes of a game. If the replay doesn't have a list of codes, pass `None`."""
        await self._database.call(lambda database: database.setups.keep_codes(game_id, codes))

    async def codes(self, fingerprint: str) -> CodeList | None:
        """Return the codes that have this fingerprint, or `None` if there is no game with them."""
        return await self._database.call(lambda database: database.setups.codes(fingerprint))

    async def read(self, work: Callable[[Database], T]) -> T | None:
        """Run work of a part that reads the database in a worker thread. Returns `None` if the database fails."""
        return await self._database.call(work)

    async def keep(self, key: Hashable, store: Callable[[Database], bool]) -> bool:
        """Run work of a part that stores something in the database, in a worker thread. If the database fails, the work
        is done later.

        `store` returns whether the thing is new, and so does this method. While it waits for the database, you can tell
        by its key whether it is.
        """
        if not self._unkept:
            stored = await self._database.change(store)
            if stored is not None:
                return stored
        is_new = key not in self._unkept
        self._unkept[key] = store
        if len(self._unkept) > _MAX_UNKEPT:
            del self._unkept[next(iter(self._unkept))]
        self._pending.wake_writer()
        return is_new

    async def expire(self, *, before_ms: int | None, max_bytes: int | None, spared: Collection[str] = ()) -> int:
        """Remove old games in the same way as `Games.expire`, and return how many were removed."""
        removed = await self._database.call(
            lambda database: database.games.expire(before_ms=before_ms, max_bytes=max_bytes, spared=spared)
        )
        return removed or 0

    async def played_on(self, station: str, limit: int) -> list[IndexedGame]:
        """Return the newest games of the given station, beginning with the newest."""
        return await self._database.call(lambda database: database.games.played(station, limit)) or []

    async def corrections(self) -> Mapping[str, bytes] | None:
        """Return the corrections that operators have made to sets, by station.

        If the database fails, this returns `None`.
        """
        if self._database.corrections is None:
            self._database.corrections = await self._database.call(lambda database: database.corrections.all())
        return self._database.corrections

    async def keep_corrections(self, station: str, corrections: bytes) -> bool:
        """Store the corrections to the sets of the given station.

        If that fails, this returns False, and you find the reason in `trouble`.
        """
        if self.temporary is not None:
            return False

        def keep(database: Database) -> bool:
            database.corrections.keep(station, corrections)
            return True

        if await self.corrections() is None or not await self._database.change(keep):
            return False
        known = self._database.corrections
        if known is not None:  # else they are read again, because a new database has replaced a damaged one
            self._database.corrections = {**known, station: corrections}
        return True

    def remember(self, key: str, value: Any) -> None:
        """Keep a value so that it survives the end of this run. This doesn't wait, but you can call `written` to do so.

        You can pass any value that can be represented as JSON. It replaces the one that you kept before, and `None`
        removes it. While the database fails, we keep the newest value in memory and write it later.
        """
        self._database.remembered[key] = None if value is None else msgspec.json.encode(value)
        self._to_remember.add(key)
        self._pending.wake_writer()

    async def remembered(self, key: str) -> Any:
        """Return the value that was passed to `remember`, in this run or an earlier one, or `None` if there's none."""
        if key not in self._database.remembered:
            found = await self._database.call(lambda database: (database.remembered.get(key),))
            if found is None:
                return None
            self._database.remembered.setdefault(key, *found)  # keeps a newer value that was set meanwhile
        value = self._database.remembered[key]
        return None if value is None else json_or_none(value, object)

    async def _known_files(self, station: str) -> Mapping[bytes, tuple[int, int]]:
        return await self._database.call(lambda database: database.games.known_files(station)) or {}

    async def _stale_members(self, archive: bytes, mtime_ns: int) -> Sequence[bytes]:
        return await self._database.call(lambda database: database.games.stale_members(archive, mtime_ns)) or ()

    async def written(self) -> None:
        """Wait until everything that was reported so far has arrived in the database."""
        await self._pending.written()

    async def run(self) -> None:
        """Write and read until cancelled. Entries that were reported before that are still written."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._errors.keep_running, "index", self._write)
                if self._old_files is not None:
                    nursery.start_soon(self._errors.keep_running, "index", self._old_files.run)
        finally:
            with trio.move_on_after(_FLUSH_SECONDS, shield=True):
                await self._flush()
                await self._database.close()

    async def _write(self) -> None:
        self._pending.wake_writer()  # entries can be left from before a failure
        while True:
            with trio.move_on_after(math.inf if self._database.problem is None else RETRY_SECONDS) as waiting:
                await self._pending.work()
            if waiting.cancelled_caught:
                await self._database.change(lambda database: database.check_writable())
                if not (self._to_remember or self._unkept):
                    continue
            self._pending.begin_writing()
            await self._flush()
            self._pending.end_writing()

    async def _flush(self) -> None:
        corrected = self._arrivals.corrected()
        if corrected:
            self._log.warning("clock was set; arrivals of games are corrected", games=len(corrected))
            await self._database.change(lambda database: database.games.correct_arrivals(corrected))
            self._on_change(None)
        if self._unkept:
            unkept = dict(self._unkept)
            if await self._database.change(lambda database: [work(database) for work in unkept.values()]) is not None:
                self._unkept = {key: each for key, each in self._unkept.items() if each is not unkept.get(key)}
        if self._to_remember:
            await self._write_remembered()
        while self._pending:
            entries, database = self._pending.take(), self._database.database
            store = partial(_store, entries=entries)
            with self._errors.contain("index") as contained:
                await self._database.change(store)
                if self._database.database is not database:  # damaged, and replaced by an empty one
                    await self._database.change(store)
            if contained.error_id is not None:  # one entry is at fault; the others can be stored
                for path, entry in entries.items():
                    with self._errors.contain("index", file=os.fsdecode(path)):
                        await self._database.change(partial(_store, entries={path: entry}))

    async def _write_remembered(self) -> None:
        values = {key: self._database.remembered[key] for key in self._to_remember}

        def store(database: Database) -> bool:
            database.remembered.keep(values)
            return True

        if await self._database.change(store):
            newest = self._database.remembered
            self._to_remember = {key for key in self._to_remember if newest[key] is not values.get(key, b"")}


def _store(database: Database, entries: Mapping[bytes, Entry | None]) -> None:
    database.games.add(entry for entry in entries.values() if entry is not None)
    database.games.remove_files([path for path, entry in entries.items() if entry is None])
