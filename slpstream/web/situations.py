"""`/v1/situations`: the configured situations that were found in games."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from slpstream.store.situations_query import SituationsQuery
from slpstream.web import schemas
from slpstream.web.endpoint import Endpoint, json_response
from slpstream.web.launcher import with_launcher_link

ListSituations = Callable[[SituationsQuery], Awaitable[schemas.SituationList]]
"""A page of situations, without links for the Slippi Launcher."""


def endpoint(list_situations: ListSituations) -> Endpoint:
    """The endpoint of this module."""

    async def respond(request: Request, query: SituationsQuery) -> Response:
        found = await list_situations(query)
        for item in found.situations:
            item.links = with_launcher_link(request, item.links, item.frames[0])
        return await json_response(request, found)

    return Endpoint(
        "/v1/situations", "listSituations",
        "The situations of the configuration that were found in games, the one that was found last first. They survive "
        "a restart. A gateway has none.",
        respond, schemas.SituationList, parameters=SituationsQuery,
    )  # fmt: skip
