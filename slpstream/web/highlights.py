"""`/v1/highlights`: the conversions and stocks of games that deserve a replay."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.store.highlights_query import HighlightsQuery
from slpstream.web import schemas
from slpstream.web.endpoint import JSON, Endpoint, json_response
from slpstream.web.file_response import disposition
from slpstream.web.launcher import launcher_link

FIRST_FRAME = -123
_LEAD_FRAMES = 120
"""A link opens a replay this long before the highlight, so that viewers see how it begins."""


Item = TypeVar("Item", schemas.HighlightItem, schemas.SituationItem)


class Highlights(Protocol):
    """The highlights of a daemon, as the web server sees them. A gateway has none."""

    async def highlights(self, query: HighlightsQuery) -> schemas.HighlightList | None:
        """A page of highlights; `None` if the game or station of the query is unknown."""

    async def combos(self, query: HighlightsQuery) -> bytes | None:
        """The same as a queue for Dolphin, with the paths of the replays."""


def endpoints(highlights: Highlights) -> list[Endpoint]:
    """The endpoints of this module."""

    async def list_highlights(request: Request, query: HighlightsQuery) -> Response:
        found = await highlights.highlights(query)
        if found is None:
            raise HTTPException(404, "no such game or station")
        items = [linked(request, item, item.highlight.start_frame) for item in found.highlights]
        page = msgspec.structs.replace(found, highlights=items)
        return await json_response(request, page)

    async def combos(request: Request, query: HighlightsQuery) -> Response:
        found = await highlights.combos(query)
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
            list_highlights, schemas.HighlightList, parameters=HighlightsQuery,
            statuses={404: "No such game or station."},
        ),
    ]  # fmt: skip


def linked(request: Request, item: Item, frame: int) -> Item:
    """The item with a link for the Slippi Launcher to shortly before a frame, if it can play the game."""
    if item.links.file is None:
        return item
    start_frame = max(FIRST_FRAME, frame - _LEAD_FRAMES)
    launcher = launcher_link(request, item.links.file, start_frame)
    return msgspec.structs.replace(item, links=msgspec.structs.replace(item.links, launcher=launcher))
