"""A thin bridge from h11 to an ASGI application. It supports HTTP requests, but neither websockets nor lifespan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

import h11
import trio
from starlette.exceptions import HTTPException

from slpstream.web.connection import Connection

MAX_BODY_BYTES = 1 << 20
REQUEST_SECONDS = 30.0
_ALLOW_ORIGIN = b"access-control-allow-origin"
_BOTH_LENGTHS = frozenset((b"content-length", b"transfer-encoding"))
"""A request with both of these can be an attempt to smuggle a second one past a proxy. Because of this, we don't read
anything more after it (RFC 9112, section 6.1)."""

Application = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]


class RequestResponseCycle:
    """One request and its response, on a connection whose h11 state it shares."""

    def __init__(
        self,
        connection: Connection,
        http: h11.Connection,
        request: h11.Request,
        port: int,
        *,
        origin: bytes | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`origin` is the origin of a web page that may read the response. `extra` is added to the scope."""
        self._connection = connection
        self._http = http
        self._request = request
        self._port = port
        self._origin = origin
        self._extra = extra or {}
        self._body_done = False
        self._body_bytes = 0
        self._body_deadline = trio.current_time() + REQUEST_SECONDS
        self.status = 500

    def scope(self) -> dict[str, Any]:
        """Return the ASGI scope of the request."""
        target = bytes(self._request.target)
        path, _, query = target.partition(b"?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": self._request.http_version.decode(),
            "method": self._request.method.decode(),
            "scheme": "http",
            "path": unquote_to_bytes(path).decode("utf-8", "replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in self._request.headers],
            "client": (self._connection.peer, 0),
            "server": ("127.0.0.1", self._port),
            **self._extra,
        }

    async def run(self, application: Application) -> None:
        """Run the application for this request."""
        await application(self.scope(), self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        if self._body_done:
            # Only the end of the connection can follow, which `Departures` notices.
            await trio.sleep_forever()
        # The deadline is for the whole body, so that a trickle of bytes cannot hold the connection.
        with trio.move_on_at(self._body_deadline):
            while True:
                event = self._http.next_event()
                if event is h11.NEED_DATA:
                    if self._http.they_are_waiting_for_100_continue:
                        await self._write(h11.InformationalResponse(status_code=100, headers=[]))
                    self._http.receive_data(await self._connection.read())
                elif isinstance(event, h11.Data):
                    self._body_bytes += len(event.data)
                    if self._body_bytes > MAX_BODY_BYTES:
                        raise HTTPException(413)
                    return {"type": "http.request", "body": bytes(event.data), "more_body": True}
                elif isinstance(event, h11.EndOfMessage):
                    self._body_done = True
                    return {"type": "http.request", "body": b"", "more_body": False}
                else:
                    self._body_done = True
                    return {"type": "http.disconnect"}
        raise HTTPException(408)

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (b"server", b"slpstream")]
            if self._origin is not None:
                headers = for_origin(headers, self._origin)
            if {name for name, _ in self._request.headers} >= _BOTH_LENGTHS:
                headers = [*headers, (b"connection", b"close")]
            await self._write(h11.Response(status_code=self.status, headers=headers))
        elif message["type"] == "http.response.body":
            body = message.get("body", b"")
            if body and self._request.method != b"HEAD":
                await self._write(h11.Data(data=body))
            if not message.get("more_body", False):
                await self._write(h11.EndOfMessage())

    async def _write(self, event: h11.Event) -> None:
        if self._connection.gone:
            raise ConnectionResetError("the client has left")  # as ASGI 2.4 wants it, so that streams end
        data = self._http.send(event)
        if data:
            with trio.fail_after(REQUEST_SECONDS):
                await self._connection.write_all(data)


def for_origin(headers: Iterable[tuple[bytes, bytes]], origin: bytes) -> list[tuple[bytes, bytes]]:
    """Add the headers that let a page of this origin read the response, unless any origin may read it already."""
    headers = list(headers)
    if any(name == _ALLOW_ORIGIN for name, _ in headers):
        return headers  # browsers reject a second value
    kept = [(name, value) for name, value in headers if name != b"vary"]
    vary = [value for name, value in headers if name == b"vary"]
    return [*kept, (b"vary", b", ".join([*vary, b"origin"])), (_ALLOW_ORIGIN, origin)]
