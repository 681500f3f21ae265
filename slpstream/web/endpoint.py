"""What an endpoint of the HTTP API is: a row that is route, check of what comes in and documentation at once."""

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

from slpstream.web.access import Denied

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
TAKES = (JSON, MERGE_PATCH)
MAX_BODY_BYTES = 64 * 1024
TOKEN = "token"  # noqa: S105 -- the name of the parameter
OPERATING = "slpstream.operating"
"""In the scope of a request: `None`, or why it may not operate."""
_GZIP_FROM_BYTES = 1024
_THREAD_FROM_BYTES = 32 * 1024
_GZIP_LEVEL = 4


class Parameters(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Base of the query parameters of an endpoint: one field each, with its description and bounds."""


class NoParameters(Parameters, frozen=True):
    """None at all."""


Answering = Callable[[Request, Any], Awaitable[Response]]


class Endpoint(NamedTuple):
    """One path."""

    path: str
    """With `{name}` for what varies."""
    name: str
    """Unique, for programs that make clients from the description."""
    summary: str
    answering: Answering
    """Is given the request and its `parameters`."""
    answer: Any = None
    """The type of a JSON answer; `None` for others."""
    media_type: str = JSON
    parameters: type[Parameters] = NoParameters
    in_path: Mapping[str, Any] = {}
    """What varies, with its type."""
    statuses: Mapping[int, str] = {}
    """Other statuses than 200 and those that all have."""
    headers: Mapping[str, str] = {}
    """Request headers that it looks at, with a description."""
    method: str = "GET"
    operates: bool = False
    """Only who may operate is let in."""
    body: Any = None
    """The type of the JSON that a request brings, see `read_body`; `None` when it brings nothing."""

    async def answered(self, request: Request) -> Response:
        """The answer to a request."""
        denied: Denied | None = request.scope[OPERATING] if self.operates else None
        if denied is not None:
            raise HTTPException(denied.status, denied.reason, denied.headers)
        return await self.answering(request, parse(request, self.parameters))


def routes(endpoints: Sequence[Endpoint]) -> list[Route]:
    """For the application: one for each path, whatever its methods."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return [_route(path, of_path) for path, of_path in by_path.items()]


def _route(path: str, by_method: Mapping[str, Endpoint]) -> Route:
    async def answer(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await by_method[method].answered(request)

    return Route(path, answer, methods=list(by_method), name=next(iter(by_method.values())).name)


async def read_body(request: Request, kind: Any) -> Any:
    """The JSON that a request brings, as this type. Raises 400, 408, 413, 415, and 422, which says what was
    expected."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in TAKES:
        raise HTTPException(415, f"expected a body of type {' or '.join(TAKES)}")
    body = bytearray()
    try:
        async with aclosing(request.stream()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    raise HTTPException(413, f"a body has at most {MAX_BODY_BYTES} bytes")
    except trio.TooSlowError:
        raise HTTPException(408, "the body did not come") from None
    except (h11.RemoteProtocolError, ClientDisconnect):
        raise HTTPException(400, "the body breaks off") from None
    try:
        return msgspec.convert(_whole_numbers(msgspec.json.decode(bytes(body))), kind)
    except RecursionError:
        raise HTTPException(422, "the body is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what, _, where = str(error).partition(" - at `$.")
        raise HTTPException(422, f"{where.rstrip('`')}: {what}" if where else what) from None


def _whole_numbers(value: Any) -> Any:
    """JSON knows one kind of number: 3.0 is 3."""
    if isinstance(value, dict):
        return {key: _whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parse(request: Request, kind: type[Parameters]) -> Any:
    """The query of a request. Raises 422, which says what was expected of which parameter; where there are none, the
    query says nothing."""
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
            raise HTTPException(422, f"{name}: is there twice")
        given[name] = value
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        raise HTTPException(422, f"{where.rstrip('`')}: {what}" if where else what) from None


async def json_answer(request: Request, value: Any, *, status: int = 200, final: bool = False) -> Response:
    """A value as JSON, smaller where the other end can take that. What is `final` has an ETag: asked again it need
    not be sent again."""
    body = msgspec.json.encode(value)
    headers = {"content-type": JSON, "cache-control": "no-cache" if final else "no-store"}
    if final:
        headers["etag"] = tag = f'W/"{tag_of(body)}"'
        if request.method in ("GET", "HEAD") and _matches(request.headers.get("if-none-match", ""), tag):
            return Response(status_code=304, headers={**headers, "vary": "accept-encoding"})
    if len(body) >= _GZIP_FROM_BYTES:
        headers["vary"] = "accept-encoding"
        if _takes_gzip(request.headers.get("accept-encoding", "")):
            headers["content-encoding"] = "gzip"
            squeeze = partial(gzip.compress, body, _GZIP_LEVEL, mtime=0)
            body = squeeze() if len(body) < _THREAD_FROM_BYTES else await trio.to_thread.run_sync(squeeze)
    return Response(body, status, headers=headers)


def tag_of(body: bytes) -> str:
    """What tells an answer from others, in its ETag."""
    return hashlib.sha256(body).hexdigest()[:32]


def _matches(if_none_match: str, tag: str) -> bool:
    """The weak comparison of RFC 9110."""
    asked = [part.strip().removeprefix("W/") for part in if_none_match.split(",")]
    return "*" in asked or tag.removeprefix("W/") in asked


def _takes_gzip(accept_encoding: str) -> bool:
    """Whether `gzip` is among the codings, and not with a weight of 0."""
    weights: dict[str, float] = {}
    for part in accept_encoding.split(","):
        coding, _, weight = part.partition(";")
        try:
            weights[coding.strip().lower()] = float(weight.partition("=")[2] or 1) if weight else 1.0
        except ValueError:
            return False
    return weights.get("gzip", weights.get("*", 0.0)) > 0
