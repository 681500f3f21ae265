"""The endpoints of the HTTP API. Each of them is one row, which serves as route, validation and documentation."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple

import h11
import msgspec
import trio
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from slpstream.model.foreign_data import converted, read_json
from slpstream.web.access import Denied
from slpstream.web.station_path import NoSuchStation

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
BODY_TYPES = (JSON, MERGE_PATCH)
MAX_BODY_BYTES = 64 * 1024
BODY_REFUSED = {400: "The body is incomplete.", 413: "The body is too long.", 415: "The body is not JSON."}
"""The statuses of endpoints with a body (see `read_body`)."""
TOKEN = "token"  # noqa: S105 -- the name of the parameter
OPERATING = "slpstream.operating"
"""The key in the scope of a request for the reason why the request may not operate. `None` means that it may."""
_MIN_GZIP_BYTES = 1024
_MIN_THREAD_BYTES = 32 * 1024
_GZIP_LEVEL = 4


class NoParameters(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The query parameters of an endpoint that has none. It ignores the query."""


Respond = Callable[[Request, Any], Awaitable[Response]]
"""Responds to a request. It gets the request and its decoded query parameters."""


class Endpoint(NamedTuple):
    """One method of one path."""

    path: str
    """The path, with `{name}` for each variable part."""
    name: str
    """A unique name. Client generators use it to name their functions."""
    summary: str
    respond: Respond
    response: Any = None
    """The type of a JSON response, or `None` for other media types."""
    media_type: str = JSON
    parameters: type[msgspec.Struct] = NoParameters
    """There is one field for each query parameter, with its description and bounds. If the type of a field is not a
    JSON type, it has a class method `parse`. This takes the text of the parameter and raises `ValueError` if it is
    invalid."""
    in_path: Mapping[str, Any] = {}
    """The types of the variable parts of the path."""
    statuses: Mapping[int, str] = {}
    """The statuses of this endpoint, in addition to 200 and those that all endpoints have."""
    headers: Mapping[str, str] = {}
    """The request headers that have an effect, each with a description."""
    method: str = "GET"
    operates: bool = False
    """Whether the request needs the role `Role.OPERATE`."""
    body: Any = None
    """The type of the JSON body of the request (see `read_body`), or `None` if it doesn't have a body."""
    at_station: bool = False
    """Whether the station in the path must exist. Requests for other stations get 404."""

    async def dispatch(self, request: Request, has_station: Callable[[str], bool]) -> Response:
        """Check the role, decode the query, check the station, and respond."""
        denied: Denied | None = request.scope[OPERATING] if self.operates else None
        if denied is not None:
            raise HTTPException(denied.status, denied.reason, denied.headers)
        query = parse_query(request, self.parameters)
        if self.at_station and not has_station(request.path_params["station"]):
            raise NoSuchStation(request.path_params["station"])
        return await self.respond(request, query)


def routes(endpoints: Sequence[Endpoint], has_station: Callable[[str], bool]) -> list[Route]:
    """Return Starlette's routes for the given endpoints. There is one for each path, with all its methods."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [_route(path, by_method, has_station) for path, by_method in by_path.items()]


def _route(path: str, by_method: Mapping[str, Endpoint], has_station: Callable[[str], bool]) -> Route:
    async def dispatch(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await by_method[method].dispatch(request, has_station)

    return Route(path, dispatch, methods=list(by_method), name=next(iter(by_method.values())).name)


async def read_body(request: Request, kind: Any) -> Any:
    """Decode the JSON body of a request as `kind`.

    Raises `HTTPException` 400, 408, 413, 415, or 422 with the reason.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in BODY_TYPES:
        raise HTTPException(415, f"expected a body of type {' or '.join(BODY_TYPES)}")
    body = bytearray()
    try:
        async with aclosing(request.stream()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise HTTPException(413, f"expected a body of at most {MAX_BODY_BYTES} bytes")
    except trio.TooSlowError:
        raise HTTPException(408, "the body did not arrive in time") from None
    except (h11.RemoteProtocolError, ClientDisconnect):
        raise HTTPException(400, "the body is incomplete") from None
    return converted(_integral(read_json(bytes(body), object, _unprocessable)), kind, _unprocessable)


def _integral(value: Any) -> Any:
    """Replace integral floats by integers. JSON only has one type of number, in which 3.0 is the same as 3."""
    if isinstance(value, dict):
        return {key: _integral(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_integral(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parse_query(request: Request, kind: type[msgspec.Struct]) -> Any:
    """Decode the query of a request. Raises `HTTPException` 422 with the parameter and the value that was expected."""
    if kind is NoParameters:
        return NoParameters()
    given: dict[str, str] = {}
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    for name, value in request.query_params.multi_items():
        if name == TOKEN:
            continue
        if name not in known:
            raise HTTPException(422, f"unknown parameter: {name}")
        if name in given:
            raise HTTPException(422, f"{name}: given twice")
        given[name] = value
    try:
        return msgspec.convert(given, kind, strict=False, dec_hook=_parse_text)
    except msgspec.ValidationError as error:
        raise _unprocessable(str(error)) from None


def _parse_text(kind: Any, text: str) -> Any:
    return kind.parse(text)


def _unprocessable(reason: str) -> HTTPException:
    """Return the error 422 with msgspec's message, rearranged as `parameter: problem`."""
    what, _, where = reason.partition(" - at `$.")
    return HTTPException(422, f"{where.rstrip('`')}: {what}" if where else what)


async def json_response(request: Request, value: Any, *, status: int = 200, final: bool = False) -> Response:
    """Return a response with a value as JSON. It is compressed if the client accepts this.

    A `final` response has an ETag, so that it doesn't have to be sent again.
    """
    body = msgspec.json.encode(value)
    headers = {"content-type": JSON, "cache-control": "no-cache" if final else "no-store"}
    if final:
        headers["etag"] = tag = f'W/"{tag_of(body)}"'
        if request.method in ("GET", "HEAD") and _matches(request.headers.get("if-none-match", ""), tag):
            return Response(status_code=304, headers={**headers, "vary": "accept-encoding"})
    if len(body) >= _MIN_GZIP_BYTES:
        headers["vary"] = "accept-encoding"
        if _accepts_gzip(request.headers.get("accept-encoding", "")):
            headers["content-encoding"] = "gzip"
            compress = partial(gzip.compress, body, _GZIP_LEVEL, mtime=0)
            body = compress() if len(body) < _MIN_THREAD_BYTES else await trio.to_thread.run_sync(compress)
    return Response(body, status, headers=headers)


def tag_of(body: bytes) -> str:
    """Return the opaque part of a body's ETag."""
    return hashlib.sha256(body).hexdigest()[:32]


def _matches(if_none_match: str, tag: str) -> bool:
    """Whether an `If-None-Match` header matches the tag. This is a weak comparison (RFC 9110, section 8.8.3.2)."""
    asked = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return "*" in asked or tag.removeprefix("W/") in asked


def _accepts_gzip(accept_encoding: str) -> bool:
    """Whether the client accepts `gzip` with a weight above 0 (RFC 9110, section 12.5.3)."""
    weights: dict[str, float] = {}
    for part in accept_encoding.split(","):
        coding, _, weight = part.partition(";")
        try:
            weights[coding.strip().lower()] = float(weight.partition("=")[2] or 1) if weight else 1.0
        except ValueError:
            return False
    return weights.get("gzip", weights.get("*", 0.0)) > 0
