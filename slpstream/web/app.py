"""The HTTP application, with the API, the pages and their assets. `Stations` and `Games` give it the data."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import msgspec
import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from slpstream.model.messages import ON_AIR
from slpstream.model.version import __version__
from slpstream.stream.channel import Hub
from slpstream.web import (
    events,
    sets,
)
from slpstream.web import games as games_module
from slpstream.web import stations as stations_module
from slpstream.web.assets import Assets
from slpstream.web.combined import CombinedFiles
from slpstream.web.endpoint import Endpoint, NoParameters, json_response, routes
from slpstream.web.games import Games
from slpstream.web.problem_pages import PROBLEM_JSON
from slpstream.web.site import CUSTOM_PATH, STATIC_PATH, Page, PageList, Site
from slpstream.web.station_path import NoSuchStation
from slpstream.web.stations import Stations

STATIC = Path(str(files("slpstream.web") / "static"))

_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_FRAMES_POLICY = f"{_CONTENT_SECURITY_POLICY}; frame-src 'self'"
"""Pages that contain frames may only show the daemon's own pages in them."""
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode()),
)
# Pages of other origins may import the client module. The files contain nothing private.
_IMPORTABLE = ((b"access-control-allow-origin", b"*"),)
_CUSTOM_SUFFIXES = frozenset(
    {".css", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg", ".woff", ".woff2", ".ttf", ".otf"}
    | {".html", ".js", ".mjs", ".json"}
)
_HEADERS = (
    *SECURITY_HEADERS,
    (b"cache-control", b"no-cache"),  # with the ETag, browser sources get new scripts after an upgrade
)


class _App(Starlette):
    """An application that raises unexpected exceptions. Starlette's own would first respond in plain text."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return the router, together with the responses to `HTTPException`."""
        return ExceptionMiddleware(self.router, self.exception_handlers)


def make_app(
    hub: Hub,
    stations: Stations,
    games: Games,
    site: Site,
    more: Sequence[Endpoint] = (),
) -> Starlette:
    """Make the application of a daemon or a gateway.

    The files in `site.overlay_folder` are limited to the types that pages use. They don't need a token, because a
    stylesheet cannot pass one on. A gateway does not have any of the endpoints in `more`.
    """
    overlay_folder, tables = site.overlay_folder, site.name_folders.items()
    assets = Assets(STATIC)
    combined = CombinedFiles(STATIC, {**{f"names/{name}": path for name, path in tables}, **site.static_folders})

    def exists(station: str) -> bool:
        return (station == ON_AIR and hub.on_air is not None) or stations.station(station) is not None

    async def missing_station(_: Request, error: Exception) -> Response:
        return problem(HTTPStatus.NOT_FOUND, hub.no_such_station(cast(NoSuchStation, error).name))

    def route(page: Page) -> Route:
        files = Assets(page.folder)

        async def respond(request: Request) -> Response:
            response = await files.respond(page.file, request)
            if page.frames:
                response.headers["content-security-policy"] = _FRAMES_POLICY
            return response

        return Route(page.path, respond)

    return _App(
        routes=[
            *(route(page) for page in site.pages),
            *site.make_routes(exists, overlay_folder),
            *routes(api_endpoints(stations, games, more, site), lambda station: station in hub.channels),
            *combined.routes(STATIC_PATH),
            *(Mount(f"{STATIC_PATH}/names/{name}", Assets(path, {".json"})) for name, path in tables),
            *(Mount(f"{STATIC_PATH}/{name}", Assets(folder)) for name, folder in site.static_folders.items()),
            Mount(STATIC_PATH, assets),
            *([Mount(CUSTOM_PATH, Assets(overlay_folder, _CUSTOM_SUFFIXES))] if overlay_folder else []),
        ],
        exception_handlers={HTTPException: _problem, NoSuchStation: missing_station},
        middleware=[],
    )


def api_endpoints(
    stations: Stations,
    games: Games,
    more: Sequence[Endpoint] = (),
    site: Site | None = None,
) -> list[Endpoint]:
    """All endpoints of the HTTP API. Making them asks nothing of the arguments."""
    site = site or Site()
    listed, describe = site.listed(), site.describe

    async def pages(request: Request, _: NoParameters) -> Response:
        return await json_response(request, listed, final=True)

    async def description(request: Request, _: NoParameters) -> Response:
        return await json_response(request, await trio.to_thread.run_sync(document), final=True)

    endpoints = [
        *stations_module.endpoints(stations),
        *sets.endpoints(stations),
        events.endpoint(),
        *games_module.endpoints(games),
        *more,
        Endpoint("/v1/pages", "listPages", "The pages that parts add, and the parts themselves.", pages, PageList),
    ]
    if describe is not None:
        endpoints.append(Endpoint("/openapi.json", "getDescription", "This description.", description, dict))
        # Made for the first reader only, because the schemas of all types take a tenth of the time of a start.
        document = functools.cache(functools.partial(describe, endpoints, __version__))
    return endpoints


def described_endpoints(of_parts: Sequence[Endpoint] = ()) -> list[Endpoint]:
    """Return all endpoints of the HTTP API, including those of parts.

    Use them for a description, because they can't respond.
    """
    return api_endpoints(cast(Stations, None), cast(Games, None), of_parts, Site(describe=lambda *_: {}))


def with_headers(app: Any) -> Callable[..., Awaitable[None]]:
    """Wrap an application so that every response has the security headers."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in _HEADERS if name not in present),
                    *(_IMPORTABLE if scope["path"].startswith("/static/") else ()),
                ]
            await send(message)

        await app(scope, receive, send_with_headers)

    return wrapped


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
    """Return an error as `application/problem+json`. `more` are further members (RFC 9457, section 3.2)."""
    return Response(
        msgspec.json.encode({"type": "about:blank", "status": status, "detail": detail, **more}),
        status,
        headers={**(headers or {}), "content-type": PROBLEM_JSON},
    )


async def _problem(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else "internal error"
    more = {"problems": error.problems} if isinstance(error, games_module.InvalidQuery) else {}
    return problem(status, detail, error.headers if isinstance(error, HTTPException) else None, **more)


def internal_error(error_id: str) -> Response:
    """Return the response to a request that a bug has ended. The log contains the traceback, under the same id."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, f"internal error {error_id}", errorId=error_id)
