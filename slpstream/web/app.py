"""The HTTP application: stations, health, metrics, the overlay and its assets. It knows stations by the `Stations`
protocol alone."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import msgspec
import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from slpstream import metrics

STATIC = Path(str(files("slpstream.web") / "static"))

_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self' ws: wss:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", _CONTENT_SECURITY_POLICY.encode()),
)
_CUSTOM_SUFFIXES = frozenset(
    {".css", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg", ".woff", ".woff2", ".ttf", ".otf"}
)
_HEADERS = (
    *SECURITY_HEADERS,
    (b"cache-control", b"no-cache"),  # with its ETag: after an upgrade no browser source keeps old scripts
)


class Stations(Protocol):
    """What the application asks about the daemon."""

    def stations(self) -> list[dict[str, Any]]:
        """All stations, as `/v1/stations` shows them."""

    def station(self, station: str) -> dict[str, Any] | None:
        """One station with its files; `None` when there is none of that name."""

    def not_ready(self) -> list[str]:
        """What is not working yet or any more; empty when all is."""

    def render_metrics(self) -> bytes:
        """The Prometheus page; called in a worker thread."""


class CustomFiles(StaticFiles):
    """A folder of people's own stylesheets and what they use. Nothing else that lies there is served: as a stylesheet
    cannot pass a token on, these files are for everybody."""

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """As of `StaticFiles`, which never leaves the folder."""
        return super().lookup_path(path) if Path(path).suffix.lower() in _CUSTOM_SUFFIXES else ("", None)


def make_app(stations: Stations, overlay_folder: Path | None = None) -> Starlette:
    """The application for a daemon; `overlay_folder` is served as `/custom/`."""

    async def list_stations(request: Request) -> Response:
        return _json({"stations": stations.stations()})

    async def one_station(request: Request) -> Response:
        return _json(_known(request.path_params["station"]))

    async def healthz(request: Request) -> Response:
        return _json({"status": "ok"})

    async def readyz(request: Request) -> Response:
        missing = stations.not_ready()
        return _json({"status": "not ready" if missing else "ready", "missing": missing}, 503 if missing else 200)

    async def metrics_page(request: Request) -> Response:
        page = await trio.to_thread.run_sync(stations.render_metrics)
        return Response(page, headers={"content-type": metrics.CONTENT_TYPE})

    async def overlay(request: Request) -> Response:
        _known(request.path_params["station"])
        return FileResponse(STATIC / "overlay.html")

    async def index(request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    def _known(name: str) -> dict[str, Any]:
        description = stations.station(name)
        if description is None:
            raise HTTPException(404, f"no such station: {name}")
        return description

    return Starlette(
        routes=[
            Route("/", index),
            Route("/overlay/{station}", overlay),
            Route("/v1/stations", list_stations),
            Route("/v1/stations/{station}", one_station),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/metrics", metrics_page),
            Mount("/static", StaticFiles(directory=STATIC)),
            *([Mount("/custom", CustomFiles(directory=overlay_folder))] if overlay_folder else []),
        ],
        exception_handlers={HTTPException: _problem},
        middleware=[],
    )


def with_headers(app: Any) -> Callable[..., Awaitable[None]]:
    """The application with the security headers on every answer."""

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in _HEADERS if name not in present),
                ]
            await send(message)

        await app(scope, receive, send_with_headers)

    return wrapped


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as `application/problem+json`."""
    return Response(
        msgspec.json.encode({"type": "about:blank", "status": status, "detail": detail}),
        status,
        headers={**(headers or {}), "content-type": "application/problem+json"},
    )


async def _problem(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else "internal error"
    return problem(status, detail, error.headers if isinstance(error, HTTPException) else None)


def _json(value: Any, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(value),
        status,
        headers={"content-type": "application/json", "cache-control": "no-store"},
    )
