"""The index under trio: events come in without waiting, one task writes them, another reads old files at its leisure.

What is to be written is kept by file, so what is said of a file while the writer is busy is one entry and not many:
there is never more to write than there are files. SQLite runs in worker threads that only the index uses.

The database is never the truth. If the disk is full, or the file turns out to be damaged, that is logged and counted,
and the games go on; what was not written is found again when the folders are searched the next time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import trio

from slpstream.model.errors import ConfigError
from slpstream.model.summary import IndexedGame
from slpstream.store.backfill import OldFile, Read, look, path_key
from slpstream.store.database import Database, Game, Page, Place, Wanted, is_damage
from slpstream.store.game_record import Entry, GameRecord
from slpstream.store.schema import open_database, set_aside
from slpstream.system.logs import get_logger

_THREADS = 4
_FILES_AT_ONCE = 50
_FLUSH_SECONDS = 2.0
_PATIENCE_SECONDS = 0.002
"""Between two old files, at least: they can wait, what is live cannot."""

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
    ) -> None:
        """`read` reads old files; `None`: they are left alone. `on_error` is called whenever SQLite fails, `on_change`
        with the station whose games have changed, or with `None` when that is not known; both must not wait."""
        self._database = database
        self._read = read
        self._on_error = on_error
        self._on_change = on_change
        self._corrections: dict[str, bytes] | None = None
        """Of all stations, once they were asked for: unlike games they are in no file."""
        self._limiter = trio.CapacityLimiter(_THREADS)
        self._mending = trio.Lock()
        self._pending: dict[bytes, Entry | None] = {}
        self._work = trio.Event()
        self._idle = trio.Event()
        self._idle.set()
        self._listed: dict[str, list[OldFile]] = {}
        self._to_read = trio.Event()
        self._waiting = 0
        self._said: set[bytes] = set()
        """Files of which a station has spoken while old ones were being read: what it says is newer."""
        self._log = get_logger()

    @property
    def games(self) -> int:
        """How many games are known; asked from a worker thread."""
        try:
            return self._database.count()
        except sqlite3.Error:
            return 0

    @property
    def waiting_files(self) -> int:
        """Old files that have not been looked at yet."""
        return self._waiting + sum(len(files) for files in list(self._listed.values()))

    # -- what stations say -------------------------------------------------------------------------------------------

    def played(self, station: str, path: Path, mtime_ns: int, size_bytes: int, record: GameRecord) -> None:
        """Store what is known of the game in a file. Returns at once."""
        entry = Entry(station=station, path=path_key(path), mtime_ns=mtime_ns, size_bytes=size_bytes, record=record)
        if self.waiting_files:
            self._said.add(entry.path)
        known = self._pending.get(entry.path)
        self._put(entry if known is None else known.updated(entry))

    def listed(self, station: str, files: Iterable[tuple[Path, int, int]]) -> None:
        """The files that a station has found, nobody writing to them: path, modification time in nanoseconds, size.
        Those that are not known are read in the background."""
        if self._read is None:
            return
        self._listed[station] = [*self._listed.get(station, ()), *(OldFile(*file) for file in files)]
        self._to_read.set()

    def gone(self, path: Path) -> None:
        """A file is not there any more."""
        self._pending[path_key(path)] = None
        self._begin()
        self._on_change(None)

    def _put(self, entry: Entry) -> None:
        self._pending[entry.path] = entry
        self._begin()
        self._on_change(entry.station)

    def _begin(self) -> None:
        if self._idle.is_set():
            self._idle = trio.Event()
        self._work.set()

    # -- what the outside asks ---------------------------------------------------------------------------------------

    async def page(self, wanted: Wanted, after: Place | None, limit: int) -> Page:
        """At most `limit` games behind `after`, newest first."""
        page = await self._call(partial(self._database.page, wanted, after, limit))
        return Page([], None) if page is None else page

    async def game(self, game_id: str) -> Game | None:
        """One game; `None` when it is not known."""
        return await self._call(partial(self._database.game, game_id))

    async def keep_stats(self, game_id: str, stats: bytes) -> None:
        """The summary of a game's stats, which somebody has computed."""
        await self._call(partial(self._database.keep_stats, game_id, stats))

    async def expire(self, *, before_ms: int | None, max_bytes: int | None, spared: Collection[str] = ()) -> int:
        """Forgets old games; how many. See `Database.expire`."""
        expired = partial(self._database.expire, before_ms=before_ms, max_bytes=max_bytes, spared=spared)
        return await self._call(expired) or 0

    async def played_on(self, station: str, limit: int) -> list[IndexedGame]:
        """The newest games of a station, newest first."""
        return await self._call(partial(self._database.played, station, limit)) or []

    async def corrections(self) -> Mapping[str, bytes] | None:
        """What operators have said about sets, by station; `None` when the database cannot say it."""
        if self._corrections is None:
            self._corrections = await self._call(self._database.corrections)
        return self._corrections

    async def keep_corrections(self, station: str, corrections: bytes) -> bool:
        """Keeps what an operator has said about the sets of a station. False when the database cannot."""

        def keep() -> bool:
            self._database.keep_corrections(station, corrections)
            return True

        if await self.corrections() is None or not await self._call(keep):
            return False
        self._corrections = {**(self._corrections or {}), station: corrections}
        return True

    async def written(self) -> None:
        """Returns when all that was said so far is in the database."""
        await self._idle.wait()

    # -- running -----------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Writes and reads until cancelled; what was said before is still written."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write)
                if self._read is not None:
                    nursery.start_soon(self._read_old_files, self._read)
        finally:
            with trio.move_on_after(_FLUSH_SECONDS, shield=True):
                await self._flush()
                await trio.to_thread.run_sync(self._database.close)

    async def _write(self) -> None:
        while True:
            await self._work.wait()
            self._work = trio.Event()
            await self._flush()
            self._idle.set()

    async def _flush(self) -> None:
        while self._pending:
            pending, self._pending = self._pending, {}
            await self._call(partial(_store, self._database, pending))

    async def _call(self, work: Callable[[], T]) -> T | None:
        """Blocking work in one of our threads; `None` when SQLite cannot do it."""
        database = self._database
        try:
            return await trio.to_thread.run_sync(work, limiter=self._limiter)
        except sqlite3.Error as error:
            self._on_error()
            self._log.error("game index", file=str(database.path), what=str(error))
            if is_damage(error) or database.closed:
                async with self._mending:  # many can have met the damage at once
                    if self._database is database:
                        await self._begin_again()
            return None

    async def _begin_again(self) -> None:
        """The database turned out to be damaged: it is set aside, and what is found from now on goes to a new one. When
        that cannot be, it is tried again with whatever is asked next."""
        damaged, path = self._database, self._database.path
        corrections = dict(self._corrections or {})

        def replace() -> tuple[Database, Path | None]:
            tried_before = damaged.closed
            damaged.close()
            aside = None if tried_before else set_aside(path)
            database = open_database(path)
            for station, document in corrections.items():
                database.keep_corrections(station, document)
            return database, aside

        try:
            self._database, aside = await trio.to_thread.run_sync(replace)
        except (OSError, sqlite3.Error, ConfigError) as error:
            self._on_error()
            self._log.error("game index cannot be begun again", file=str(path), what=str(error))
            return
        put = None if aside is None else str(aside)
        self._log.warning("game index begun again; `slpstream reindex` fills it", file=str(path), damaged=put)

    # -- old files ---------------------------------------------------------------------------------------------------

    async def _read_old_files(self, read: Read) -> None:
        """One file at a time, with a pause that is as long as the work, so that it never takes more than half a
        core."""
        limiter = trio.CapacityLimiter(1)
        while True:
            await self._to_read.wait()
            self._to_read = trio.Event()
            for station in list(self._listed):
                files = self._listed.pop(station)
                self._waiting = len(files)
                unknown = await self._unknown(station, files)
                self._waiting = len(unknown)
                for first in range(0, len(unknown), _FILES_AT_ONCE):
                    for file in unknown[first : first + _FILES_AT_ONCE]:
                        began = trio.current_time()
                        entry = await trio.to_thread.run_sync(look, read, station, file, limiter=limiter)
                        if entry.path not in self._said and entry.path not in self._pending:
                            self._put(entry)
                        self._waiting -= 1
                        await trio.sleep(max(_PATIENCE_SECONDS, trio.current_time() - began))
                    await self.written()
                if unknown:
                    self._log.info("old games indexed", station=station, files=len(unknown))
            if not self._listed:
                self._said.clear()

    async def _unknown(self, station: str, files: Sequence[OldFile]) -> list[OldFile]:
        """Those that are new or have changed, newest first; what is not there any more is forgotten."""
        known: Mapping[bytes, tuple[int, int]] = await self._call(partial(self._database.known_files, station)) or {}
        listed = {path_key(file.path) for file in files}
        missing = await trio.to_thread.run_sync(_missing, [path for path in known if path not in listed])
        for path in missing:
            self.gone(Path(os.fsdecode(path)))
        unknown = [f for f in files if known.get(path_key(f.path)) != (f.mtime_ns, f.size_bytes)]
        return sorted(unknown, key=lambda file: file.mtime_ns, reverse=True)


def _store(database: Database, pending: Mapping[bytes, Entry | None]) -> None:
    database.put(entry for entry in pending.values() if entry is not None)
    database.remove([path for path, entry in pending.items() if entry is None])


def _missing(paths: Iterable[bytes]) -> list[bytes]:
    return [path for path in paths if not os.path.lexists(path)]
