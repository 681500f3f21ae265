"""`/v1/stations/{station}/matchup`: the earlier games of the two players of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.matchup.schemas import Matchup
from slpstream.web.endpoint import Endpoint, NoParameters, json_response
from slpstream.web.station_path import STATION_IN_PATH

if TYPE_CHECKING:
    from slpstream.parts.matchup.matchups import Matchups


def endpoints(running: Matchups | None) -> list[Endpoint]:
    """Make the endpoint of this module. `running` is `None` if it is only described."""

    async def of_station(request: Request, _: NoParameters) -> Response:
        found = await cast("Matchups", running).matchup_of(request.path_params["station"])
        return await json_response(request, found, final=True)

    return [
        Endpoint(
            "/v1/stations/{station}/matchup", "getMatchup",
            "The earlier games of the two players of a station's set: against each other, and those of each of them.",
            of_station, Matchup, in_path=STATION_IN_PATH, at_station=True,
            statuses={304: "Not modified.", 404: "No such station."},
        ),
    ]  # fmt: skip
