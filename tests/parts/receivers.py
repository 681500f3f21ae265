"""Webhook receivers: a fake one for virtual time, and a real one on 127.0.0.1 in a thread."""

from __future__ import annotations

import hashlib
import hmac
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import trio

from slpstream.model.errors import SinkError
from slpstream.system.http_client import Headers, PostResponse, Target
from tests.parts.http_server import Response, serving

SECRET = b"a shared secret"
OK = PostResponse(204, "")


class Request(NamedTuple):
    """A request with a delivery."""

    at: float
    key: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        value: dict[str, Any] = json.loads(self.body)
        return value


def verified(request: Request) -> bool:
    """Check the signature as `docs/howto/outputs.md` describes."""
    signed = f"{request.headers['x-slpstream-timestamp']}.".encode() + request.body
    expected = "sha256=" + hmac.new(SECRET, signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected, request.headers["x-slpstream-signature"])


class FakeReceiver:
    """A replacement for `post`. `respond` returns the response to a request, or the reason for having none as text."""

    def __init__(self, respond: Callable[[Request], PostResponse | str] = lambda request: OK) -> None:
        self.respond = respond
        self.requests: list[Request] = []
        self.accepted: list[Request] = []

    async def __call__(
        self, target: Target, headers: Headers, body: bytes, tls: ssl.SSLContext | None, timeout_seconds: float
    ) -> PostResponse:
        await trio.lowlevel.checkpoint()
        by_name = dict(headers)
        request = Request(trio.current_time(), by_name["idempotency-key"], by_name, body)
        self.requests.append(request)
        response = self.respond(request)
        if isinstance(response, str):
            raise SinkError(response)
        if 200 <= response.status < 300:
            self.accepted.append(request)
        return response

    @property
    def keys(self) -> list[str]:
        """The keys of accepted deliveries, in order of arrival."""
        return [request.key for request in self.accepted]


class RealReceiver:
    """An HTTP server that responds with `status`, `headers` and `body`."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 204
        self.headers: dict[str, str] = {}
        self.body = b""
        self.requests: list[Request] = []
        self.accepted: list[Request] = []
        self.paths: list[str] = []

    def wait(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Wait until a condition is true."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, [request.key for request in self.requests]
            time.sleep(0.02)


@contextmanager
def real_receiver() -> Iterator[RealReceiver]:
    """Run a receiver for the duration of the block."""
    receiver = RealReceiver()

    def respond(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Response:
        request = Request(time.monotonic(), headers["idempotency-key"], headers, body)
        receiver.paths.append(path)
        receiver.requests.append(request)
        if receiver.status < 300:
            receiver.accepted.append(request)
        return Response(receiver.status, receiver.body, receiver.headers)

    with serving(respond) as address:
        receiver.url = f"{address}/hook?room=1"
        yield receiver
