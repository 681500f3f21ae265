"""The SQL that reads a page of games.

Lists begin with the newest game, and to get the next page, you pass the key of the last game that you have seen. This
means that each page costs as much as the first one, and if games are added between two pages, the later pages don't
shift.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from slpstream.store.game_record import folded
from slpstream.store.game_rows import MOST_FIRST, GameRow
from slpstream.store.games_query import GamesQuery
from slpstream.store.known_facts import Filter, KnownFacts, games_with

_SEPARATOR = os.sep.encode()
_COMPUTED = {
    "ended_at_ms": "e.ended_at_ms",
    "stations": "(SELECT json_group_array(station) FROM"  # noqa: S608 -- a constant
    f" (SELECT station FROM files WHERE game_id = g.game_id {MOST_FIRST}))",
}
"""The columns of `GameRow` that are not columns of the table of games."""
ROW = ", ".join(_COMPUTED.get(name, f"g.{name}") for name in GameRow._fields)
"""The columns of a `GameRow`, for a statement with games `g` and endings `e`."""


def narrowed(condition: Filter, known: KnownFacts) -> Filter:
    """Return the condition.

    If only a few players are in question, it is extended so that SQLite just reads their games.
    """
    if condition.lines is None or not known.are_few(condition.lines):
        return condition
    sql, values = games_with(condition.lines)
    return Filter(f"{sql} AND {condition.sql}", [*values, *condition.values])


def page_statement(query: GamesQuery, folders: Sequence[bytes], only: Filter | None) -> tuple[str, list[Any]]:
    """Return the SQL statement that reads a page and one more game, and its values.

    If the order is `ended`, it reads along the endings. If it is `began`, it depends: if `only` is a condition on the
    facts, it reads along these, and otherwise along the most selective tag, or the games if there's no tag.
    """
    tags = [
        (kind, value)
        for kind, value in (
            ("player", UNSET if query.player is UNSET else folded(query.player)),
            ("station", query.station),
            ("format", query.format),
        )
        if value is not UNSET
    ]
    values: list[Any] = []
    conditions: list[str] = []
    with_endings = "LEFT JOIN endings e ON e.game_id = g.game_id"
    if query.order == "ended":
        # CROSS JOIN fixes the order of the tables.
        source, by, key = "endings e CROSS JOIN games g ON g.game_id = e.game_id", "g", "e.ended_at_ms"
        if only is not None:
            facts = "search s CROSS JOIN endings e ON e.game_id = s.game_id"
            source = f"{facts} CROSS JOIN games g ON g.game_id = e.game_id"
    elif only is not None:
        source = f"search s CROSS JOIN games g ON g.game_id = s.game_id {with_endings}"
        by, key = "s", "s.listed_at_ms"
    elif tags:
        source, by, key = f"tags t CROSS JOIN games g ON g.game_id = t.game_id {with_endings}", "t", "t.listed_at_ms"
        conditions.append("t.kind = ? AND t.value = ?")
        values += tags.pop(0)
    else:
        source, by, key = f"games g {with_endings}", "g", "g.listed_at_ms"
    if only is not None:
        conditions.append(only.sql)
        values += only.values
    for tag in tags:
        conditions.append(
            "EXISTS (SELECT 1 FROM tags o WHERE o.kind = ? AND o.value = ?"  # noqa: S608 -- only `by` is put in
            f" AND o.listed_at_ms = {by}.listed_at_ms AND o.game_id = {by}.game_id)"
        )
        values += tag
    if query.watched:
        # The paths below a folder are between the folder with a separator and the folder with the next character.
        below = " OR ".join(["(f.path > ? AND f.path < ?)"] * len(folders)) or "FALSE"
        conditions.append(f"EXISTS (SELECT 1 FROM files f WHERE f.game_id = g.game_id AND ({below}))")  # noqa: S608
        for folder in folders:
            base = folder.rstrip(_SEPARATOR)
            values += (base + _SEPARATOR, base + bytes([_SEPARATOR[0] + 1]))
    for comparison, bound in ((">=", query.since), ("<", query.until)):
        if bound is not UNSET:
            conditions.append(f"{key} {comparison} ?")
            values.append(bound)
    id_of_key = "e.game_id" if query.order == "ended" else f"{by}.game_id"
    if query.cursor is not UNSET:
        conditions.append(f"({key}, {id_of_key}) < (?, ?)")
        values += query.cursor
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    statement = f"SELECT {ROW} FROM {source} {where}ORDER BY {key} DESC, {id_of_key} DESC LIMIT ?"  # noqa: S608 -- the values are bound
    return statement, [*values, query.limit + 1]
