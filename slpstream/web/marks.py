"""`/v1/stations/{station}/marks`: moments that operators have marked for a replay."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import NoSuchMoment
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import GameId, Moment, Schema
from slpstream.web.station_path import STATION_IN_PATH, no_such_station

MAX_MARKS = 200
MAX_WORDS = 200
_Frame = Annotated[int, Meta(ge=-123, le=10_000_000)]
_MARK_IN_PATH: dict[str, Any] = {
    **STATION_IN_PATH,
    "mark": Annotated[int, Meta(ge=1, le=1 << 31, description="Id of a mark.")],
}
_NOT_FOUND = {404: "No such station."}


class NewMark(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="camel"):
    """A moment to mark: now, or a frame."""

    frame: Annotated[_Frame | None, Meta(description="Frame number; left out for the newest frame.")] = None
    game_id: Annotated[GameId | None, Meta(description="The game of `frame`; left out for the station's game.")] = None
    words: Annotated[str, Meta(max_length=MAX_WORDS, description="What it was, for people.")] = ""


class Mark(Schema, kw_only=True):
    """A marked moment."""

    id: Annotated[int, Meta(description="From 1; a later mark has a greater id.")]
    game_id: GameId
    frame: int
    at: Annotated[Moment, Meta(description="When it was marked.")]
    words: Annotated[str, Meta(description="What it was, for people; left out if nothing was said.")] = ""


class MarkList(Schema, kw_only=True):
    """The marks of a station."""

    marks: Annotated[list[Mark], Meta(description=f"Newest first, at most {MAX_MARKS}.")]


class Marks(Protocol):
    """The marks of a daemon, as the web server sees them. A gateway has none."""

    async def marks(self, station: str) -> list[Mark] | None:
        """The marks of a station, newest first; `None` if the station does not exist."""

    async def mark(self, station: str, wanted: NewMark) -> Mark | None:
        """Marks a moment; `None` if the station does not exist. Raises `NoSuchMoment`."""

    async def unmark(self, station: str, mark: int) -> list[Mark] | None:
        """Removes a mark and returns the others; `None` if it does not exist."""


def endpoints(marks: Marks) -> list[Endpoint]:
    """The endpoints of this module."""

    async def list_marks(request: Request, _: NoParameters) -> Response:
        found = await marks.marks(request.path_params["station"])
        if found is None:
            raise no_such_station(request.path_params["station"])
        return await json_response(request, MarkList(marks=found))

    async def mark(request: Request, _: NoParameters) -> Response:
        wanted = await read_body(request, NewMark)
        try:
            made = await marks.mark(request.path_params["station"], wanted)
        except NoSuchMoment as error:
            raise HTTPException(409, str(error)) from None
        if made is None:
            raise no_such_station(request.path_params["station"])
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
