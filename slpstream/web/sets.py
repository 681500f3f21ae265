"""`/v1/stations/{id}/set`: the set of a station, and what an operator says about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import StoreError
from slpstream.sets import ImpossibleCorrection, SetPatch, SetScore
from slpstream.web.endpoint import Endpoint, NoParameters, json_answer, read_body, tag_of

_STATION = {"station": Annotated[str, Meta(description="Id of a station.", min_length=1)]}
_NOT_FOUND = {404: "No such station."}


class Sets(Protocol):
    """Who knows the sets."""

    async def set_of(self, station: str) -> SetScore | None:
        """The newest set of a station; `None` when there is no station of that name."""

    async def correct_set(self, station: str, patch: SetPatch, may: Callable[[SetScore], bool]) -> SetScore | None:
        """The set after a correction; `None` when `may` says no of the set before it.

        Raises `ImpossibleCorrection`, and `StoreError`.
        """


def endpoints(sets: Sets) -> list[Endpoint]:
    """The paths of this module."""

    async def found(request: Request) -> SetScore:
        name = request.path_params["station"]
        score = await sets.set_of(name)
        if score is None:
            raise HTTPException(404, f"no such station: {name}")
        return score

    async def one_set(request: Request, _: NoParameters) -> Response:
        return await json_answer(request, await found(request), final=True)

    async def correct(request: Request, _: NoParameters) -> Response:
        await found(request)
        patch = await read_body(request, SetPatch)
        asked = request.headers.get("if-match") or "*"
        try:
            score = await sets.correct_set(
                request.path_params["station"], patch, lambda before: _is_meant(asked, before)
            )
        except ImpossibleCorrection as error:
            raise HTTPException(409, str(error)) from None
        except StoreError as error:
            raise HTTPException(503, str(error)) from None
        if score is None:
            raise HTTPException(412, "the set has changed since: ask for it again")
        return await json_answer(request, score, final=True)

    return [
        Endpoint(
            "/v1/stations/{station}/set", "getSet", "The set that is played, or was played last, or comes next.",
            one_set, SetScore, in_path=_STATION, statuses=_NOT_FOUND | {304: "Not changed."},
        ),
        Endpoint(
            "/v1/stations/{station}/set", "correctSet",
            "An operator's word on it: names, score, best of, which games count, a new set. Answers with the set as "
            "it is then. What is left out stays as it is, null takes it back.",
            correct, SetScore, in_path=_STATION, method="PATCH", operates=True, body=SetPatch,
            statuses=_NOT_FOUND | {
                403: "Only operators may.",
                409: "It is about a player or a game that is not there.",
                412: "The set is another one than `If-Match` says.",
                413: "The body is too long.",
                415: "The body is no JSON.",
            },
            headers={"If-Match": "The ETag of the set as it was seen."},
        ),
    ]  # fmt: skip


def _is_meant(if_match: str, score: SetScore) -> bool:
    """Whether one of the tags is that of the set; `*` is any."""
    tag = tag_of(msgspec.json.encode(score))
    asked = [part.strip().removeprefix("W/").strip('"') for part in if_match.split(",")]
    return "*" in asked or tag in asked
