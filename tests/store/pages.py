"""All results of a query, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from slpstream.store import Database, HighlightsQuery


def every(row: str, page_of: Callable[[Any], Any], query: Any) -> Iterator[Any]:
    """The rows of all pages, from the attribute `row` of the pages. Asserts that no page exceeds the limit."""
    while True:
        page = page_of(query)
        rows = getattr(page, row)
        assert len(rows) <= query.limit
        assert page.next is None or len(rows) == query.limit
        yield from rows
        if page.next is None:
            return
        query = msgspec.structs.replace(query, cursor=page.next)


def highlights(
    database: Database, limit: int = 100, game_ids: list[str] | None = None, **values: Any
) -> list[tuple[int, int]]:
    """Game number and highlight number of all highlights that match."""
    query = HighlightsQuery(limit=limit, **values)
    found = every("highlights", lambda query: database.highlights.page(query, game_ids), query)
    return [(int(row.game_id, 16), row.number) for row in found]
