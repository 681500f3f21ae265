"""Read the highlights in the index, in pages."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from slpstream.model.highlight import Highlight
from slpstream.model.prepared import prepared
from slpstream.parts.services import Swing
from slpstream.store import Database
from slpstream.store.highlights_query import HighlightKey, HighlightPage, HighlightRow, HighlightsQuery, tenths


def page(database: Database, query: HighlightsQuery, game_ids: list[str] | None = None) -> HighlightPage:
    """Return a page of highlights. If you don't pass `game_ids`, this searches all games."""
    statement, values = _page_statement(query, game_ids)
    with database.reader() as reader:
        rows = [_row(*row) for row in reader.execute(statement, values)]
    if len(rows) <= query.limit:
        return HighlightPage(rows, None)
    last = rows[query.limit - 1]
    first = tenths(last.highlight.score) if query.order == "best" else last.listed_at_ms
    return HighlightPage(rows[: query.limit], HighlightKey((first, last.game_id, last.number)))


Swings = dict[tuple[str, int], Swing]
"""How much each highlight changed the odds, by game id and number."""
_WITHOUT_ODDS = -(10**9)
"""Is added to scores, so that highlights without odds follow all others."""


def everything(query: HighlightsQuery) -> HighlightsQuery:
    """Return the query for all highlights of a few games, to order them by something that the index doesn't know."""
    return msgspec.structs.replace(query, order="best", limit=sys.maxsize - 1, cursor=UNSET)


def page_by_swing(query: HighlightsQuery, rows: Iterable[HighlightRow], swings: Swings) -> HighlightPage:
    """Return a page of highlights by how much they changed the odds. Those without odds follow, by score."""
    keyed = sorted(((_swing_key(row, swings), row) for row in rows), key=lambda pair: pair[0], reverse=True)
    wanted = [(key, row) for key, row in keyed if query.cursor is UNSET or key < query.cursor]
    shown = wanted[: query.limit]
    return HighlightPage([row for _, row in shown], shown[-1][0] if len(shown) < len(wanted) else None)


def _swing_key(row: HighlightRow, swings: Swings) -> HighlightKey:
    swing = swings.get((row.game_id, row.number))
    first = tenths(row.highlight.score) + _WITHOUT_ODDS if swing is None else round(10_000 * swing.gained)
    return HighlightKey((first, row.game_id, row.number))


_decode = msgspec.json.Decoder(list[Highlight]).decode


class _Index(msgspec.Struct):
    index: int


@prepared
class _Situation(msgspec.Struct, rename="camel"):
    """The part of a payload that we need to make a highlight."""

    name: str
    player: _Index
    opponent: _Index
    frames: list[int]
    known_frame: int


_decode_situation = msgspec.json.Decoder(_Situation).decode


def _of_situation(document: str, score: float) -> Highlight:
    """Make the highlight for a situation.

    It ends when we know about the situation. With `kill`, for example, this is when the opponent dies.
    """
    found = _decode_situation(document)
    return Highlight(
        of="situation",
        situation=found.name,
        player_index=found.player.index,
        opponent_index=found.opponent.index,
        start_frame=found.frames[0],
        end_frame=found.known_frame,
        score=score,
        reasons=(),
    )


def _row(
    game_id: str, number: int, score: int, listed_at_ms: int, highlights: str, situation: str | None
) -> HighlightRow:
    """Make a `HighlightRow` from a row of the statement.

    `highlights` is the list of highlights in the log of the game. If the highlight is a situation, then `situation` is
    its payload, and otherwise `None`.
    """
    highlight = _decode(highlights)[number] if situation is None else _of_situation(situation, score / 10)
    return HighlightRow(game_id, number, listed_at_ms, highlight)


def _page_statement(query: HighlightsQuery, game_ids: list[str] | None) -> tuple[str, list[Any]]:
    """Return the SQL statement that reads a page and one more highlight, and its values.

    If you don't pass `game_ids`, it searches all games.
    """
    values: list[Any] = []
    conditions: list[str] = []
    at_station = query.station is not UNSET
    # CROSS JOIN fixes the order of the tables, so that SQLite reads no more rows than the page has.
    if query.order == "best":
        source, key = "highlights h CROSS JOIN games g ON g.game_id = h.game_id", "h.score"
    elif at_station:
        source = "tags t CROSS JOIN games g ON g.game_id = t.game_id CROSS JOIN highlights h ON h.game_id = t.game_id"
        key = "t.listed_at_ms"
        conditions.append("t.kind = 'station' AND t.value = ?")
        values.append(query.station)
    else:
        source, key = "games g CROSS JOIN highlights h ON h.game_id = g.game_id", "g.listed_at_ms"
    if at_station and query.order == "best":
        conditions.append(
            "EXISTS (SELECT 1 FROM tags t WHERE t.kind = 'station' AND t.value = ?"
            " AND t.listed_at_ms = g.listed_at_ms AND t.game_id = g.game_id)"
        )
        values.append(query.station)
    if game_ids is not None:
        conditions.append(f"g.game_id IN ({', '.join('?' * len(game_ids))})")
        values += game_ids
    if query.cursor is not UNSET:
        conditions.append(f"({key}, h.game_id, h.number) < (?, ?, ?)")
        values += query.cursor
    where = f"WHERE {' AND '.join(conditions)} " if conditions else ""
    columns = "h.game_id, h.number, h.score, g.listed_at_ms, g.highlights, s.document"
    source += " LEFT JOIN situations s ON s.id = h.situation"
    statement = f"SELECT {columns} FROM {source} {where}ORDER BY {key} DESC, h.game_id DESC, h.number DESC LIMIT ?"  # noqa: S608 -- the values are bound
    return statement, [*values, query.limit + 1]
