"""`/v1/setup`: the folders that a daemon watches, and its demo, for the first-run page.

It is for operators only, because the names of folders can contain the name of a user, and because a demo is visible to
all subscribers of all stations.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from slpstream.parts.demo.setup import Setup
from slpstream.parts.demo.station import Demo, DemoRefused
from slpstream.web.endpoint import BODY_REFUSED, Endpoint, NoParameters, json_response, read_body
from slpstream.web.schemas import Schema

PATH = "/v1/setup"


class SetupPatch(Schema, kw_only=True, forbid_unknown_fields=True):
    """A change of the set-up of a daemon."""

    demo: Annotated[bool, Meta(description="Whether the demo is to run.")]


def endpoints(demo: Demo) -> list[Endpoint]:
    """Make the endpoints of this module. The demo is in every daemon, so `None` is only passed to describe them."""

    async def get_setup(request: Request, _: NoParameters) -> Response:
        return await json_response(request, await demo.setup())

    async def change_setup(request: Request, _: NoParameters) -> Response:
        patch = await read_body(request, SetupPatch)
        try:
            await (demo.start() if patch.demo else demo.stop())
        except DemoRefused as error:
            raise HTTPException(409, str(error)) from None
        return await json_response(request, await demo.setup())

    return [
        Endpoint(
            PATH, "getSetup", "The folders that are watched, and the station of the demo.",
            get_setup, Setup, operates=True,
        ),
        Endpoint(
            PATH, "changeSetup",
            "Starts or ends the demo: one made-up match in a station of its own, which is removed afterwards. "
            "The match is in no list of games, and no output gets it.",
            change_setup, Setup, method="PATCH", operates=True, body=SetupPatch,
            statuses=BODY_REFUSED | {409: "There can be no demo now, for example because a game is played."},
        ),
    ]  # fmt: skip
