"""`/v1/search`: the words of queries for games."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from slpstream.web import schemas
from slpstream.web.endpoint import Endpoint, NoParameters, json_response


def endpoint(words: Callable[[], schemas.QueryWords]) -> Endpoint:
    """Make the endpoint of this module."""

    async def query_words(request: Request, _: NoParameters) -> Response:
        return await json_response(request, words(), final=True)

    return Endpoint(
        "/v1/search", "getSearch", "The keys of queries for games and their values, for completion.",
        query_words, schemas.QueryWords, statuses={304: "Not modified."},
    )  # fmt: skip
