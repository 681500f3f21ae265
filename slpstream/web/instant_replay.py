"""`/v1/stations/{station}/instant-replay`: a moment shown again in the game's own graphics, by a Playback Dolphin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, Protocol

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import NoSuchMoment
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import GameId, Schema
from slpstream.web.station_path import STATION_IN_PATH, no_such_station

PATH = "/v1/stations/{station}/instant-replay"
_MAX_FRAME_NUMBER = 10_000_000
_Frame = Annotated[int, Meta(ge=-123, le=_MAX_FRAME_NUMBER)]
_NOT_FOUND = {404: "No such station."}


class WantedReplay(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename={"first": "from", "last": "to"}):
    """The moment to show."""

    moment: Annotated[
        Literal["last_conversion", "last_stock", "mark", "frames"],
        Meta(description="`mark` needs `mark`; `frames` needs `game`, `from` and `to`."),
    ]
    mark: Annotated[int | None, Meta(description="Id of a mark of the station; left out for the newest.")] = None
    game: Annotated[GameId | None, Meta(description="Game of the frames, of any station.")] = None
    first: Annotated[_Frame | None, Meta(description="First frame of the moment.")] = None
    last: Annotated[_Frame | None, Meta(description="Last frame of the moment.")] = None


class ShownReplay(Schema, kw_only=True):
    """The shown part of the game: the moment with the time before and after it."""

    game_id: GameId
    start_frame: int
    end_frame: int
    seconds: Annotated[float, Meta(description="Estimated time until the station is mirrored again.")]


class PlaybackState(Schema, kw_only=True):
    """The Playback Dolphin."""

    configured: Annotated[bool, Meta(description="Whether there is one, see `[playback]` in the configuration.")]
    replaying: Annotated[bool, Meta(description="Whether it shows an instant replay.")]


class InstantReplays(Protocol):
    """The Playback Dolphin of a daemon, as the web server sees it. A gateway has none."""

    def state(self) -> PlaybackState:
        """The state of the Playback Dolphin."""

    async def show(self, station: str, wanted: WantedReplay) -> ShownReplay:
        """Shows a moment. Raises `NoSuchMoment`."""

    def end(self) -> None:
        """Returns to the mirrored game."""


def endpoints(replays: InstantReplays | None, has_station: Callable[[str], bool]) -> list[Endpoint]:
    """The endpoints of this module. `replays` is `None` without a Playback Dolphin."""

    def checked(request: Request) -> str:
        station: str = request.path_params["station"]
        if not has_station(station):
            raise no_such_station(station)
        return station

    def dolphin() -> InstantReplays:
        if replays is None:
            raise HTTPException(409, "there is no Playback Dolphin: `[playback]` in the configuration has no `file`")
        return replays

    async def state(request: Request, _: NoParameters) -> Response:
        checked(request)
        nothing = PlaybackState(configured=False, replaying=False)
        return await json_response(request, nothing if replays is None else replays.state())

    async def show(request: Request, _: NoParameters) -> Response:
        station = checked(request)
        wanted = await read_body(request, WantedReplay)
        try:
            return await json_response(request, await dolphin().show(station, wanted))
        except NoSuchMoment as error:
            raise HTTPException(409, str(error)) from None

    async def end(request: Request, _: NoParameters) -> Response:
        checked(request)
        dolphin().end()
        return await json_response(request, dolphin().state())

    refused = {409: "There is no Playback Dolphin, or no such moment."}
    return [
        Endpoint(
            PATH, "getInstantReplay", "Whether there is a Playback Dolphin, and whether it shows an instant replay.",
            state, PlaybackState, in_path=STATION_IN_PATH, statuses=_NOT_FOUND,
        ),
        Endpoint(
            PATH, "showInstantReplay",
            "Shows a moment of a station in the Playback Dolphin, which mirrors its station again afterwards.",
            show, ShownReplay, in_path=STATION_IN_PATH, method="POST", operates=True, body=WantedReplay,
            statuses=_NOT_FOUND | BODY_REFUSED | refused,
        ),
        Endpoint(
            PATH, "endInstantReplay", "Returns from an instant replay to the mirrored station.", end, PlaybackState,
            in_path=STATION_IN_PATH, method="DELETE", operates=True, statuses=_NOT_FOUND | refused,
        ),
    ]  # fmt: skip
