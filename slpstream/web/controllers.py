"""`/v1/stations/{station}/controllers` and `/v1/games/{gameId}/controllers`: the check of the players' controllers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Protocol

from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.tournament.controllers.report import ControllerReport
from slpstream.web.endpoint import OPERATING, Endpoint, NoParameters, json_response
from slpstream.web.game_path import GAME_IN_PATH, game_in_path
from slpstream.web.schemas import GameId, Schema
from slpstream.web.station_path import STATION_IN_PATH, no_such_station

_FOR_OPERATORS = "It is for operators: to everybody else the check appears to be off."


class GameControllers(Schema, kw_only=True):
    """Findings about the controllers from the inputs of a game: where to look, never a verdict."""

    configured: Annotated[
        bool, Meta(description="Whether controllers are checked, `[controllers]`, and the client may operate.")
    ]
    game_id: GameId | UnsetType = UNSET
    final: Annotated[
        bool | UnsetType, Meta(description="False while the game is played: there may be more to come.")
    ] = UNSET
    report: Annotated[
        ControllerReport | UnsetType, Meta(description="Left out before the first game of a station.")
    ] = UNSET


class Controllers(Protocol):
    """The controller check of a daemon, as the web server sees it. A gateway has none."""

    async def station(self, station: str) -> GameControllers | None:
        """The newest game of a station; `None` without one, and for a game that cannot be checked."""

    async def game(self, game_id: str) -> GameControllers | None:
        """One game; `None` if it is unknown or cannot be checked."""


def endpoints(controllers: Controllers | None, has_station: Callable[[str], bool]) -> list[Endpoint]:
    """The endpoints of this module. `controllers` is `None` if the check is off."""

    async def of_station(request: Request, _: NoParameters) -> Response:
        station: str = request.path_params["station"]
        if not has_station(station):
            raise no_such_station(station)
        if controllers is None or request.scope[OPERATING] is not None:
            return await json_response(request, GameControllers(configured=False))
        return await json_response(request, await controllers.station(station) or GameControllers(configured=True))

    async def of_game(request: Request, _: NoParameters) -> Response:
        game_id = game_in_path(request)
        if controllers is None or request.scope[OPERATING] is not None:
            return await json_response(request, GameControllers(configured=False))
        found = await controllers.game(game_id)
        if found is None:
            raise HTTPException(404, "no such game, or it has no controllers to check")
        return await json_response(request, found)

    return [
        Endpoint(
            "/v1/stations/{station}/controllers", "getStationControllers",
            "The findings about the controllers in a station's newest game, while it is played or after it. "
            f"{_FOR_OPERATORS}",
            of_station, GameControllers, in_path=STATION_IN_PATH, statuses={404: "No such station."},
        ),
        Endpoint(
            "/v1/games/{gameId}/controllers", "getGameControllers",
            f"The same for one game. That of an older game is computed from its file. {_FOR_OPERATORS}",
            of_game, GameControllers, in_path=GAME_IN_PATH,
            statuses={404: "No such game, or it is no game of Melee."},
        ),
    ]  # fmt: skip
