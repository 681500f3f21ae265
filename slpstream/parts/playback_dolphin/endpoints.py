"""`/v1/stations/{station}/instant-replay`: a moment that is shown again in the game's own graphics, by a Playback
Dolphin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import NoSuchMoment
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import GameId, Schema
from slpstream.web.station_path import STATION_IN_PATH

if TYPE_CHECKING:
    from slpstream.parts.playback_dolphin.configured import ConfiguredDolphin

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


def endpoints(dolphin: ConfiguredDolphin | None) -> list[Endpoint]:
    """Make the endpoints of instant replays. `dolphin` is `None` if none is configured."""

    def configured() -> ConfiguredDolphin:
        if dolphin is None:
            raise HTTPException(409, "there is no Playback Dolphin: `[playback]` in the configuration has no `file`")
        return dolphin

    async def state(request: Request, _: NoParameters) -> Response:
        off = PlaybackState(configured=False, replaying=False)
        return await json_response(request, off if dolphin is None else dolphin.state())

    async def show(request: Request, _: NoParameters) -> Response:
        wanted = await read_body(request, WantedReplay)
        try:
            return await json_response(request, await configured().show(request.path_params["station"], wanted))
        except NoSuchMoment as error:
            raise HTTPException(409, str(error)) from None

    async def end(request: Request, _: NoParameters) -> Response:
        configured().end()
        return await json_response(request, configured().state())

    refused = {409: "There is no Playback Dolphin, or no such moment."}
    return [
        Endpoint(
            PATH, "getInstantReplay", "Whether there is a Playback Dolphin, and whether it shows an instant replay.",
            state, PlaybackState, in_path=STATION_IN_PATH, at_station=True, statuses=_NOT_FOUND,
        ),
        Endpoint(
            PATH, "showInstantReplay",
            "Shows a moment of a station in the Playback Dolphin, which mirrors its station again afterwards.",
            show, ShownReplay, in_path=STATION_IN_PATH, at_station=True, method="POST", operates=True,
            body=WantedReplay, statuses=_NOT_FOUND | BODY_REFUSED | refused,
        ),
        Endpoint(
            PATH, "endInstantReplay", "Returns from an instant replay to the mirrored station.", end, PlaybackState,
            in_path=STATION_IN_PATH, at_station=True, method="DELETE", operates=True, statuses=_NOT_FOUND | refused,
        ),
    ]  # fmt: skip
