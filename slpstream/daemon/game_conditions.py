"""Turns the queries in requests into conditions on games."""

from __future__ import annotations

from slpstream.game.queries.conditions import Condition
from slpstream.game.queries.parse import CHOICES, KEYS, Context, parse
from slpstream.game.queries.vocabulary import vocabulary
from slpstream.web.games import InvalidQuery
from slpstream.web.schemas import QueryWords


def condition_of(query: str, context: Context) -> Condition:
    """Return the condition that a query expresses. Raises `InvalidQuery` if it isn't valid."""
    parsed = parse(query, context)
    if parsed.problems:
        raise InvalidQuery(parsed.problems)
    return parsed.condition


def query_words() -> QueryWords:
    """Return the keys that queries can use, and the values that these accept."""
    known = vocabulary()
    names = {"char": known.characters, "stage": known.stages}
    keys: dict[str, list[str]] = {}
    for key in KEYS:
        values = [name for each in names.get(key, {}).values() for name in each.shown]
        keys[key] = [*CHOICES.get(key, ()), *dict.fromkeys(values)]
    return QueryWords(keys=keys)
