"""`/v1/setup`: the folders that a daemon watches, and its demo, for the first-run page.

It is for operators only, because the names of folders can contain the name of a user, and because a demo is visible to
all subscribers of all stations.
"""

from __future__ import annotations

from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import DemoRefused
from slpstream.web import schemas
from slpstream.web.endpoint import Endpoint, NoParameters, json_response, read_body

PATH = "/v1/setup"


class Setup(Protocol):
    """The set-up of a daemon, as the web server sees it. A gateway has none."""

    async def setup(self) -> schemas.Setup:
        """The folders that the daemon watches, and the station of its demo."""

    async def start_demo(self) -> None:
        """Starts a demo in a separate station. Does nothing while a demo runs. Raises `DemoRefused`."""

    async def stop_demo(self) -> None:
        """Ends the demo and removes its station. Does nothing if no demo runs."""


def endpoints(setup: Setup) -> list[Endpoint]:
    """The endpoints of this module."""

    async def get_setup(request: Request, _: NoParameters) -> Response:
        return await json_response(request, await setup.setup())

    async def change_setup(request: Request, _: NoParameters) -> Response:
        patch = await read_body(request, schemas.SetupPatch)
        try:
            await (setup.start_demo() if patch.demo else setup.stop_demo())
        except DemoRefused as error:
            raise HTTPException(409, str(error)) from None
        return await json_response(request, await setup.setup())

    return [
        Endpoint(
            PATH, "getSetup", "The folders that are watched, and the station of the demo.", get_setup, schemas.Setup,
            operates=True,
        ),
        Endpoint(
            PATH, "changeSetup",
            "Starts or ends the demo: one made-up match in a station of its own, which is removed afterwards. "
            "The match is in no list of games, and no output gets it.",
            change_setup, schemas.Setup, method="PATCH", operates=True, body=schemas.SetupPatch,
            statuses={
                400: "The body is incomplete.",
                409: "There can be no demo now, for example because a game is played.",
                413: "The body is too long.",
                415: "The body is not JSON.",
            },
        ),
    ]  # fmt: skip
