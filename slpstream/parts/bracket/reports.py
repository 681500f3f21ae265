"""Store the queue of a bracket, which consists of the sets that were played and their reports.

This is a separate database, and it doesn't know anything about the content of the entries. If several entries change
together, they are stored in a single transaction. If the database is damaged, it is renamed. In this case, the entries
that were waiting are lost, and the sets of the last day are queued again, so that a person can confirm them.
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
    """The first and last time when a bracket was active, as Unix time."""

    since_ms: int
    until_ms: int


class ReportEntry(NamedTuple):
    """An entry to store. `body` is JSON. As long as an entry `waits`, it is never removed."""

    station: str
    played_id: str
    waits: bool
    body: bytes


class ReportStore(QueueDatabase):
    """An open queue. You can call its methods from any thread, but they all block and can raise `SinkError`."""

    content = "reports"
    migrations = MIGRATIONS

    def entries(self, bracket: str) -> list[bytes]:
        """Return the bodies of all entries of the given bracket, beginning with the oldest."""
        with self._transaction() as connection:
            rows = connection.execute("SELECT body FROM entries WHERE bracket = ? ORDER BY id", (bracket,)).fetchall()
            return [body for (body,) in rows]

    def keep(self, bracket: str, entries: Sequence[ReportEntry], now_ms: int) -> None:
        """Store entries in one transaction. They replace earlier entries of the same sets."""
        with self._transaction() as connection:
            connection.executemany(
                "INSERT INTO entries (bracket, station, played_id, waits, body, changed_at_ms)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (bracket, station, played_id)"
                " DO UPDATE SET waits = excluded.waits, body = excluded.body, changed_at_ms = excluded.changed_at_ms",
                [(bracket, each.station, each.played_id, int(each.waits), each.body, now_ms) for each in entries],
            )

    def at_work(self, bracket: str) -> AtWork | None:
        """Return when the bracket was active, or `None` if it never was."""
        with self._transaction() as connection:
            row = connection.execute("SELECT since_ms, at_ms FROM alive WHERE bracket = ?", (bracket,)).fetchone()
            return None if row is None else AtWork(*row)

    def note_alive(self, bracket: str, now_ms: int) -> None:
        """Note that the bracket is active."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO alive (bracket, at_ms, since_ms) VALUES (?, ?, ?)"
                " ON CONFLICT (bracket) DO UPDATE SET at_ms = excluded.at_ms",
                (bracket, now_ms, now_ms),
            )

    def remove_finished(self, bracket: str, max_count: int) -> int:
        """If more than `max_count` entries are no longer waiting, remove the oldest of these.

        Returns how many were removed.
        """
        with self._transaction() as connection:
            return connection.execute(
                "DELETE FROM entries WHERE bracket = ? AND waits = 0 AND id <= (SELECT id FROM entries"
                " WHERE bracket = ? AND waits = 0 ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (bracket, bracket, max_count),
            ).rowcount
