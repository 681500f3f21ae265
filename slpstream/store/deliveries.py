"""What webhooks still have to be told, and how far each has come: a database of its own beside the games'.

A delivery and the place in the log that it came from are stored in one transaction, so after any crash either both
are there or neither, and then the log says it again. What was taken is deleted. The database holds nothing that the
log does not, but for what waits: a damaged one is set aside, and the webhooks begin with the current games.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from slpstream.model.errors import SinkError
from slpstream.store.database import connect
from slpstream.store.schema import prepare

FILE_NAME = "deliveries.sqlite3"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE deliveries (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they are made
            webhook TEXT NOT NULL,
            station TEXT NOT NULL,
            key TEXT NOT NULL,
            event TEXT NOT NULL,
            body BLOB NOT NULL,                   -- JSON, as it is signed
            stored_at_ms INTEGER NOT NULL,        -- Unix time
            UNIQUE (webhook, station, key)
        ) STRICT""",
        "CREATE INDEX deliveries_by_station ON deliveries (webhook, station, id)",
        # How far a webhook is in a station's log, and what it has to remember of games that are running.
        """CREATE TABLE places (
            webhook TEXT NOT NULL,
            station TEXT NOT NULL,
            bookmarks TEXT NOT NULL,              -- JSON
            memory TEXT NOT NULL,                 -- JSON
            PRIMARY KEY (webhook, station)
        ) STRICT, WITHOUT ROWID""",
        # What was told last of a set.
        """CREATE TABLE told_sets (
            webhook TEXT NOT NULL,
            station TEXT NOT NULL,
            set_id TEXT NOT NULL,
            digest TEXT NOT NULL,
            key TEXT NOT NULL,
            stored_at_ms INTEGER NOT NULL,
            PRIMARY KEY (webhook, station, set_id)
        ) STRICT, WITHOUT ROWID""",
    ),
)
_SETS_KEPT = 64


class Made(Protocol):
    """A delivery that is to be stored."""

    @property
    def key(self) -> str:
        """Unique among those of its webhook and station."""

    @property
    def event(self) -> str:
        """What it is about."""

    @property
    def body(self) -> bytes:
        """JSON."""


class Stored(NamedTuple):
    """A delivery that waits."""

    id: int
    station: str
    key: str
    event: str
    body: bytes
    stored_at_ms: int


class DeliveryStore:
    """An open database; all methods block and may be called by any thread. Raises `SinkError`."""

    def __init__(self, path: Path) -> None:
        """Use `open_deliveries`, which sees to the tables."""
        self._connection = connect(path)
        self._lock = threading.Lock()

    def close(self) -> None:
        """No calls after this."""
        with self._lock:
            self._connection.close()

    def retain(self, webhooks: Collection[str]) -> None:
        """Forgets all webhooks but these: the others are not configured any more."""
        with self._transaction() as connection:
            for table in ("deliveries", "places", "told_sets"):
                known = {row[0] for row in connection.execute(f"SELECT DISTINCT webhook FROM {table}")}  # noqa: S608 -- our own words
                connection.executemany(
                    f"DELETE FROM {table} WHERE webhook = ?",  # noqa: S608
                    [(webhook,) for webhook in known - set(webhooks)],
                )

    # -- making ------------------------------------------------------------------------------------------------------

    def place(self, webhook: str, station: str) -> tuple[str, str] | None:
        """Bookmarks and memory as they were stored."""
        with self._transaction() as connection:
            row: tuple[str, str] | None = connection.execute(
                "SELECT bookmarks, memory FROM places WHERE webhook = ? AND station = ?", (webhook, station)
            ).fetchone()
            return row

    def store(
        self, webhook: str, station: str, made: Sequence[Made], now_ms: int, *, bookmarks: str, memory: str
    ) -> None:
        """Deliveries, and the place in the log behind them; those that wait already are passed over."""
        with self._transaction() as connection:
            _insert(connection, webhook, station, made, now_ms)
            connection.execute(
                "INSERT OR REPLACE INTO places (webhook, station, bookmarks, memory) VALUES (?, ?, ?, ?)",
                (webhook, station, bookmarks, memory),
            )

    def told_set(self, webhook: str, station: str, set_id: str) -> tuple[str, str] | None:
        """Digest and key of what was told last of a set."""
        with self._transaction() as connection:
            row: tuple[str, str] | None = connection.execute(
                "SELECT digest, key FROM told_sets WHERE webhook = ? AND station = ? AND set_id = ?",
                (webhook, station, set_id),
            ).fetchone()
            return row

    def store_set(self, webhook: str, station: str, made: Made, now_ms: int, *, set_id: str, digest: str) -> None:
        """A delivery about a set."""
        with self._transaction() as connection:
            _insert(connection, webhook, station, [made], now_ms)
            connection.execute(
                "INSERT OR REPLACE INTO told_sets (webhook, station, set_id, digest, key, stored_at_ms)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (webhook, station, set_id, digest, made.key, now_ms),
            )
            connection.execute(
                "DELETE FROM told_sets WHERE webhook = ?1 AND station = ?2 AND set_id NOT IN (SELECT set_id FROM"
                " told_sets WHERE webhook = ?1 AND station = ?2 ORDER BY stored_at_ms DESC LIMIT ?3)",
                (webhook, station, _SETS_KEPT),
            )

    # -- delivering --------------------------------------------------------------------------------------------------

    def heads(self, webhook: str) -> list[Stored]:
        """The oldest that waits, of each station."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT id, station, key, event, body, stored_at_ms FROM deliveries WHERE id IN"
                " (SELECT min(id) FROM deliveries WHERE webhook = ? GROUP BY station) ORDER BY id",
                (webhook,),
            )
            return [Stored(*row) for row in rows]

    def done(self, id: int) -> None:
        """It was taken, or given up."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM deliveries WHERE id = ?", (id,))

    def waiting(self, webhook: str) -> int:
        """How many wait."""
        with self._transaction() as connection:
            count: int = connection.execute("SELECT count(*) FROM deliveries WHERE webhook = ?", (webhook,)).fetchone()[
                0
            ]
            return count

    def expire(self, webhook: str, *, before_ms: int, most: int) -> int:
        """Gives up those that are older, and the oldest beyond `most`; how many that were."""
        with self._transaction() as connection:
            old = connection.execute(
                "DELETE FROM deliveries WHERE webhook = ? AND stored_at_ms < ?", (webhook, before_ms)
            ).rowcount
            over = connection.execute(
                "DELETE FROM deliveries WHERE webhook = ?1 AND id <= (SELECT id FROM deliveries WHERE webhook = ?1"
                " ORDER BY id DESC LIMIT 1 OFFSET ?2)",
                (webhook, most),
            ).rowcount
            return old + over

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
                raise SinkError(f"deliveries: {error}") from error


def _insert(connection: sqlite3.Connection, webhook: str, station: str, made: Sequence[Made], now_ms: int) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO deliveries (webhook, station, key, event, body, stored_at_ms) VALUES (?, ?, ?, ?, ?, ?)",
        [(webhook, station, delivery.key, delivery.event, delivery.body, now_ms) for delivery in made],
    )


def open_deliveries(path: Path, *, on_damage: Callable[[Path, str], None] = lambda aside, what: None) -> DeliveryStore:
    """The database at a path, as `open_database`; readable by its owner alone, for it tells who played. Blocks."""
    prepare(path, MIGRATIONS, on_damage=on_damage)
    path.chmod(0o600)
    return DeliveryStore(path)
