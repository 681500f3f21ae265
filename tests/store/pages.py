"""All results of a query, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec


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
