"""`/v1/stations/{station}/set`: the set of a station, how operators correct it, and the list of their changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import StoreError
from slpstream.model.messages import timestamp
from slpstream.sets import Change, ChangedValue, ImpossibleCorrection, SetPatch, SetScore
from slpstream.sets.changes import MAX_CHANGES, MAX_OPERATOR, blocked_by, undone_by
from slpstream.web.endpoint import Endpoint, NoParameters, json_response, read_body, tag_of
from slpstream.web.station_path import STATION_IN_PATH, NoSuchStation
from slpstream.web.stations import Stations

_NOT_FOUND = {404: "No such station."}
_REFUSED = {
    400: "The body is incomplete.",
    403: "Only operators may correct a set.",
    413: "The body is too long.",
    415: "The body is not JSON.",
    503: "The correction cannot be kept, because the index of games cannot be written to.",
}


class ByOperator(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The operator who makes a change."""

    by: Annotated[str, Meta(max_length=MAX_OPERATOR, description="Name of the operator, for the list of changes.")] = ""


class Undo(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The body of a request to undo a change."""

    undo: Annotated[int, Meta(ge=1, description="Id of the change.")]


class ListedChange(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """A change by an operator."""

    id: Annotated[int, Meta(description="From 1; a later change has a greater id.")]
    at: Annotated[str, Meta(description="When it was made (ISO 8601, UTC).")]
    by: Annotated[str, Meta(description="Name of the operator; left out if none was given.")] = ""
    values: Annotated[
        Sequence[ChangedValue], Meta(description="The values that it changed; empty if the difference is not visible.")
    ]
    undoes: Annotated[int | None, Meta(description="Id of the change that it undid.")] = None
    undone_by: Annotated[int | None, Meta(description="Id of the change that undid it.")] = None
    blocked_by: Annotated[
        int | None,
        Meta(description="Id of the newest change that has to be undone first, because it changed the same value."),
    ] = None


class ChangeList(msgspec.Struct, frozen=True):
    """The changes that operators have made on a station."""

    changes: Annotated[list[ListedChange], Meta(description=f"Newest first, at most {MAX_CHANGES}.")]


def endpoints(stations: Stations) -> list[Endpoint]:
    """Make the endpoints of this module."""

    async def set_of(request: Request) -> SetScore:
        name = request.path_params["station"]
        score = await stations.set_of(name)
        if score is None:
            raise NoSuchStation(name)
        return score

    async def one_set(request: Request, _: NoParameters) -> Response:
        return await json_response(request, await set_of(request), final=True)

    async def correct(request: Request, who: ByOperator) -> Response:
        await set_of(request)
        patch = await read_body(request, SetPatch)
        if_match = request.headers.get("if-match") or "*"
        with _refusals():
            score = await stations.correct_set(
                request.path_params["station"], patch, lambda before: _matches(if_match, before), who.by
            )
        if score is None:
            raise HTTPException(412, "the set has changed since: get it again")
        return await json_response(request, score, final=True)

    async def changes(request: Request, _: NoParameters) -> Response:
        await set_of(request)
        with _refusals():
            found = await stations.set_changes(request.path_params["station"])
        return await json_response(request, _listed(found), final=True)

    async def undo(request: Request, who: ByOperator) -> Response:
        await set_of(request)
        body = await read_body(request, Undo)
        with _refusals():
            score = await stations.undo_set_change(request.path_params["station"], body.undo, who.by)
        return await json_response(request, score, final=True)

    return [
        Endpoint(
            "/v1/stations/{station}/set", "getSet", "The set that is being played, was played last, or comes next.",
            one_set, SetScore, in_path=STATION_IN_PATH, statuses=_NOT_FOUND | {304: "Not modified."},
        ),
        Endpoint(
            "/v1/stations/{station}/set", "correctSet",
            "Corrects the set: names, score, best of, round, which games count, a new set. Returns the corrected set. "
            "Members that are left out stay as they are; null withdraws a correction.",
            correct, SetScore, in_path=STATION_IN_PATH, method="PATCH", operates=True, body=SetPatch,
            parameters=ByOperator,
            statuses=_NOT_FOUND | _REFUSED | {
                409: "The correction names a player or a game that the set does not have.",
                412: "The set does not have the ETag in `If-Match`.",
            },
            headers={"If-Match": "The ETag of the set that the operator saw."},
        ),
        Endpoint(
            "/v1/stations/{station}/set/changes", "getSetChanges",
            "The changes that operators have made to the sets of a station.",
            changes, ChangeList, in_path=STATION_IN_PATH,
            statuses=_NOT_FOUND | {304: "Not modified.", 503: _REFUSED[503]},
        ),
        Endpoint(
            "/v1/stations/{station}/set/changes", "undoSetChange",
            "Undoes a change, also one that is not the newest; undoing that again makes the change once more. Returns "
            "the set.",
            undo, SetScore, in_path=STATION_IN_PATH, method="POST", operates=True, body=Undo, parameters=ByOperator,
            statuses=_NOT_FOUND | _REFUSED | {
                409: "A later change is about the same value and has to be undone first, or there is no such change.",
            },
        ),
    ]  # fmt: skip


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn refusals of a change into responses."""
    try:
        yield
    except ImpossibleCorrection as error:
        raise HTTPException(409, str(error)) from None
    except StoreError as error:
        raise HTTPException(503, str(error)) from None


def _listed(changes: Sequence[Change]) -> ChangeList:
    undone, blocked = undone_by(changes), blocked_by(changes)
    return ChangeList(
        [
            ListedChange(
                id=change.id,
                at=timestamp(change.at_ms / 1000),
                by=change.by,
                values=change.values,
                undoes=change.undoes,
                undone_by=undone.get(change.id),
                blocked_by=None if change.id in undone else blocked.get(change.id),
            )
            for change in reversed(changes)
        ]
    )


def _matches(if_match: str, score: SetScore) -> bool:
    """Whether one of the tags is that of the set, or there is a `*`, which allows any set (RFC 9110, section
    13.1.1).
    """
    tag = tag_of(msgspec.json.encode(score))
    asked = [part.strip().removeprefix("W/").strip('"') for part in if_match.split(",")]
    return "*" in asked or tag in asked
