"""`/v1/on-air`: the station on air, which outputs and the pages `/overlay/on-air` and `/scenes/NAME/on-air` follow."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.on_air.switcher import StationOnAir, Switcher
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import Schema
from slpstream.web.station_path import NoSuchStation

PATH = "/v1/on-air"


class OnAirChoice(Schema, kw_only=True, forbid_unknown_fields=True):
    """The operator's choice of the station on air."""

    station: Annotated[
        str | None, Meta(description="Id of the station; null hands back to the rule, or ends the choice without one.")
    ]


def endpoints(switcher: Switcher) -> list[Endpoint]:
    """Make the endpoints of this module. Each daemon has a switcher, so `None` is only passed to describe them."""

    async def get_on_air(request: Request, _: NoParameters) -> Response:
        return await json_response(request, switcher.describe())

    async def put_on_air(request: Request, _: NoParameters) -> Response:
        choice = await read_body(request, OnAirChoice)
        if not await switcher.choose_station(choice.station):
            raise NoSuchStation(choice.station)
        return await json_response(request, switcher.describe())

    return [
        Endpoint(PATH, "getOnAir", "The station on air.", get_on_air, StationOnAir),
        Endpoint(
            PATH, "putOnAir",
            "Puts a station on air, or hands back to the rule with null; without a rule, no station is on air then.",
            put_on_air, StationOnAir, method="PUT", operates=True, body=OnAirChoice,
            statuses=BODY_REFUSED | {404: "No such station."},
        ),
    ]  # fmt: skip
