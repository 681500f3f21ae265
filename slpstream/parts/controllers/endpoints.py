"""`/v1/stations/{station}/controllers` and `/v1/games/{gameId}/controllers`: the check of the players' controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, UnsetType
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.controller_report import ControllerReport
from slpstream.web.endpoint import OPERATING, Endpoint, NoParameters, json_response
from slpstream.web.game_path import GAME_IN_PATH, game_in_path
from slpstream.web.schemas import GameId, Schema
from slpstream.web.station_path import STATION_IN_PATH

if TYPE_CHECKING:
    from slpstream.parts.controllers.checked_games import CheckedGames

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


def endpoints(games: CheckedGames | None) -> list[Endpoint]:
    """Make the endpoints of the check. `games` is `None` if the check is off."""

    async def of_station(request: Request, _: NoParameters) -> Response:
        if games is None or request.scope[OPERATING] is not None:
            return await json_response(request, GameControllers(configured=False))
        found = await games.newest_report(request.path_params["station"])
        return await json_response(request, found or GameControllers(configured=True))

    async def of_game(request: Request, _: NoParameters) -> Response:
        game_id = game_in_path(request)
        if games is None or request.scope[OPERATING] is not None:
            return await json_response(request, GameControllers(configured=False))
        found = await games.report(game_id)
        if found is None:
            raise HTTPException(404, "no such game, or it has no controllers to check")
        return await json_response(request, found)

    return [
        Endpoint(
            "/v1/stations/{station}/controllers", "getStationControllers",
            "The findings about the controllers in a station's newest game, while it is played or after it. "
            f"{_FOR_OPERATORS}",
            of_station, GameControllers, in_path=STATION_IN_PATH, statuses={404: "No such station."}, at_station=True,
        ),
        Endpoint(
            "/v1/games/{gameId}/controllers", "getGameControllers",
            f"The same for one game. That of an older game is computed from its file. {_FOR_OPERATORS}",
            of_game, GameControllers, in_path=GAME_IN_PATH,
            statuses={404: "No such game, or it is no game of Melee."},
        ),
    ]  # fmt: skip
