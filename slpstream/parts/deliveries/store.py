"""Store the deliveries of webhooks that are still waiting, and how far each webhook has got in the log.

This is a separate database. We store deliveries and the offsets in the log that they come from in a single transaction.
This means that after a crash, we either have both of them, or neither, and then the deliveries are simply made from the
log again. A delivery is removed when its receiver has accepted it. If the database is damaged, it is renamed. In this
case, the waiting deliveries are lost, and the webhooks begin with the current games.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import NamedTuple

from slpstream.parts.services import Delivery
from slpstream.store.queue_database import QueueDatabase

FILE_NAME = "deliveries.sqlite3"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE deliveries (
            id INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order in which they were made
            webhook TEXT NOT NULL,
            station TEXT NOT NULL,
            key TEXT NOT NULL,
            event TEXT NOT NULL,
            body BLOB NOT NULL,                   -- JSON, as it is signed
            stored_at_ms INTEGER NOT NULL,        -- Unix time
            UNIQUE (webhook, station, key)
        ) STRICT""",
        "CREATE INDEX deliveries_by_station ON deliveries (webhook, station, id)",
        # The progress of a webhook in a station's log, and its state of running games.
        """CREATE TABLE places (
            webhook TEXT NOT NULL,
            station TEXT NOT NULL,
            bookmarks TEXT NOT NULL,              -- `ConsumerOffsets` as JSON
            memory TEXT NOT NULL,                 -- running games, as JSON
            PRIMARY KEY (webhook, station)
        ) STRICT, WITHOUT ROWID""",
        # The last delivery about each set.
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
_KEPT_SETS = 512
"""Maximum number of rows per webhook and station. A chat has one row for each game of a set."""


class StoredDelivery(NamedTuple):
    """A delivery that is waiting. `stored_at_ms` is Unix time."""

    id: int
    station: str
    key: str
    event: str
    body: bytes
    stored_at_ms: int


class DeliveryStore(QueueDatabase):
    """An open database of deliveries.

    You can call its methods from any thread, but they all block and can raise `SinkError`.
    """

    content = "deliveries"
    migrations = MIGRATIONS

    def retain(self, webhooks: Collection[str]) -> None:
        """Delete everything that belongs to webhooks other than these, because they were removed from the
        configuration.
        """
        with self._transaction() as connection:
            for table in ("deliveries", "places", "told_sets"):
                known = {row[0] for row in connection.execute(f"SELECT DISTINCT webhook FROM {table}")}  # noqa: S608 -- the names of our tables
                connection.executemany(
                    f"DELETE FROM {table} WHERE webhook = ?",  # noqa: S608
                    [(webhook,) for webhook in known - set(webhooks)],
                )

    def progress(self, webhook: str, station: str) -> tuple[str, str] | None:
        """Return the `offsets` and `running_games` that were stored last, or `None` if nothing was stored yet."""
        with self._transaction() as connection:
            row: tuple[str, str] | None = connection.execute(
                "SELECT bookmarks, memory FROM places WHERE webhook = ? AND station = ?", (webhook, station)
            ).fetchone()
            return row

    def store(
        self,
        webhook: str,
        station: str,
        deliveries: Sequence[Delivery],
        now_ms: int,
        *,
        offsets: str,
        running_games: str,
    ) -> None:
        """Store deliveries, together with how far the webhook has got in the log after them. This stores either all of
        it or nothing.

        If a delivery with the same key is already waiting, it stays as it is.
        """
        with self._transaction() as connection:
            _insert(connection, webhook, station, deliveries, now_ms)
            connection.execute(
                "INSERT OR REPLACE INTO places (webhook, station, bookmarks, memory) VALUES (?, ?, ?, ?)",
                (webhook, station, offsets, running_games),
            )

    def last_of_set(self, webhook: str, station: str, set_id: str) -> tuple[str, str] | None:
        """Return the digest and key of the last delivery about a set, or `None` if there wasn't one yet."""
        with self._transaction() as connection:
            row: tuple[str, str] | None = connection.execute(
                "SELECT digest, key FROM told_sets WHERE webhook = ? AND station = ? AND set_id = ?",
                (webhook, station, set_id),
            ).fetchone()
            return row

    def store_set(
        self, webhook: str, station: str, delivery: Delivery | None, now_ms: int, *, set_id: str, digest: str
    ) -> None:
        """Store a delivery about a set, and the digest of the set's state.

        If there's no delivery, only the digest is stored.
        """
        with self._transaction() as connection:
            _insert(connection, webhook, station, [] if delivery is None else [delivery], now_ms)
            # The newest row stays the newest even if the clock was set back.
            (newest_ms,) = connection.execute(
                "SELECT coalesce(max(stored_at_ms), -1) FROM told_sets WHERE webhook = ? AND station = ?",
                (webhook, station),
            ).fetchone()
            connection.execute(
                "INSERT OR REPLACE INTO told_sets (webhook, station, set_id, digest, key, stored_at_ms)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    webhook,
                    station,
                    set_id,
                    digest,
                    "" if delivery is None else delivery.key,
                    max(now_ms, newest_ms + 1),
                ),
            )
            connection.execute(
                "DELETE FROM told_sets WHERE webhook = ? AND station = ? AND set_id NOT IN (SELECT set_id FROM"
                " told_sets WHERE webhook = ? AND station = ? ORDER BY stored_at_ms DESC LIMIT ?)",
                (webhook, station, webhook, station, _KEPT_SETS),
            )

    def oldest_per_station(self, webhook: str) -> list[StoredDelivery]:
        """Return the oldest delivery of each station, beginning with the oldest of all."""
        with self._transaction() as connection:
            rows = connection.execute(
                "SELECT id, station, key, event, body, stored_at_ms FROM deliveries WHERE id IN"
                " (SELECT min(id) FROM deliveries WHERE webhook = ? GROUP BY station) ORDER BY id",
                (webhook,),
            ).fetchall()
            return [StoredDelivery(*row) for row in rows]

    def remove(self, id: int) -> None:
        """Remove a delivery, because it was accepted or because we have given up."""
        with self._transaction() as connection:
            connection.execute("DELETE FROM deliveries WHERE id = ?", (id,))

    def count(self, webhook: str) -> int:
        """Return how many deliveries are waiting."""
        with self._transaction() as connection:
            count: int = connection.execute("SELECT count(*) FROM deliveries WHERE webhook = ?", (webhook,)).fetchone()[
                0
            ]
            return count

    def expire(self, webhook: str, *, before_ms: int, max_count: int) -> int:
        """Remove deliveries that were stored before the Unix time `before_ms`. If there are still more than
        `max_count`, remove the oldest ones too.

        Returns how many deliveries were removed.
        """
        with self._transaction() as connection:
            old = connection.execute(
                "DELETE FROM deliveries WHERE webhook = ? AND stored_at_ms < ?", (webhook, before_ms)
            ).rowcount
            over = connection.execute(
                "DELETE FROM deliveries WHERE webhook = ? AND id <= (SELECT id FROM deliveries WHERE webhook = ?"
                " ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (webhook, webhook, max_count),
            ).rowcount
            return old + over


def _insert(
    connection: sqlite3.Connection, webhook: str, station: str, deliveries: Sequence[Delivery], now_ms: int
) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO deliveries (webhook, station, key, event, body, stored_at_ms) VALUES (?, ?, ?, ?, ?, ?)",
        [(webhook, station, delivery.key, delivery.event, delivery.body, now_ms) for delivery in deliveries],
    )
