"""`/v1/on-air`: the station on air, which outputs and the pages `/overlay/on-air` and `/scenes/NAME/on-air` follow."""

from __future__ import annotations

from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.web import schemas
from slpstream.web.endpoint import Endpoint, NoParameters, json_response, read_body

PATH = "/v1/on-air"


class StationOnAir(Protocol):
    """The station on air of a daemon, as the web server sees it. A gateway has none."""

    def describe(self) -> dict[str, Any]:
        """The station on air, in the form of `schemas.StationOnAir`."""

    async def choose_station(self, station: str | None) -> bool:
        """Puts a station on air for the operator; `None` withdraws the choice. Returns whether the station exists."""


def endpoints(on_air: StationOnAir) -> list[Endpoint]:
    """The endpoints of this module."""

    async def get_on_air(request: Request, _: NoParameters) -> Response:
        return await json_response(request, on_air.describe())

    async def put_on_air(request: Request, _: NoParameters) -> Response:
        choice = await read_body(request, schemas.OnAirChoice)
        if not await on_air.choose_station(choice.station):
            raise HTTPException(404, f"no such station: {choice.station}")
        return await json_response(request, on_air.describe())

    return [
        Endpoint(PATH, "getOnAir", "The station on air.", get_on_air, schemas.StationOnAir),
        Endpoint(
            PATH, "putOnAir",
            "Puts a station on air, or hands back to the rule with null; without a rule, no station is on air then.",
            put_on_air, schemas.StationOnAir, method="PUT", operates=True, body=schemas.OnAirChoice,
            statuses={
                400: "The body is incomplete.",
                404: "No such station.",
                413: "The body is too long.",
                415: "The body is not JSON.",
            },
        ),
    ]  # fmt: skip
