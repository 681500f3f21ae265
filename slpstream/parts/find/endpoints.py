"""`/v1/search`: the words of queries for games, with which pages complete them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.interface import RunningPart
from slpstream.web.endpoint import Endpoint, NoParameters, json_response
from slpstream.web.schemas import Schema


class QueryWords(Schema, kw_only=True):
    """The words of queries for games."""

    keys: Annotated[dict[str, list[str]], Meta(description="By key: the values that it accepts; empty for any text.")]


def endpoints(_: RunningPart | None) -> list[Endpoint]:
    """Return the endpoint of this module."""

    async def get_words(request: Request, _: NoParameters) -> Response:
        return await json_response(request, query_words(), final=True)

    return [
        Endpoint(
            "/v1/search", "getSearch", "The keys of queries for games and their values, for completion.",
            get_words, QueryWords, statuses={304: "Not modified."},
        )
    ]  # fmt: skip


def query_words() -> QueryWords:
    """Return the keys of queries and the values that they accept."""
    from slpstream.parts.find.queries.parse import CHOICES, KEYS  # noqa: PLC0415 -- most daemons never need these
    from slpstream.parts.find.queries.vocabulary import vocabulary  # noqa: PLC0415 -- as above

    known = vocabulary()
    names = {"char": known.characters, "stage": known.stages}
    keys: dict[str, list[str]] = {}
    for key in KEYS:
        values = [name for each in names.get(key, {}).values() for name in each.shown]
        keys[key] = [*CHOICES.get(key, ()), *dict.fromkeys(values)]
    return QueryWords(keys=keys)
