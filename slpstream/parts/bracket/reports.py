"""Stores the queue of a bracket in a separate database: the played sets and their reports.

The store does not know the content of an entry. Entries that change together are stored in one transaction. A damaged
database is renamed: its pending entries are lost, and the sets of the last day are queued again for a person to
confirm.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from slpstream.store.queue_database import QueueDatabase

FILE_NAME = "reports.sqlite3"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE entries (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they were made
            bracket TEXT NOT NULL,
            station TEXT NOT NULL,
            played_id TEXT NOT NULL,
            waits INTEGER NOT NULL,               -- 0: nothing has to be done any more
            body BLOB NOT NULL,                   -- JSON
            changed_at_ms INTEGER NOT NULL,       -- Unix time
            UNIQUE (bracket, station, played_id)
        ) STRICT""",
        # When a bracket was last active, in Unix time.
        "CREATE TABLE alive (bracket TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID",
    ),
    (
        # When it was first active.
        "ALTER TABLE alive ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0",
    ),
)


class AtWork(NamedTuple):
    """The first and the last time when a bracket was active, in Unix time."""

    since_ms: int
    until_ms: int


class ReportEntry(NamedTuple):
    """An entry to store. `body` is JSON. Entries with `waits` are never removed."""

    station: str
    played_id: str
    waits: bool
    body: bytes


class ReportStore(QueueDatabase):
    """An open queue. All methods block, may be called from any thread and raise `SinkError`."""

    content = "reports"
    migrations = MIGRATIONS

    def entries(self, bracket: str) -> list[bytes]:
        """The bodies of all entries of a bracket, oldest first."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT body FROM entries WHERE bracket = ? ORDER BY id", (bracket,)).fetchall()
            return [body for (body,) in rows]

    def keep(self, bracket: str, entries: Sequence[ReportEntry], now_ms: int) -> None:
        """Store entries in one transaction, instead of earlier entries of the same sets."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO entries (bracket, station, played_id, waits, body, changed_at_ms)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (bracket, station, played_id)"
                " DO UPDATE SET waits = excluded.waits, body = excluded.body, changed_at_ms = excluded.changed_at_ms",
                [(bracket, each.station, each.played_id, int(each.waits), each.body, now_ms) for each in entries],
            )

    def at_work(self, bracket: str) -> AtWork | None:
        """The times when the bracket was active; `None` if it never was."""
        with self._transaction() as connection:
            row = connection.execute("SELECT since_ms, at_ms FROM alive WHERE bracket = ?", (bracket,)).fetchone()
            return None if row is None else AtWork(*row)

    def note_alive(self, bracket: str, now_ms: int) -> None:
        """Store that the bracket is active."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO alive (bracket, at_ms, since_ms) VALUES (?, ?, ?)"
                " ON CONFLICT (bracket) DO UPDATE SET at_ms = excluded.at_ms",
                (bracket, now_ms, now_ms),
            )

    def remove_finished(self, bracket: str, max_count: int) -> int:
        """Remove the oldest entries that do not wait, beyond `max_count`. Returns the number of removed entries."""
        with self._transaction() as connection:
            return connection.execute(
                "DELETE FROM entries WHERE bracket = ? AND waits = 0 AND id <= (SELECT id FROM entries"
                " WHERE bracket = ? AND waits = 0 ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (bracket, bracket, max_count),
            ).rowcount
