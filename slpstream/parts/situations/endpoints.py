"""`/v1/situations`: the configured situations that were found in games."""

from __future__ import annotations

from typing import cast

from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.situations.query import SituationsQuery
from slpstream.parts.situations.schemas import SituationList
from slpstream.parts.situations.situations import Situations
from slpstream.web.endpoint import Endpoint, json_response
from slpstream.web.launcher import with_launcher_link


def endpoints(running: Situations | None) -> list[Endpoint]:
    """Make the endpoint of this module. `running` is `None` if it is only described."""

    async def list_situations(request: Request, query: SituationsQuery) -> Response:
        found = await cast(Situations, running).situations(query)
        for item in found.situations:
            item.links = with_launcher_link(request, item.links, item.frames[0])
        return await json_response(request, found)

    return [
        Endpoint(
            "/v1/situations", "listSituations",
            "The situations of the configuration that were found in games, the one that was found last first. They "
            "survive a restart. A gateway has none.",
            list_situations, SituationList, parameters=SituationsQuery,
        ),
    ]  # fmt: skip
