"""The pages of the scenes, `/overlay/{station}` and `/scenes/`. All of them are made from one template.

The template is `static/page.html`. `static/main_live.html` contains the parts of the live scene, and
`static/main_boards.html` those of all other scenes. Their addresses contain the token, because there is no way to type
it on such a page.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from slpstream.web.assets import Assets, root_from
from slpstream.web.file_response import OpenFileResponse
from slpstream.web.station_path import NoSuchStation

STATION_SCENES = (
    "live", "versus", "matchup", "player", "game-result", "set-result", "highlights", "up-next", "replay", "controller",
    "casters",
)  # fmt: skip
"""The scenes that are about one station, as in `scene_names.js`."""
TICKER = "ticker"
"""The scene that is about all stations."""
_LIVE = "live"
_FILES = Assets(Path(__file__).parent / "static")


def routes(exists: Callable[[str], bool], overlay_folder: Path | None) -> list[Route]:
    """Return the routes to the scenes. `exists` returns whether a station exists."""

    async def overlay(request: Request) -> Response:
        check(request.path_params["station"])
        return await _page(_LIVE, request)

    async def scene(request: Request) -> Response:
        shown = request.path_params["scene"]
        if shown not in STATION_SCENES:
            raise HTTPException(404, f"no such scene: {shown[:80]}")
        check(request.path_params["station"])
        return await _page(shown, request)

    async def ticker(request: Request) -> Response:
        return await _page(TICKER, request)

    def check(station: str) -> None:
        if not exists(station):
            raise NoSuchStation(station)

    return [
        Route("/overlay/{station}", overlay),
        Route(f"/scenes/{TICKER}", ticker),
        Route("/scenes/{scene}/{station}", scene),
    ]


async def _page(scene: str, request: Request) -> Response:
    """Return the page of a scene, for the path of the request. Raises `HTTPException` 404 if there is no such page."""
    kind = _LIVE if scene == _LIVE else "boards"
    template, template_modified = await _FILES.read("page.html")
    main, main_modified = await _FILES.read(f"main_{kind}.html")
    page = template.replace(b"{main}", main)
    values = {
        "kind": kind,
        "root": root_from(request.scope["raw_path"]),
        "scene": scene,
        "title": "overlay" if scene == _LIVE else scene,
    }
    for name, value in values.items():
        page = page.replace(b"{%b}" % name.encode(), value.encode())
    modified_seconds = max(template_modified, main_modified)
    headers = {"content-type": "text/html; charset=utf-8"}
    return OpenFileResponse(request, io.BytesIO(page), len(page), modified_seconds, headers)
