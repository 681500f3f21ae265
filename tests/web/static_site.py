"""The pages' static files in a browser without a daemon: the test answers the requests from the folder."""

from __future__ import annotations

from pathlib import Path

import msgspec
from playwright.sync_api import Page, Route

from slpstream.formats.registry import name_folders
from slpstream.parts.pictures.own_pictures import own_pictures
from slpstream.parts.registry import static_folders
from slpstream.web.app import STATIC
from slpstream.web.assets import MEDIA_TYPES

BASE = "http://static.test"


def serve_static(page: Page, body: str, *, own: Path | None = None) -> None:
    """Open a page with this body.

    `/static/` has the files of core and parts and the tables of names, `/custom/` has `own`.
    """

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(BASE).partition("?")[0]
        found = _file(path, own)
        if path == "/":
            route.fulfill(content_type="text/html; charset=utf-8", body=f"<!doctype html><meta charset=utf-8>{body}")
        elif path == "/static/icons/own.json":
            route.fulfill(content_type="application/json", body=msgspec.json.encode(own_pictures(own)))
        elif found is not None and found.is_file():
            route.fulfill(content_type=MEDIA_TYPES[found.suffix], body=found.read_bytes())
        else:
            route.fulfill(status=404)

    page.route(f"{BASE}/**", answer)
    page.goto(f"{BASE}/")


def _file(path: str, own: Path | None) -> Path | None:
    folders = {**static_folders(), **{f"names/{name}": folder for name, folder in name_folders().items()}}
    for name, folder in folders.items():
        if path.startswith(f"/static/{name}/"):
            return folder / path.removeprefix(f"/static/{name}/")
    if path.startswith("/static/"):
        return STATIC / path.removeprefix("/static/")
    return None if own is None else own / path.removeprefix("/custom/")
