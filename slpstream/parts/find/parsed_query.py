"""Parsed queries for games, which the core and other parts use through the function `parse_game_query`."""

from __future__ import annotations

from collections.abc import Sequence

from slpstream.model.game_facts import GameFacts
from slpstream.parts.find.queries.parse import Context, parse
from slpstream.parts.find.queries.predicate import matches
from slpstream.parts.find.queries.sql import to_sql
from slpstream.store import Filter, KnownFacts


class ParsedQuery:
    """A query that was parsed. `parts.services.ParsedQuery` describes the methods."""

    def __init__(self, text: str, me: Sequence[str] = ()) -> None:
        """`me` are the connect codes that `@me` means."""
        parsed = parse(text, Context(me))
        self.problems = parsed.problems
        self._condition = parsed.condition

    def matches(self, game: GameFacts) -> bool:
        """Whether a game matches the query."""
        return matches(self._condition, game)

    def filter(self, known: KnownFacts) -> Filter:
        """Return the query as a condition for the games of an index."""
        return Filter(*to_sql(self._condition, known))
