"""The game in the path of an endpoint."""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException
from starlette.requests import Request

from slpstream.web.schemas import GameId

GAME_IN_PATH = {"gameId": GameId}


def game_in_path(request: Request) -> str:
    """The id of the game in the path of a request. Raises 404 if it cannot be an id."""
    game_id: str = request.path_params["gameId"]
    if not re.fullmatch("[0-9a-f]{32}", game_id):
        raise no_such_game(request)
    return game_id


def no_such_game(request: Request) -> HTTPException:
    """404 for an unknown game."""
    return HTTPException(404, f"no such game: {shown_id(request)}")


def shown_id(request: Request) -> str:
    """The id in the path of a request, shortened for error messages."""
    shown: str = request.path_params["gameId"]
    return shown[:80]
