"""Requests to a daemon with any method and headers."""

from __future__ import annotations

import http.client
import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.daemons.process import DaemonProcess


class Response(NamedTuple):
    """The response to one request."""

    status: int
    headers: dict[str, str]
    body: Any
    """Decoded, if it is JSON."""


def ask(daemon: DaemonProcess, path: str, body: Any = None, *, method: str = "", **headers: str) -> Response:
    """Send a request, by default a POST if it has a body. Headers are keywords: `slpstream_phone="..."`."""
    connection = http.client.HTTPConnection(urlsplit(daemon.url).netloc, timeout=20)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        fields.setdefault("content-type", "application/json")
    connection.request(method or ("GET" if data is None else "POST"), path, data, fields)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    got = {name.lower(): value for name, value in response.getheaders()}
    return Response(response.status, got, json.loads(text) if "json" in got.get("content-type", "") else text)


def correct_set(daemon: DaemonProcess, station: str, patch: dict[str, Any], *, by: str = "") -> Any:
    """Correct the set of a station like an operator's program. Returns the set."""
    path = f"/v1/stations/{station}/set" + (f"?by={by}" if by else "")
    response = ask(daemon, path, patch, method="PATCH")
    assert response.status == 200, response
    return response.body


def put_on_air(daemon: DaemonProcess, station: str | None) -> None:
    """Put a station on air like an operator."""
    response = ask(daemon, "/v1/on-air", {"station": station}, method="PUT")
    assert response.status == 200, response
