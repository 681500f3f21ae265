"""`/v1/director`: the choice of the director, and the operator's pin."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.director.directing import Directing, DirectorState
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import Schema
from slpstream.web.station_path import NoSuchStation

PATH = "/v1/director"


class DirectorPin(Schema, kw_only=True, forbid_unknown_fields=True):
    """The station that the operator pins."""

    station: Annotated[str | None, Meta(description="Id of one of the director's stations; null releases it.")]


def endpoints(running: Directing | None) -> list[Endpoint]:
    """Make the endpoints of this module. `running` is `None` without a director."""

    async def get(request: Request, _: NoParameters) -> Response:
        return await json_response(request, DirectorState() if running is None else running.state())

    async def pin(request: Request, _: NoParameters) -> Response:
        wanted = await read_body(request, DirectorPin)
        if running is None or not await running.pin(wanted.station):
            raise NoSuchStation(wanted.station or "")
        return await json_response(request, running.state())

    return [
        Endpoint(PATH, "getDirector", "The choice of the director.", get, DirectorState),
        Endpoint(
            f"{PATH}/pin", "pinDirector", "Pins a station, so that it stays large, or releases it with null.",
            pin, DirectorState, method="POST", operates=True, body=DirectorPin,
            statuses=BODY_REFUSED | {404: "The director does not have this station."},
        ),
    ]  # fmt: skip
