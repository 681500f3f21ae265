"""A problem with a query, and its place."""

from __future__ import annotations

import msgspec

from slpstream.model.prepared import prepared


@prepared
class QueryProblem(msgspec.Struct, frozen=True):
    """An error in a query. `position` and `length` locate the wrong text, in characters."""

    kind: str
    message: str
    position: int
    length: int
