"""The database of a running daemon.

Calls run in worker threads, and if the database is damaged, it is replaced by a new one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import trio

from slpstream.model.errors import ConfigError
from slpstream.store.database import Database, open_database, restore
from slpstream.store.database_file import is_damage, is_wrong_content, release_cursors
from slpstream.store.opening import rename_damaged
from slpstream.system.logs import get_logger

_THREADS = 4

T = TypeVar("T")


class LiveDatabase:
    """An open database that you can use from trio.

    If SQLite raises an error, it is logged and counted, but you don't get it. The worker threads of this object aren't
    shared with anything else.
    """

    def __init__(self, database: Database, on_error: Callable[[], None], on_replaced: Callable[[], None]) -> None:
        self.database = database
        self.problem: str | None = None
        """The last error, or `None` after a successful write."""
        self.corrections: dict[str, bytes] | None = None
        """A copy of the corrections of all stations, or `None` until they are read. No replay file can restore them."""
        self.remembered: dict[str, bytes | None] = {}
        """A copy of the remembered values that were read or set in this run. No replay file can restore them."""
        self._on_error = on_error
        self._on_replaced = on_replaced
        self._had_wrong_content = False
        self._is_closed = False
        self._limiter = trio.CapacityLimiter(_THREADS)
        self._recovery = trio.Lock()
        self._log = get_logger()

    async def close(self) -> None:
        """Wait until all calls that have begun are over, and then close the database. Later calls return `None`."""
        self._is_closed = True
        for _ in range(_THREADS):  # with all of its tokens, no call is running
            await self._limiter.acquire_on_behalf_of(object())
        await trio.to_thread.run_sync(self.database.close)

    async def change(self, work: Callable[[Database], T]) -> T | None:
        """Like `call`, but for work that writes. If it succeeds, there is no `problem` any more."""
        outcome = await self.call(lambda database: (work(database),))
        if outcome is None:
            return None
        self.problem = None
        return outcome[0]

    async def call(self, work: Callable[[Database], T]) -> T | None:
        """Run work that blocks in a worker thread, and pass it the database. Returns `None` if SQLite fails."""
        if self._is_closed:
            return None
        database = self.database
        try:
            return await trio.to_thread.run_sync(work, database, limiter=self._limiter)
        except sqlite3.Error as error:
            self._on_error()
            self.problem = str(error)
            self._log.error("game index failed", file=str(database.path), what=str(error))
            if database.closed or self._is_damaged(error):
                release_cursors(error)
                async with self._recovery:  # several calls can fail at the same time
                    if self.database is database:
                        await self._replace_damaged()
            return None

    def _is_damaged(self, error: sqlite3.Error) -> bool:
        """Whether we should replace the database.

        Wrong content only counts as damage once per run. If it happens again, it must have been written by a bug, and a
        new database wouldn't help.
        """
        if not is_damage(error):
            return False
        if is_wrong_content(error):
            if self._had_wrong_content:
                return False
            self._had_wrong_content = True
        return True

    async def _replace_damaged(self) -> None:
        """Rename the damaged database and create a new one. If that fails, the next call tries it again."""
        damaged, path = self.database, self.database.path
        corrections, remembered = dict(self.corrections or {}), dict(self.remembered)

        def replace() -> tuple[Database, Path | None]:
            tried_before = damaged.closed
            damaged.close()
            renamed = None if tried_before else rename_damaged(path)
            database = open_database(path)
            if renamed is not None:
                restore(database, renamed)
            for station, document in corrections.items():
                database.corrections.keep(station, document)
            database.remembered.keep(remembered)
            return database, renamed

        try:
            self.database, renamed = await trio.to_thread.run_sync(replace)
        except (OSError, sqlite3.Error, ConfigError) as error:
            self._on_error()
            self._log.error("new game index cannot be created", file=str(path), what=str(error))
            return
        damaged_path = None if renamed is None else str(renamed)
        self._log.warning("new game index created; all games are read again", file=str(path), damaged=damaged_path)
        self.corrections = None
        self._on_replaced()
