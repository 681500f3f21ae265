"""The station in the path of an endpoint."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.exceptions import HTTPException

STATION_IN_PATH = {"station": Annotated[str, Meta(description="Id of a station.", min_length=1)]}


class NoSuchStation(HTTPException):
    """The error 404 for a station that doesn't exist. The response also says which one might be meant."""

    def __init__(self, name: str) -> None:
        super().__init__(404)
        self.name = name
