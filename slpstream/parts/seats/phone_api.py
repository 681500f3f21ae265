"""`/v1/seats/{station}`: the seats of a station, for the phones of its players.

These requests need only the token in the station's code, so they must neither show nor change anything else.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import StoreError
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import PlayerIndex, Schema
from slpstream.web.station_path import STATION_IN_PATH, NoSuchStation

if TYPE_CHECKING:
    from slpstream.parts.seats.seats import DaemonSeats

STATE_PATH = "/v1/seats"
PREFIX = f"{STATE_PATH}/"
PAGE_PREFIX = "/seats/"
MAX_NAME = 60
MAX_TOKEN = 64
PHONE = "slpstream-phone"
"""The header with the random id of a phone."""
_MIN_PHONE, _MAX_PHONE = 16, 64
_CHALLENGE = {"www-authenticate": 'Bearer realm="seats"'}


class SeatsState(Schema, kw_only=True):
    """Whether players can claim seats on their phones."""

    on: Annotated[bool, Meta(description="Whether it is configured, see `[seats]`.")]


class SeatPort(Schema, kw_only=True):
    """A port and its person."""

    port: Annotated[int, Meta(description="From 1, as on the console.")]
    player_index: PlayerIndex
    name: Annotated[str | None, Meta(description="The person there; left out if not known.")] = None
    operator_name: Annotated[
        str | None, Meta(description="The operator's name for the player, if it is another one. It is the one shown.")
    ] = None
    sponsor: str | None = None
    pronouns: str | None = None
    claimed: Annotated[bool, Meta(description="Whether the seat is claimed.")] = False
    yours: Annotated[bool, Meta(description="Whether this phone claimed it.")] = False
    waits: Annotated[bool, Meta(description="Whether the claim is shown from the next game on.")] = False
    character_id: Annotated[int | None, Meta(description="Character in the newest game.")] = None
    character_color: int | None = None


class SeatPerson(Schema, kw_only=True):
    """A person who can be chosen for a seat."""

    name: str
    sponsor: str | None = None
    pronouns: str | None = None
    expected: Annotated[bool, Meta(description="Whether the bracket expects them at this station.")] = False


class StationSeats(Schema, kw_only=True):
    """The seats of a station, as a phone sees them."""

    station: str
    name: Annotated[str, Meta(description="Name of the station, for people.")]
    version: Annotated[int, Meta(description="Changes whenever anything else here does.")]
    state: Annotated[Literal["upcoming", "running", "over"], Meta(description="State of the set.")]
    playing: Annotated[bool, Meta(description="Whether a game is being played.")]
    ports: list[SeatPort]
    people: Annotated[list[SeatPerson], Meta(description="Those whom the bracket expects come first.")]
    typed_names: Annotated[bool, Meta(description="Whether other names can be typed.")]


class SeatQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The query of `getSeats`."""

    after: Annotated[int, Meta(description="Wait until the version is another one, for at most 25 seconds.")] = -1


class SeatAct(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename="camel"):
    """An act at a port."""

    act: Annotated[
        Literal["claim", "swap", "leave"],
        Meta(description="Claim the seat, swap your own seat with it, or leave yours."),
    ]
    player_index: Annotated[int, Meta(ge=0, le=3, description="The port, counted from 0.")] = 0
    name: Annotated[str, Meta(max_length=MAX_NAME, description="Your name, for `claim`.")] = ""
    take_over: Annotated[bool, Meta(description="Take the seat also from another phone.")] = False
    stay: Annotated[bool, Meta(description="Keep the seat of a set that is over for the next one.")] = False


class SeatRefused(Exception):
    """Raised if a phone wants to do something that isn't possible. The message is meant for people."""


class TooMany(Exception):
    """Raised if there are too many requests from the same address."""

    def __init__(self, retry_seconds: int) -> None:
        super().__init__("too many requests: try again in a moment")
        self.retry_seconds = retry_seconds


def endpoints(seats: DaemonSeats | None) -> list[Endpoint]:
    """Return the endpoints of this module. If seats aren't configured, pass `None`."""

    async def state(request: Request, _: NoParameters) -> Response:
        return await json_response(request, SeatsState(on=seats is not None))

    def admitted(request: Request) -> tuple[DaemonSeats, str]:
        """Return the seats and the station, if the request has the right token."""
        station: str = request.path_params["station"]
        peer = "" if request.client is None else request.client.host
        token = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
        try:
            if seats is None or not seats.admits(station, token[:MAX_TOKEN], peer):
                raise HTTPException(401, "the code of the station is required: scan it again", _CHALLENGE)
        except TooMany as error:
            raise _too_many(error) from None
        if not seats.is_known(station):
            raise NoSuchStation(station)
        return seats, station

    async def get_seats(request: Request, query: SeatQuery) -> Response:
        admitting, station = admitted(request)
        return await _answer(request, admitting.seats(station, request.headers.get(PHONE, ""), query.after))

    async def act(request: Request, _: NoParameters) -> Response:
        admitting, station = admitted(request)
        phone = request.headers.get(PHONE, "")
        if not (phone.isascii() and _MIN_PHONE <= len(phone) <= _MAX_PHONE):
            raise HTTPException(422, f"{PHONE}: expected {_MIN_PHONE} to {_MAX_PHONE} characters")
        wanted = await read_body(request, SeatAct)
        peer = "" if request.client is None else request.client.host
        return await _answer(request, admitting.act(station, phone, peer, wanted))

    refused = {
        401: "The token is not the one in the station's code.",
        404: "No such station.",
        429: "Too many requests from this address.",
        503: "The seats cannot be read, or a claim cannot be kept.",
    }
    return [
        Endpoint(STATE_PATH, "getSeatsState", "Whether players can claim seats on their phones.", state, SeatsState),
        Endpoint(
            f"{PREFIX}{{station}}", "getSeats",
            "The seats of a station. This and `actOnSeat` need the token in the station's code, and no other one.",
            get_seats, StationSeats, parameters=SeatQuery, in_path=STATION_IN_PATH, statuses=refused,
            headers={PHONE: "Random id of the phone, of 16 to 64 characters."},
        ),
        Endpoint(
            f"{PREFIX}{{station}}", "actOnSeat",
            "Claims a seat for this phone, swaps its seat with another one, or gives it up. Returns the seats.",
            act, StationSeats, in_path=STATION_IN_PATH, method="POST", body=SeatAct,
            statuses=refused | BODY_REFUSED | {409: "The seat or the name is taken, or nothing can be done now."},
            headers={PHONE: "Random id of the phone, of 16 to 64 characters."},
        ),
    ]  # fmt: skip


async def _answer(request: Request, seats: Awaitable[StationSeats]) -> Response:
    """Turn the seats into a response, and errors into `HTTPException`."""
    try:
        return await json_response(request, await seats)
    except SeatRefused as error:
        raise HTTPException(409, str(error)) from None
    except TooMany as error:
        raise _too_many(error) from None
    except StoreError as error:
        raise HTTPException(503, str(error)) from None


def _too_many(error: TooMany) -> HTTPException:
    return HTTPException(429, str(error), {"retry-after": str(error.retry_seconds)})
