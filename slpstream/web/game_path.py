"""The game in the path of an endpoint."""

from __future__ import annotations

import re

from starlette.exceptions import HTTPException
from starlette.requests import Request

from slpstream.web.schemas import GameId

GAME_IN_PATH = {"gameId": GameId}


def game_in_path(request: Request) -> str:
    """Return the id of the game in the path of a request. Raises `HTTPException` 404 if it can't be an id."""
    game_id: str = request.path_params["gameId"]
    if not re.fullmatch("[0-9a-f]{32}", game_id):
        raise no_such_game(request)
    return game_id


def no_such_game(request: Request) -> HTTPException:
    """Return the error 404 for a game that doesn't exist."""
    return HTTPException(404, f"no such game: {shown_id(request)}")


def shown_id(request: Request) -> str:
    """Return the id in the path of a request, shortened for error messages."""
    shown: str = request.path_params["gameId"]
    return shown[:80]
