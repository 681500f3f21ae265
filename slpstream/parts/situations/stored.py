"""The situations in the index: store those that were found, and read them in pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.parts.situations.query import FoundSituation, SituationKey, SituationPage, SituationRow, SituationsQuery
from slpstream.store import Database, GameIndex
from slpstream.store.documents import check_json
from slpstream.store.highlights_query import SITUATIONS, tenths


async def keep(index: GameIndex, found: FoundSituation) -> bool:
    """Store a situation. If the database fails, it is stored later. Returns whether the situation is new."""
    return await index.keep(found.key, lambda database: add(database, [found]) > 0)


def add(database: Database, found: Iterable[FoundSituation]) -> int:
    """Store situations in the order in which they were found, and return how many of them are new.

    If a query was changed, its situations replace those that the earlier query with the same name has found in the
    same game.
    """
    with database.transaction() as writer:
        return sum(_add(writer, situation) for situation in found)


def page(database: Database, query: SituationsQuery) -> SituationPage:
    """Return a page of situations, beginning with the one that was found last."""
    statement, values = _page_statement(query)
    with database.reader() as reader:
        rows = [SituationRow(*row) for row in reader.execute(statement, values)]
        check_json(*(row.document for row in rows))
    if len(rows) <= query.limit:
        return SituationPage(rows, None)
    return SituationPage(rows[: query.limit], SituationKey(rows[query.limit - 1].id))


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
