"""`/v1/stations/{station}/sets/{set}/replays.zip`: the replays of a set for other programs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import StoreError
from slpstream.web.endpoint import Endpoint, NoParameters
from slpstream.web.file_response import OpenFileResponse, disposition
from slpstream.web.station_path import STATION_IN_PATH

if TYPE_CHECKING:
    from slpstream.parts.handover.handover import ReplayZips

_IN_PATH: dict[str, Any] = {
    **STATION_IN_PATH,
    "set": Annotated[
        str, Meta(pattern="^[0-9a-f]{32}$", description="Id of a set, `setId`: that of one of its games will do.")
    ],
}


def endpoints(zips: ReplayZips | None) -> list[Endpoint]:
    """Return the endpoint for the zips. If you only want a description, pass `None`."""

    async def zip_of_set(request: Request, _: NoParameters) -> Response:
        station, set_id = request.path_params["station"], request.path_params["set"]
        try:
            found = None if zips is None else await zips.replays(station, set_id)
        except StoreError as error:
            raise HTTPException(503, str(error)) from None
        except OSError as error:
            raise HTTPException(503, f"the zip cannot be made: {error.strerror or error}") from None
        if found is None:
            raise HTTPException(404, f"no such set of station {station}: {set_id[:80]}")
        name, file, size_bytes = found
        headers = {"content-type": "application/zip", "content-disposition": disposition(name)}
        return OpenFileResponse(request, file, size_bytes, time.time(), headers)

    return [
        Endpoint(
            "/v1/stations/{station}/sets/{set}/replays.zip", "getSetReplays",
            "The replays of the games of a set that count, as a zip with the names of the players and a context.json.",
            zip_of_set, media_type="application/zip", in_path=_IN_PATH,
            statuses={
                404: "No such station or set.",
                503: "The index of games is not open yet, there is no room, or the replays cannot be read.",
            },
        ),
    ]  # fmt: skip
