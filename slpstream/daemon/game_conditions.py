"""Turns the queries in requests into conditions on games."""

from __future__ import annotations

from slpstream.game.queries.conditions import Condition
from slpstream.game.queries.parse import Context, parse
from slpstream.web.games import InvalidQuery


def condition_of(query: str, context: Context) -> Condition:
    """Return the condition that a query expresses. Raises `InvalidQuery` if it isn't valid."""
    parsed = parse(query, context)
    if parsed.problems:
        raise InvalidQuery(parsed.problems)
    return parsed.condition
