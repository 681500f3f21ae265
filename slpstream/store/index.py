"""The index under trio: stations report games without waiting, one task writes them, and another one reads old files.

Pending entries are kept by file, so repeated reports about a file while the writer is busy make one entry: there are
never more entries to write than files. SQLite runs in worker threads that only the index uses.

The replay files are the source of truth, not the database. If the disk is full or the database is damaged, the error is
logged and counted, and streaming continues. Games that could not be written are found by the next scan of the folders.
"""

from __future__ import annotations

import itertools
import math
import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import trio

from slpstream.model.errors import ConfigError
from slpstream.model.foreign_data import json_or_none
from slpstream.model.highlight import Highlight
from slpstream.model.setup import CodeList, Pacing
from slpstream.model.summary import IndexedGame
from slpstream.store.arrival_times import ArrivalTimes
from slpstream.store.backfill import (
    ArchivedGame,
    OldFile,
    Read,
    ReadArchive,
    archive_entry,
    member_entry,
    path_key,
    read_entry,
)
from slpstream.store.database import Database
from slpstream.store.database_file import is_damage, is_wrong_content, release_cursors
from slpstream.store.game_record import Entry, GameRecord
from slpstream.store.game_rows import Page, StoredGame
from slpstream.store.games_query import GamesQuery
from slpstream.store.highlights_query import HighlightPage, HighlightsQuery
from slpstream.store.known_facts import MakeFilter
from slpstream.store.opening import open_database, restore, set_aside
from slpstream.store.situations_query import FoundSituation, SituationPage, SituationsQuery
from slpstream.store.tables.setups import SetupRow
from slpstream.system.files import is_placeholder
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger
from slpstream.system.member_paths import missing

_THREADS = 4
_FILES_PER_BATCH = 50
_FLUSH_SECONDS = 2.0
RETRY_SECONDS = 10.0
"""How often a database that fails is tried while there is nothing to write."""
_MIN_PAUSE_SECONDS = 0.002
"""Minimum pause between two old files, which must not delay live games."""
_MAX_LOGGED_MEMBERS = 20
"""Members of an archive whose problem is logged; those of all others are in the index."""

_MAX_UNKEPT = 5000
"""Situations that wait for a database that fails; the oldest ones are given up."""

T = TypeVar("T")


class GameIndex:
    """The index of one daemon. `run` it once."""

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
        """`read` reads old files and `read_archive` archives; with `None` they are not indexed. `temporary` is why the
        database is lost at the end of this run; with `None` it is kept. `arrivals` has the clocks; by default they are
        those of the machine.

        `on_error` is called whenever SQLite fails. `on_change` is called with the station whose games have changed, or
        with `None` if the station is not known. `on_replaced` is called when an empty database has replaced a damaged
        one, so that all files must be `listed` again. No call may block.
        """
        self._database = database
        self._read = read
        self._read_games = read_archive
        self._on_error = on_error
        self._on_change = on_change
        self._on_replaced = on_replaced
        self.temporary = temporary
        """Why the index is lost at the end of this run; `None` if it is kept."""
        self._failing: str | None = None
        self._errors = errors or InternalErrors()
        self._corrections: dict[str, bytes] | None = None
        """The corrections of all stations, once they were read. Unlike games, no file can restore them."""
        self._remembered: dict[str, bytes | None] = {}
        """The remembered values that were read or set in this run. No file can restore them either."""
        self._to_remember: set[str] = set()
        """The keys whose values are not in the database yet."""
        self._unkept: dict[Any, FoundSituation] = {}
        """The situations that could not be stored, by their keys."""
        self._arrivals = arrivals or ArrivalTimes()
        self._limiter = trio.CapacityLimiter(_THREADS)
        self._recovery = trio.Lock()
        self._had_wrong_content = False
        self._pending: dict[bytes, Entry | None] = {}
        self._work = trio.Event()
        self._idle = trio.Event()
        self._idle.set()
        self._listed: dict[str, list[OldFile]] = {}
        self._to_read = trio.Event()
        self._waiting = 0
        self._reported: set[bytes] = set()
        """Files that stations reported while old files were being read. The reports are newer."""
        self._log = get_logger()

    @property
    def games(self) -> int:
        """Number of games. Blocks; call it from a worker thread."""
        try:
            return self._database.games.count()
        except sqlite3.Error:
            return 0

    @property
    def trouble(self) -> str | None:
        """Why nothing can be kept in the index, for people; `None` if all is well."""
        if self.temporary is not None:
            return f"it is kept for this run alone: {self.temporary}"
        return None if self._failing is None else f"it does not work: {self._failing}"

    @property
    def waiting_files(self) -> int:
        """Number of old files that were not read yet."""
        return self._waiting + sum(len(files) for files in list(self._listed.values()))

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
        """Store the record of the game in a file, and how it was seen to arrive and to end. Returns at once."""
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
        if self.waiting_files:
            self._reported.add(entry.path)
        known = self._pending.get(entry.path)
        self._put(entry if known is None else known.updated(entry))

    def listed(self, station: str, files: Iterable[tuple[Path, int, int]], archives: Iterable[OldFile] = ()) -> None:
        """Index files that a station has found and that are not being written to. Returns at once.

        `files` are tuples of path, modification time in nanoseconds and size in bytes. New or changed files are read in
        the background, each of the `archives` once from its beginning to its end.
        """
        if self._read is None:
            return
        found = [*(OldFile(*file) for file in files), *archives]
        self._listed[station] = [*self._listed.get(station, ()), *found]
        self._to_read.set()

    def gone(self, path: Path) -> None:
        """Remove a file that no longer exists. Returns at once."""
        self._pending[path_key(path)] = None
        self._wake_writer()
        self._on_change(None)

    def _put(self, entry: Entry) -> None:
        self._pending[entry.path] = entry
        self._wake_writer()
        self._on_change(entry.station)

    def _wake_writer(self) -> None:
        if self._idle.is_set():
            self._idle = trio.Event()
        self._work.set()

    async def page(self, query: GamesQuery, folders: Sequence[Path] = (), only: MakeFilter | None = None) -> Page:
        """A page of the games that match a query; an empty one if the database fails.

        With `query.watched`, only games with a file below one of `folders`. `only` makes the condition in
        `query.query`.
        """
        paths = [path_key(folder) for folder in folders]
        page = await self._call(partial(self._database.games.page, query, paths, only))
        return Page([], None) if page is None else page

    async def game(self, game_id: str) -> StoredGame | None:
        """One game; `None` if it is not known."""
        return await self._call(partial(self._database.games.get, game_id))

    async def game_ids(self, station: str) -> Mapping[bytes, tuple[int, int, str]]:
        """The games in the files of a station, see `Database.game_ids`; none if the database fails."""
        return await self._call(partial(self._database.games.game_ids, station)) or {}

    async def keep_stats(self, game_id: str, stats: bytes) -> None:
        """Store the summary of a game's stats."""
        await self._call(partial(self._database.games.keep_stats, game_id, stats))

    async def keep_highlights(self, game_id: str, highlights: Sequence[Highlight]) -> None:
        """Store the highlights of a game, in the order in which they ended."""
        await self._call(partial(self._database.highlights.keep, game_id, highlights))

    async def keep_codes(self, game_id: str, codes: CodeList | None) -> None:
        """Store the codes of a game; `None` for a replay without a list of codes."""
        await self._call(partial(self._database.setups.keep_codes, game_id, codes))

    async def codes(self, fingerprint: str) -> CodeList | None:
        """The codes with a fingerprint; `None` if no game has them."""
        return await self._call(partial(self._database.setups.codes, fingerprint))

    async def setups(self, station: str, limit: int) -> list[SetupRow]:
        """The setups of a station's newest games, see `Database.setups`."""
        return await self._call(partial(self._database.setups.newest, station, limit)) or []

    async def highlights(self, query: HighlightsQuery, game_ids: list[str] | None = None) -> HighlightPage:
        """A page of highlights; an empty one if the database fails. With `game_ids`, only of these games."""
        page = await self._call(partial(self._database.highlights.page, query, game_ids))
        return HighlightPage([], None) if page is None else page

    async def keep_situation(self, found: FoundSituation) -> bool:
        """Store a situation. Returns whether it was not known before. If the database fails, it is stored later."""
        if not self._unkept:
            stored = await self._change(partial(self._database.situations.add, [found]))
            if stored is not None:
                return stored > 0
        is_new = found.key not in self._unkept
        self._unkept[found.key] = found
        if len(self._unkept) > _MAX_UNKEPT:
            del self._unkept[next(iter(self._unkept))]
        self._wake_writer()
        return is_new

    async def situations(self, query: SituationsQuery) -> SituationPage:
        """A page of situations; an empty one if the database fails."""
        page = await self._call(partial(self._database.situations.page, query))
        return SituationPage([], None) if page is None else page

    async def expire(self, *, before_ms: int | None, max_bytes: int | None, spared: Collection[str] = ()) -> int:
        """Remove old games and return their number. See `Database.expire`."""
        expired = partial(self._database.games.expire, before_ms=before_ms, max_bytes=max_bytes, spared=spared)
        return await self._call(expired) or 0

    async def played_on(self, station: str, limit: int) -> list[IndexedGame]:
        """The newest games of a station, newest first."""
        return await self._call(partial(self._database.games.played, station, limit)) or []

    async def corrections(self) -> Mapping[str, bytes] | None:
        """The corrections of operators to sets, by station; `None` if the database fails."""
        if self._corrections is None:
            self._corrections = await self._call(self._database.corrections.all)
        return self._corrections

    async def keep_corrections(self, station: str, corrections: bytes) -> bool:
        """Store the corrections to the sets of a station. Returns False if they cannot be kept; `trouble` is why."""
        if self.temporary is not None:
            return False

        def keep() -> bool:
            self._database.corrections.keep(station, corrections)
            return True

        if await self.corrections() is None or not await self._change(keep):
            return False
        if self._corrections is not None:  # else they are read again, because a new database has replaced a damaged one
            self._corrections = {**self._corrections, station: corrections}
        return True

    def remember(self, key: str, value: Any) -> None:
        """Keep a value beyond the end of this run, in place of an earlier one. Returns at once; see `written`.

        The value is anything that JSON can hold; `None` removes it. While the database fails, the newest value is kept
        in memory and written later.
        """
        self._remembered[key] = None if value is None else msgspec.json.encode(value)
        self._to_remember.add(key)
        self._wake_writer()

    async def remembered(self, key: str) -> Any:
        """The value given to `remember`, in this run or an earlier one; `None` if there is none."""
        if key not in self._remembered:
            found = await self._call(lambda: (self._database.remembered.get(key),))
            if found is None:
                return None
            self._remembered.setdefault(key, *found)  # a newer value may have come meanwhile
        value = self._remembered[key]
        return None if value is None else json_or_none(value, object)

    async def written(self) -> None:
        """Wait until everything reported so far is in the database."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write and read until cancelled. Entries reported before are still written."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._errors.keep_running, "index", self._write)
                if self._read is not None:
                    read_old_files = partial(self._read_old_files, self._read)
                    nursery.start_soon(self._errors.keep_running, "index", read_old_files)
        finally:
            with trio.move_on_after(_FLUSH_SECONDS, shield=True):
                await self._flush()
                await trio.to_thread.run_sync(self._database.close)

    async def _write(self) -> None:
        self._work.set()  # there can be entries from before a failure
        while True:
            with trio.move_on_after(math.inf if self._failing is None else RETRY_SECONDS) as waiting:
                await self._work.wait()
            if waiting.cancelled_caught:
                await self._change(lambda: self._database.check_writable())
                if not (self._to_remember or self._unkept):
                    continue
            self._work = trio.Event()
            await self._flush()
            self._idle.set()

    async def _flush(self) -> None:
        corrected = self._arrivals.corrected()
        if corrected:
            self._log.warning("clock was set; arrivals of games are corrected", games=len(corrected))
            await self._change(partial(self._database.games.correct_arrivals, corrected))
            self._on_change(None)
        if self._unkept:
            unkept = dict(self._unkept)
            if await self._change(lambda: self._database.situations.add(unkept.values())) is not None:
                self._unkept = {key: each for key, each in self._unkept.items() if each is not unkept.get(key)}
        if self._to_remember:
            await self._write_remembered()
        while self._pending:
            pending, self._pending = self._pending, {}
            database = self._database
            with self._errors.contain("index") as contained:
                await self._change(partial(_store, database, pending))
                if self._database is not database:  # damaged, and replaced by an empty one
                    await self._change(partial(_store, self._database, pending))
            if contained.error_id is not None:  # because of one entry, without which the others can be stored
                for path, entry in pending.items():
                    with self._errors.contain("index", file=os.fsdecode(path)):
                        await self._change(partial(_store, self._database, {path: entry}))

    async def _write_remembered(self) -> None:
        values = {key: self._remembered[key] for key in self._to_remember}

        def store() -> bool:
            self._database.remembered.keep(values)
            return True

        if await self._change(store):
            self._to_remember = {key for key in self._to_remember if self._remembered[key] is not values.get(key, b"")}

    async def _change(self, work: Callable[[], T]) -> T | None:
        """The same as `_call` for work that writes: its success shows that the database works again."""
        outcome = await self._call(lambda: (work(),))
        if outcome is None:
            return None
        self._failing = None
        return outcome[0]

    async def _call(self, work: Callable[[], T]) -> T | None:
        """Run blocking work in one of the index's threads; `None` if SQLite fails."""
        database = self._database
        try:
            return await trio.to_thread.run_sync(work, limiter=self._limiter)
        except sqlite3.Error as error:
            self._on_error()
            self._failing = str(error)
            self._log.error("game index failed", file=str(database.path), what=str(error))
            if database.closed or self._is_damaged(error):
                release_cursors(error)
                async with self._recovery:  # several calls may fail at once
                    if self._database is database:
                        await self._replace_damaged()
            return None

    def _is_damaged(self, error: sqlite3.Error) -> bool:
        """Whether to replace the database. Wrong content counts as damage once in a run: the next time, a bug must have
        written it, and a new database would not help."""
        if not is_damage(error):
            return False
        if is_wrong_content(error):
            if self._had_wrong_content:
                return False
            self._had_wrong_content = True
        return True

    async def _replace_damaged(self) -> None:
        """Set the damaged database aside and begin a new one. If that fails, the next call tries again."""
        damaged, path = self._database, self._database.path
        corrections, remembered = dict(self._corrections or {}), dict(self._remembered)

        def replace() -> tuple[Database, Path | None]:
            tried_before = damaged.closed
            damaged.close()
            aside = None if tried_before else set_aside(path)
            database = open_database(path)
            if aside is not None:
                restore(database, aside)
            for station, document in corrections.items():
                database.corrections.keep(station, document)
            database.remembered.keep(remembered)
            return database, aside

        try:
            self._database, aside = await trio.to_thread.run_sync(replace)
        except (OSError, sqlite3.Error, ConfigError) as error:
            self._on_error()
            self._log.error("new game index cannot be created", file=str(path), what=str(error))
            return
        damaged_path = None if aside is None else str(aside)
        self._log.warning("new game index created; all games are read again", file=str(path), damaged=damaged_path)
        self._corrections = None
        self._on_replaced()

    async def _read_old_files(self, read: Read) -> None:
        """Read one file at a time. Each is followed by a pause of the same length, to use at most half a core."""
        limiter = trio.CapacityLimiter(1)
        self._to_read.set()
        while True:
            await self._to_read.wait()
            self._to_read = trio.Event()
            for station in list(self._listed):
                files = self._listed.pop(station)
                try:
                    await self._read_files(station, files, read, limiter)
                    files = []
                finally:
                    self._waiting = 0
                    if files:  # a bug has ended the search: it begins again
                        self._listed[station] = [*files, *self._listed.get(station, ())]
            if not self._listed:
                self._reported.clear()

    async def _read_files(
        self, station: str, files: Sequence[OldFile], read: Read, limiter: trio.CapacityLimiter
    ) -> None:
        self._waiting = len(files)
        unknown = await self._unknown(station, files)
        self._waiting = len(unknown)
        for first in range(0, len(unknown), _FILES_PER_BATCH):
            for file in unknown[first : first + _FILES_PER_BATCH]:
                began = trio.current_time()
                if file.is_archive:
                    with self._errors.contain("index", file=str(file.path)):
                        await self._read_archive(station, file, limiter)
                    self._waiting -= 1
                    continue
                with self._errors.contain("index", file=str(file.path)):
                    entry = await trio.to_thread.run_sync(read_entry, read, station, file, limiter=limiter)
                    if entry.path not in self._reported and entry.path not in self._pending:
                        self._put(entry)
                self._waiting -= 1
                await trio.sleep(max(_MIN_PAUSE_SECONDS, trio.current_time() - began))
            await self.written()
        if unknown:
            self._log.info("old games indexed", station=station, files=len(unknown))

    async def _read_archive(self, station: str, archive: OldFile, limiter: trio.CapacityLimiter) -> None:
        """Read the games in an archive, one at a time, with the same pauses. Forgets those that are not in it any
        more."""
        if self._read_games is None:
            return
        games = self._read_games(archive.path)
        problems = 0
        try:
            for count in itertools.count(1):
                began = trio.current_time()
                found = await trio.to_thread.run_sync(next, games, None, limiter=limiter)
                if found is None:
                    break
                if found.problem is not None:
                    problems += 1
                    if problems <= _MAX_LOGGED_MEMBERS:
                        self._log.warning("replay in an archive cannot be read", what=found.problem)
                if _can_be_indexed(found):
                    self._put(member_entry(station, archive, found))
                if count % _FILES_PER_BATCH == 0:
                    await self.written()
                await trio.sleep(max(_MIN_PAUSE_SECONDS, trio.current_time() - began))
        finally:
            close = getattr(games, "close", None)
            if close is not None:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(close)
        await self.written()
        path = path_key(archive.path)
        stale = await self._call(partial(self._database.games.stale_members, path, archive.mtime_ns)) or []
        for member in stale:
            self._pending[member] = None
        self._put(archive_entry(station, archive))
        if problems:
            self._log.warning("archive has replays that cannot be read", file=str(archive.path), replays=problems)
        await self.written()

    async def _unknown(self, station: str, files: Sequence[OldFile]) -> list[OldFile]:
        """The files that are new or have changed, newest first. Removes files that no longer exist from the index."""
        known: Mapping[bytes, tuple[int, int]] = (
            await self._call(partial(self._database.games.known_files, station)) or {}
        )
        missing, unknown = await trio.to_thread.run_sync(_compare, known, files)
        for count, path in enumerate(missing):
            self.gone(Path(os.fsdecode(path)))
            if count % _FILES_PER_BATCH == 0:
                await trio.lowlevel.checkpoint()
        return unknown


def _can_be_indexed(found: ArchivedGame) -> bool:
    """Whether the path of a member stays what it is when it is stored. Names like `../..` do not."""
    path = os.fspath(found.path)
    return os.path.isabs(path) and os.path.normpath(path) == path  # noqa: PTH117 -- `Path` is slower


def _is_placeholder(path: Path) -> bool:
    """Whether reading the file would download it. It is indexed at a start after it was downloaded."""
    try:
        return is_placeholder(path)
    except OSError:
        return False  # reading it will fail too, and report it


def _store(database: Database, pending: Mapping[bytes, Entry | None]) -> None:
    database.games.add(entry for entry in pending.values() if entry is not None)
    database.games.remove_files([path for path, entry in pending.items() if entry is None])


def _compare(known: Mapping[bytes, tuple[int, int]], files: Iterable[OldFile]) -> tuple[list[bytes], list[OldFile]]:
    """The known files that no longer exist, and the listed ones that are new or have changed. Blocks.

    Whether an archive still has a member is found out when the archive has changed and is read again.
    """
    listed = {path_key(file.path): file for file in files}
    gone = missing(path for path in known if path not in listed)
    unknown = [
        file
        for path, file in listed.items()
        if known.get(path) != (file.mtime_ns, file.size_bytes) and not _is_placeholder(file.path)
    ]
    return gone, sorted(unknown, key=lambda file: file.mtime_ns, reverse=True)
