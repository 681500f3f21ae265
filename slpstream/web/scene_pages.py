"""Pages of scenes, made from one template.

`static/scenes/page.html` is the template. `main_live.html` holds the parts of the live scene, and `main_boards.html`
those of every other scene.
"""

from __future__ import annotations

import io

from starlette.requests import Request
from starlette.responses import Response

from slpstream.web.assets import Assets, root_from
from slpstream.web.file_response import OpenFileResponse

LIVE = "live"


async def scene_page(assets: Assets, scene: str, request: Request) -> Response:
    """The page of a scene, for the path of the request. Raises `HTTPException` 404."""
    kind = LIVE if scene == LIVE else "boards"
    template, template_modified = await assets.read("scenes/page.html")
    main, main_modified = await assets.read(f"scenes/main_{kind}.html")
    page = template.replace(b"{main}", main)
    values = {
        "kind": kind,
        "root": root_from(request.scope["raw_path"]),
        "scene": scene,
        "title": "overlay" if scene == LIVE else scene,
    }
    for name, value in values.items():
        page = page.replace(b"{%b}" % name.encode(), value.encode())
    modified_seconds = max(template_modified, main_modified)
    headers = {"content-type": "text/html; charset=utf-8"}
    return OpenFileResponse(request, io.BytesIO(page), len(page), modified_seconds, headers)
