"""`/v1/bracket`: the sets of the bracket, pending results with their reasons, and people's decisions on them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import ActRefused
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import Schema

if TYPE_CHECKING:
    from slpstream.parts.bracket.configured import ConfiguredBracket

PATH = "/v1/bracket"

_EntryState = Literal["aside", "ask", "following", "confirm", "due", "conflict", "done", "dropped"]


class BracketEntrant(Schema, kw_only=True):
    """A player or team in the bracket."""

    id: str
    name: str


class ListedSet(Schema, kw_only=True):
    """A set of the bracket."""

    id: str
    state: Literal["open", "called", "running", "done"]
    round: str = ""
    event: str = ""
    best_of: int | None = None
    entrants: Annotated[list[BracketEntrant | None], Meta(description="Two; null while one is not known yet.")]
    scores: list[int | None]
    winner: Annotated[int | None, Meta(description="Place of the winner in `entrants`.")] = None
    station: Annotated[str | None, Meta(description="Our station; left out if it is none of ours.")] = None
    bracket_station: Annotated[str | None, Meta(description="Number or name of the station in the bracket.")] = None
    stream: str = ""


class QueuedSet(Schema, kw_only=True):
    """A played set, and what becomes of its result."""

    station: str
    set_id: Annotated[str, Meta(description="The id of the set in `set` messages.")]
    state: Annotated[
        _EntryState,
        Meta(
            description="`aside`: no set of the bracket; `ask`: a person has to say which set it is, or how it ended; "
            "`following`: it goes on; `confirm`: a person has to confirm the result; `due`: it is sent as soon as "
            "possible; `conflict`: the bracket has another result; `done`: reported; `dropped`: not to be reported."
        ),
    ]
    why: Annotated[str, Meta(description="Why it waits, for people; may be empty.")] = ""
    names: Annotated[list[str], Meta(description="Names of both sides as they are on the station.")]
    score: list[int]
    over: bool
    winner: Annotated[int | None, Meta(description="Place in `names`.")] = None
    bracket_set: Annotated[str | None, Meta(description="Id of the set in the bracket.")] = None
    entrants: Annotated[list[str], Meta(description="The entrants in the order of `names`.")] = msgspec.field(
        default_factory=list
    )
    round: str = ""
    event: str = ""
    candidates: Annotated[list[str], Meta(description="Ids of sets of the bracket among which a person chooses.")] = (
        msgspec.field(default_factory=list)
    )
    changed: Annotated[bool, Meta(description="The set has changed since it was reported.")]
    games_left_out: Annotated[
        Literal["score", "length", "crew"] | None,
        Meta(
            description="Why the result is sent without games: they do not add up to the `score`, because an operator "
            "changed it, the `length` of the set is such that its first games are not kept, or it is a `crew` battle, "
            "whose score is the stocks left. Left out otherwise."
        ),
    ] = None
    request: Annotated[
        dict[str, Any] | None, Meta(description="What is sent, or would be sent, as the bracket gets it.")
    ] = None


class BracketState(Schema, kw_only=True):
    """The bracket of this daemon."""

    configured: bool
    kind: Annotated[str, Meta(description="As in the configuration; empty without a bracket.")]
    connected: Annotated[bool, Meta(description="Whether the last request was answered.")]
    checked: Annotated[str, Meta(description="What the check of the token said.")] = ""
    trouble: Annotated[str | None, Meta(description="Why nothing gets through; left out while it does.")] = None
    dry_run: Annotated[bool, Meta(description="Nothing is changed in the bracket.")]
    confirm: Annotated[bool, Meta(description="A person confirms each result.")]
    reads: Annotated[bool, Meta(description="Its sets can be read. Not so for a webhook.")]
    stations: Annotated[
        list[str], Meta(description="Our stations that the bracket has too. Sets can be assigned to them.")
    ] = msgspec.field(default_factory=list)
    waiting: Annotated[int, Meta(description="Number of sets that wait.")]
    queue: Annotated[list[QueuedSet], Meta(description="Those that wait come first, then the newest.")]


_NOTHING = BracketState(
    configured=False, kind="", connected=False, dry_run=True, confirm=True, reads=False, waiting=0, queue=[]
)


class Decision(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="camel"):
    """A decision about a played set."""

    station: str
    set_id: str
    do: Annotated[
        Literal["confirm", "drop", "assign", "correct"],
        Meta(
            description="`confirm`: report it as it is; `drop`: do not report it; `assign`: it is `bracketSet`; "
            "`correct`: replace the result that the bracket has."
        ),
    ]
    bracket_set: Annotated[str | None, Meta(description="Only `assign`: id of the set in the bracket.")] = None
    swapped: Annotated[bool, Meta(description="Only `assign`: the first side is the second entrant.")] = False
    reset_dependents: Annotated[
        bool, Meta(description="Only `correct`: later sets of the bracket may lose their results.")
    ] = False


class SetChange(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="camel"):
    """A change of a set in the bracket."""

    set: Annotated[str, Meta(description="Id of the set in the bracket.")]
    do: Literal["call", "start", "assign"]
    station: Annotated[str, Meta(description="Only `assign`: our station.")] = ""


def endpoints(bracket: ConfiguredBracket | None) -> list[Endpoint]:
    """Return the endpoints of the given bracket. If none is configured, pass `None`."""

    def configured() -> ConfiguredBracket:
        if bracket is None:
            raise HTTPException(409, "there is no bracket: `[bracket]` in the configuration has no `kind`")
        return bracket

    async def state(request: Request, _: NoParameters) -> Response:
        found = _NOTHING if bracket is None else bracket.state()
        return await json_response(request, found, final=True)

    async def sets(request: Request, _: NoParameters) -> Response:
        return await json_response(request, configured().listed_sets(), final=True)

    async def decide(request: Request, _: NoParameters) -> Response:
        return await _obey(request, configured().decide, Decision)

    async def change(request: Request, _: NoParameters) -> Response:
        return await _obey(request, configured().change_set, SetChange)

    async def _obey(request: Request, act: Callable[[Any], Awaitable[None]], kind: Any) -> Response:
        wanted = await read_body(request, kind)
        try:
            await act(wanted)
        except ActRefused as error:
            raise HTTPException(409, str(error)) from None
        return await json_response(request, configured().state())

    none = {409: "There is no bracket."}
    refused = BODY_REFUSED | {409: "There is no bracket, it refuses, or this cannot be done now; with the reason."}
    return [
        Endpoint(
            PATH, "getBracket", "The bracket: whether it answers, and which results wait for what.", state,
            BracketState, statuses={304: "Not modified."},
        ),
        Endpoint(
            PATH, "decideResult", "Confirms, drops, assigns or corrects the result of a played set.", decide,
            BracketState, method="POST", operates=True, body=Decision, statuses=refused,
        ),
        Endpoint(
            f"{PATH}/sets", "getBracketSets", "The sets of the bracket, as far as they were read.", sets,
            list[ListedSet], statuses=none | {304: "Not modified."},
        ),
        Endpoint(
            f"{PATH}/sets", "changeBracketSet",
            "Calls a set, marks it as in progress, or assigns it to a station.",
            change, BracketState, method="POST", operates=True, body=SetChange, statuses=refused,
        ),
    ]  # fmt: skip
