"""`/v1/stations/{station}/set`: the set of a station, and its correction by an operator."""

from __future__ import annotations

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import StoreError
from slpstream.sets import ImpossibleCorrection, SetPatch, SetScore
from slpstream.web.endpoint import Endpoint, NoParameters, json_response, read_body, tag_of
from slpstream.web.stations import STATION_IN_PATH, Stations, no_such_station

_NOT_FOUND = {404: "No such station."}


def endpoints(stations: Stations) -> list[Endpoint]:
    """The endpoints of this module."""

    async def set_of(request: Request) -> SetScore:
        name = request.path_params["station"]
        score = await stations.set_of(name)
        if score is None:
            raise no_such_station(name)
        return score

    async def one_set(request: Request, _: NoParameters) -> Response:
        return await json_response(request, await set_of(request), final=True)

    async def correct(request: Request, _: NoParameters) -> Response:
        await set_of(request)
        patch = await read_body(request, SetPatch)
        if_match = request.headers.get("if-match") or "*"
        try:
            score = await stations.correct_set(
                request.path_params["station"], patch, lambda before: _matches(if_match, before)
            )
        except ImpossibleCorrection as error:
            raise HTTPException(409, str(error)) from None
        except StoreError as error:
            raise HTTPException(503, str(error)) from None
        if score is None:
            raise HTTPException(412, "the set has changed since: get it again")
        return await json_response(request, score, final=True)

    return [
        Endpoint(
            "/v1/stations/{station}/set", "getSet", "The set that is being played, was played last, or comes next.",
            one_set, SetScore, in_path=STATION_IN_PATH, statuses=_NOT_FOUND | {304: "Not modified."},
        ),
        Endpoint(
            "/v1/stations/{station}/set", "correctSet",
            "Corrects the set: names, score, best of, which games count, a new set. Returns the corrected set. Members "
            "that are left out stay as they are; null withdraws a correction.",
            correct, SetScore, in_path=STATION_IN_PATH, method="PATCH", operates=True, body=SetPatch,
            statuses=_NOT_FOUND | {
                403: "Only operators may correct a set.",
                409: "The correction names a player or a game that the set does not have.",
                412: "The set does not have the ETag in `If-Match`.",
                413: "The body is too long.",
                415: "The body is not JSON.",
                503: "The correction cannot be kept, because the index of games cannot be written to.",
            },
            headers={"If-Match": "The ETag of the set that the operator saw."},
        ),
    ]  # fmt: skip


def _matches(if_match: str, score: SetScore) -> bool:
    """Whether one of the tags is the set's, or any is allowed with `*` (RFC 9110, section 13.1.1)."""
    tag = tag_of(msgspec.json.encode(score))
    asked = [part.strip().removeprefix("W/").strip('"') for part in if_match.split(",")]
    return "*" in asked or tag in asked
