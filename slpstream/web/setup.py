"""`/v1/setup`: the folders that a daemon watches, and its demo. This is for the first-run page.

Only operators may use it, because the names of folders can contain the name of a user.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from slpstream.web.endpoint import Endpoint, NoParameters, json_response
from slpstream.web.schemas import Setup

PATH = "/v1/setup"


def endpoint(read: Callable[[], Awaitable[Setup]]) -> Endpoint:
    """Make the endpoint of this module. `read` returns the set-up as it is now."""

    async def get_setup(request: Request, _: NoParameters) -> Response:
        return await json_response(request, await read())

    return Endpoint(
        PATH, "getSetup", "The folders that are watched, and the station of the demo.", get_setup, Setup, operates=True
    )
