"""`/v1/highlights`: the conversions and stocks of games that deserve a replay."""

from __future__ import annotations

from typing import cast

from msgspec import UNSET
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.highlights.game_highlights import GameHighlights
from slpstream.parts.highlights.schemas import HighlightList
from slpstream.store import HighlightsQuery
from slpstream.web.endpoint import JSON, Endpoint, json_response
from slpstream.web.file_response import disposition
from slpstream.web.launcher import with_launcher_link


def _checked(query: HighlightsQuery) -> HighlightsQuery:
    if query.order == "swing" and query.game is query.set is UNSET:
        raise HTTPException(422, "order: `swing` needs `game` or `set`")
    return query


def endpoints(running: GameHighlights | None) -> list[Endpoint]:
    """Make the endpoints of this module. `running` is `None` if they are only described."""
    highlights = cast(GameHighlights, running)

    async def list_highlights(request: Request, query: HighlightsQuery) -> Response:
        found = await highlights.highlights(_checked(query))
        if found is None:
            raise HTTPException(404, "no such game or station")
        for item in found.highlights:
            item.links = with_launcher_link(request, item.links, item.highlight.start_frame)
        return await json_response(request, found)

    async def combos(request: Request, query: HighlightsQuery) -> Response:
        found = await highlights.combos(_checked(query))
        if found is None:
            raise HTTPException(404, "no such game or station")
        headers = {"content-type": JSON, "content-disposition": disposition("combos.json"), "cache-control": "no-store"}
        return Response(found, headers=headers)

    return [
        Endpoint(
            "/v1/highlights/combos", "getCombos",
            "The same highlights as a file like Clippi's `combos.json`, which Dolphin plays on the computer on which "
            "the daemon runs. It has paths of files, so it is for operators.",
            combos, dict, parameters=HighlightsQuery, operates=True, statuses={404: "No such game or station."},
        ),
        Endpoint(
            "/v1/highlights", "listHighlights",
            "The conversions, stocks and situations that are worth showing again. Those of games that the daemon did "
            "not see being played are computed when `game` or `set` asks for them; situations are not.",
            list_highlights, HighlightList, parameters=HighlightsQuery,
            statuses={404: "No such game or station."},
        ),
    ]  # fmt: skip
