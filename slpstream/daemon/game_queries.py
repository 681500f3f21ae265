"""The queries for games in requests."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.exceptions import HTTPException

from slpstream.parts import registry
from slpstream.parts.services import ParsedQuery
from slpstream.web.games import InvalidQuery


def parsed_query(text: str, me: Sequence[str]) -> ParsedQuery:
    """Parse a query, in which `@me` means the connect codes `me`.

    Raises `InvalidQuery` if it has mistakes, and `HTTPException` if there is no part that parses queries.
    """
    parse = registry.function("parse_game_query")
    if parse is None:
        raise HTTPException(422, "query: this installation has no part for queries")
    parsed: ParsedQuery = parse(text, me)
    if parsed.problems:
        raise InvalidQuery(parsed.problems)
    return parsed
