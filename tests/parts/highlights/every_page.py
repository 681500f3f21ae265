"""All highlights that match a query, page by page."""

from __future__ import annotations

from typing import Any

from slpstream.parts.highlights.pages import page
from slpstream.store import Database, HighlightsQuery
from tests.store.pages import every


def highlights(
    database: Database, limit: int = 100, game_ids: list[str] | None = None, **values: Any
) -> list[tuple[int, int]]:
    """Game number and highlight number of all highlights that match."""
    query = HighlightsQuery(limit=limit, **values)
    found = every("highlights", lambda query: page(database, query, game_ids), query)
    return [(int(row.game_id, 16), row.number) for row in found]
