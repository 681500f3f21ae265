"""What the databases of waiting deliveries and reports have in common: one connection, and transactions on it."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from slpstream.model.errors import SinkError
from slpstream.store.database import connect


class QueueDatabase:
    """An open database. All methods block, may be called from any thread and raise `SinkError`."""

    what: ClassVar[str]
    """The content, for errors: `deliveries`."""

    def __init__(self, path: Path) -> None:
        """The tables must exist."""
        self._connection = connect(path)
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the database. No other method may be called afterwards."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._connection
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise SinkError(f"{self.what}: {error}") from error
