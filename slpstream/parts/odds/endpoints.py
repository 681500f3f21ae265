"""`/v1/games/{gameId}/odds`: how likely each of two players was to win, and the turning points, also those of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.odds.schemas import GameOddsFound, OddsQuery, SetTurningPoints
from slpstream.web.endpoint import Endpoint, NoParameters, json_response
from slpstream.web.game_path import GAME_IN_PATH, game_in_path, no_such_game
from slpstream.web.station_path import STATION_IN_PATH

if TYPE_CHECKING:
    from slpstream.parts.odds.asked_odds import AskedOdds


def endpoints(running: AskedOdds | None) -> list[Endpoint]:
    """Make the endpoint of this module. `running` is `None` if it is only described."""

    async def of_game(request: Request, query: OddsQuery) -> Response:
        found = await cast("AskedOdds", running).odds(game_in_path(request), query)
        if found is None:
            raise no_such_game(request)
        return await json_response(request, found)

    async def of_set(request: Request, _: NoParameters) -> Response:
        found = await cast("AskedOdds", running).turning_points_of_set(request.path_params["station"])
        return await json_response(request, found)

    return [
        Endpoint(
            "/v1/games/{gameId}/odds", "getGameOdds",
            "How likely each of two players was to win, over the game, and the turning points. While the game is "
            "played, these are the odds so far.",
            of_game, GameOddsFound, parameters=OddsQuery, in_path=GAME_IN_PATH, statuses={404: "No such game."},
        ),
        Endpoint(
            "/v1/stations/{station}/set/turning-points", "getSetTurningPoints",
            "The largest swings of the odds in the games of a station's newest set, each with the conversion or the "
            "lost stock that caused it.",
            of_set, SetTurningPoints, in_path=STATION_IN_PATH, at_station=True, statuses={404: "No such station."},
        ),
    ]  # fmt: skip
