"""`/v1/trends`: how the games of one player change, as JSON and as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.trends.own_games import GROUPINGS, Grouping
from slpstream.parts.trends.player_trends import NoIndex
from slpstream.parts.trends.rows import csv_of
from slpstream.parts.trends.schemas import Trends
from slpstream.store.games_query import StartTime
from slpstream.web.endpoint import Endpoint, json_response

if TYPE_CHECKING:
    from slpstream.parts.trends.player_trends import PlayerTrends

_STATUSES = {503: "The index of games cannot be read."}


class TrendsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A player, and which of the games."""

    me: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | UnsetType,
        Meta(description="Connect code, name or tag of the player. Default: the connect codes of `search.me`."),
    ] = UNSET
    by: Annotated[Grouping | UnsetType, Meta(description="Only rows of this kind. Default: of all kinds.")] = UNSET
    since: Annotated[
        Annotated[StartTime, Meta(extra_json_schema={"format": "date-time"})] | UnsetType,
        Meta(description="Only games from then on."),
    ] = UNSET


def endpoints(running: PlayerTrends | None) -> list[Endpoint]:
    """Make the endpoints of this module. `running` is `None` if they are only described."""

    async def found(query: TrendsQuery) -> Trends:
        name = None if query.me is UNSET else query.me
        try:
            trends = await cast("PlayerTrends", running).trends_of(
                name, 0 if query.since is UNSET else int(query.since)
            )
        except NoIndex:
            raise HTTPException(503, "the index of games cannot be read") from None
        if query.by is UNSET:
            return trends
        others = {grouping: None for grouping in GROUPINGS if grouping != query.by}
        more = {by: count for by, count in trends.more.items() if by == query.by}
        return msgspec.structs.replace(trends, more=more, **others)

    async def as_json(request: Request, query: TrendsQuery) -> Response:
        return await json_response(request, await found(query), final=True)

    async def as_csv(request: Request, query: TrendsQuery) -> Response:
        trends = await found(query)
        rows = ((grouping, row) for grouping in GROUPINGS for row in getattr(trends, grouping) or ())
        headers = {"content-type": "text/csv; charset=utf-8", "cache-control": "no-store"}
        return Response(csv_of(rows).encode("utf-8", "replace"), headers=headers)

    return [
        Endpoint(
            "/v1/trends", "getTrends",
            "The games of one player by week, opponent, character and stage: how many were won, and figures of them.",
            as_json, Trends, parameters=TrendsQuery, statuses=_STATUSES | {304: "Not modified."},
        ),
        Endpoint(
            "/v1/trends/rows.csv", "getTrendRows", "The same as CSV.",
            as_csv, media_type="text/csv", parameters=TrendsQuery, statuses=_STATUSES,
        ),
    ]  # fmt: skip
