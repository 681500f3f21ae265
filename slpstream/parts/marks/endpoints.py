"""`/v1/stations/{station}/marks`: moments that operators have marked for a replay."""

from __future__ import annotations

from typing import Annotated, Any, cast

from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import NoSuchMoment
from slpstream.parts.marks.station_marks import MAX_MARKS, StationMarks
from slpstream.parts.services import Mark, NewMark
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import Schema
from slpstream.web.station_path import STATION_IN_PATH, NoSuchStation

_MARK_IN_PATH: dict[str, Any] = {
    **STATION_IN_PATH,
    "mark": Annotated[int, Meta(ge=1, le=1 << 31, description="Id of a mark.")],
}
_NOT_FOUND = {404: "No such station."}


class MarkList(Schema, kw_only=True):
    """The marks of a station."""

    marks: Annotated[list[Mark], Meta(description=f"Newest first, at most {MAX_MARKS}.")]


def endpoints(running: StationMarks | None) -> list[Endpoint]:
    """Return the endpoints of this module. If you only want a description, pass `None`."""
    marks = cast(StationMarks, running)

    async def list_marks(request: Request, _: NoParameters) -> Response:
        found = await marks.marks(request.path_params["station"])
        if found is None:
            raise NoSuchStation(request.path_params["station"])
        return await json_response(request, MarkList(marks=found))

    async def mark(request: Request, _: NoParameters) -> Response:
        wanted = await read_body(request, NewMark)
        try:
            made = await marks.mark(request.path_params["station"], wanted)
        except NoSuchMoment as error:
            raise HTTPException(409, str(error)) from None
        if made is None:
            raise NoSuchStation(request.path_params["station"])
        return await json_response(request, made)

    async def unmark(request: Request, _: NoParameters) -> Response:
        given: str = request.path_params["mark"]
        known = given.isascii() and given.isdigit() and len(given) < len(str(1 << 31))
        found = await marks.unmark(request.path_params["station"], int(given)) if known else None
        if found is None:
            raise HTTPException(404, "no such station or mark")
        return await json_response(request, MarkList(marks=found))

    return [
        Endpoint(
            "/v1/stations/{station}/marks", "listMarks", "The marked moments of a station.", list_marks, MarkList,
            in_path=STATION_IN_PATH, statuses=_NOT_FOUND,
        ),
        Endpoint(
            "/v1/stations/{station}/marks", "addMark",
            "Marks a moment of a station: now, or at a frame. Marks survive a restart.",
            mark, Mark, in_path=STATION_IN_PATH, method="POST", operates=True, body=NewMark,
            statuses=_NOT_FOUND | BODY_REFUSED | {409: "There is no such moment, as when no game is played."},
        ),
        Endpoint(
            "/v1/stations/{station}/marks/{mark}", "removeMark", "Removes a mark. Returns the others.", unmark,
            MarkList, in_path=_MARK_IN_PATH, method="DELETE", operates=True, statuses={404: "No such station or mark."},
        ),
    ]  # fmt: skip
