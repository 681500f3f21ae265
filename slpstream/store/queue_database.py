"""The things that the databases for waiting deliveries and for reports have in common: one connection, and its
transactions.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from slpstream.model.errors import SinkError
from slpstream.store.database_file import connect, is_damage, release_cursors, transaction
from slpstream.store.opening import NewerVersion, prepare, rename_damaged


class QueueDatabase:
    """An open database. You can call its methods from any thread, but they all block and can raise `SinkError`.

    If the database turns out to be damaged, the operation that notices this fails, and the database is renamed. The
    next operation then works with an empty one.
    """

    content: ClassVar[str]
    """The name of the content in errors, such as `deliveries`."""
    migrations: ClassVar[tuple[tuple[str, ...], ...]]

    def __init__(self, path: Path, *, on_damage: Callable[[Path, str], None] = lambda renamed, problem: None) -> None:
        """Open the database at the given path, in the same way as `open_database`.

        `on_damage` can be called from any thread.
        """
        self._path = path
        self._on_damage = on_damage
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = self._open()

    def close(self) -> None:
        """Close the database. You must not call any other method after this."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _open(self) -> sqlite3.Connection:
        try:
            prepare(self._path, self.migrations, on_damage=self._on_damage)
        except NewerVersion as error:  # the daemon must start nevertheless
            self._on_damage(rename_damaged(self._path), error.expected)
            prepare(self._path, self.migrations, on_damage=self._on_damage)
        return connect(self._path)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                connection = self._connection = self._connection or self._open()
                with transaction(connection):
                    yield connection
            except (OSError, sqlite3.Error) as error:
                if isinstance(error, sqlite3.Error) and is_damage(error):
                    release_cursors(error)
                    self._replace_damaged(str(error))
                raise SinkError(f"{self.content}: {error}") from error

    def _replace_damaged(self, problem: str) -> None:
        """Rename the damaged database. The next operation then creates a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        with suppress(OSError):  # then the next operation finds the damage again
            self._on_damage(rename_damaged(self._path), problem)
