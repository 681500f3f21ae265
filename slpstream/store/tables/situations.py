"""The situations that you have configured, and that were found in games.

These can't be restored from any replay file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.store.database_file import DatabaseFile
from slpstream.store.documents import check_json
from slpstream.store.game_record import Entry, GameRecord
from slpstream.store.highlights_query import SITUATIONS, tenths
from slpstream.store.situations_query import FoundSituation, SituationKey, SituationPage, SituationRow, SituationsQuery

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    13: (
        # In the order in which this daemon found them.
        """CREATE TABLE situations (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            game_id TEXT NOT NULL,
            name TEXT NOT NULL,
            number INTEGER NOT NULL,           -- of those of this name in this game, from 1
            query TEXT NOT NULL,
            station TEXT NOT NULL,
            found_at_ms INTEGER NOT NULL,      -- Unix time
            document TEXT NOT NULL             -- JSON
        ) STRICT""",
        "CREATE UNIQUE INDEX situations_by_game ON situations (game_id, name, number)",
        "CREATE INDEX situations_by_station ON situations (station, id)",
        "CREATE INDEX situations_by_name ON situations (name, id)",
        # The situation that is a highlight; NULL for logged highlights.
        "ALTER TABLE highlights ADD COLUMN situation INTEGER",
        "CREATE UNIQUE INDEX highlights_by_situation ON highlights (situation) WHERE situation IS NOT NULL",
    ),
}


class Situations:
    """The table of situations."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def add(self, found: Iterable[FoundSituation]) -> int:
        """Store situations in the order in which they were found, and return how many of them are new.

        If a query was changed, its situations replace those that the earlier query with the same name has found in the
        same game.
        """
        new = 0
        with self._file.transaction() as writer:
            for situation in found:
                new += _add(writer, situation)
        return new

    def page(self, query: SituationsQuery) -> SituationPage:
        """Return a page of situations, beginning with the one that was found last."""
        statement, values = _page_statement(query)
        with self._file.reader() as reader:
            rows = [SituationRow(*row) for row in reader.execute(statement, values)]
            check_json(*(row.document for row in rows))
        if len(rows) <= query.limit:
            return SituationPage(rows, None)
        return SituationPage(rows[: query.limit], SituationKey(rows[query.limit - 1].id))

    def add_game(self, writer: sqlite3.Connection, entry: Entry, record: GameRecord, *, counts: bool) -> None:
        """Do nothing, because the record of a game doesn't contain any situations."""

    def delete_game(self, writer: sqlite3.Connection, game_id: str) -> None:
        """Delete the situations of a game."""
        writer.execute("DELETE FROM situations WHERE game_id = ?", (game_id,))


def _add(writer: sqlite3.Connection, found: FoundSituation) -> bool:
    """Store a situation, and if it has a score, also its place among the highlights.

    Returns whether the situation is new.
    """
    game_id, name, query = found.game_id, found.payload["name"], found.payload["query"]
    stale = writer.execute(
        "DELETE FROM situations WHERE game_id = ? AND name = ? AND query <> ? RETURNING id", (game_id, name, query)
    ).fetchall()
    writer.executemany("DELETE FROM highlights WHERE situation = ?", stale)
    stored = writer.execute(
        "INSERT OR IGNORE INTO situations (game_id, name, number, query, station, found_at_ms, document)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            game_id,
            name,
            found.payload["number"],
            query,
            found.station,
            found.found_at_ms,
            msgspec.json.encode(found.payload).decode(),
        ),
    )
    if found.score is not None:
        writer.execute(
            "INSERT OR IGNORE INTO highlights (game_id, number, score, situation) SELECT s.game_id,"
            " (SELECT max(?, ifnull(max(h.number) + 1, 0)) FROM highlights h WHERE h.game_id = s.game_id), ?, s.id"
            " FROM situations s WHERE s.game_id = ? AND s.name = ? AND s.number = ?",
            (SITUATIONS, tenths(found.score), game_id, name, found.payload["number"]),
        )
    return stored.rowcount > 0


def _page_statement(query: SituationsQuery) -> tuple[str, list[Any]]:
    """Return the SQL statement that reads a page and one more situation, and its values."""
    conditions, values = [], list[Any]()
    for condition, value in (
        ("game_id = ?", query.game),
        ("name = ?", query.name),
        ("id < ?", query.cursor),
    ):
        if value is not UNSET:
            conditions.append(condition)
            values.append(value)
    if query.station is not UNSET:
        # The situations of a game that is at several stations are stored once, and found at each of the stations.
        at_station = "SELECT 1 FROM tags t WHERE t.kind = 'station' AND t.value = ? AND t.game_id = situations.game_id"
        conditions.append(f"(station = ? OR EXISTS ({at_station}))")
        values += (query.station, query.station)
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    columns = ", ".join(SituationRow._fields)
    statement = f"SELECT {columns} FROM situations {where}ORDER BY id DESC LIMIT ?"  # noqa: S608 -- the values are bound
    return statement, [*values, query.limit + 1]
