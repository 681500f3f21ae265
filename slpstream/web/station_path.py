"""The station in the path of an endpoint."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.exceptions import HTTPException

STATION_IN_PATH = {"station": Annotated[str, Meta(description="Id of a station.", min_length=1)]}


def no_such_station(name: str) -> HTTPException:
    """Return the error 404 for a station that doesn't exist."""
    return HTTPException(404, f"no such station: {name}")
