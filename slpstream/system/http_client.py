"""Send an HTTP request and read its response, with h11 for the protocol, and trio and `ssl` for the network.

We don't send many requests, so each of them uses a new connection, and we don't have to worry that one might go stale
in between. We don't follow redirects, because the body is signed for one particular receiver. Proxies aren't supported
either. If we used a client library instead, this would mean five more packages and 0.3 s of CPU time at startup, just
to send the same request.
"""

from __future__ import annotations

import hashlib
import hmac
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import h11
import trio

from slpstream.model.errors import SinkError
from slpstream.system.host_name import resolvable

_RECEIVE_BYTES = 16 * 1024
_MAX_DRAINED_BYTES = 64 * 1024
_MAX_HEAD_BYTES = 32 * 1024
_NO_URL = "expected an http:// or https:// URL, with a host and a port up to 65535"
_PORTS = {"http": 80, "https": 443}
_SAFE = "%/?:@!$&'()*+,;=-._~[]"
"""Characters of a path and query that are not escaped. `%` is one of them: it belongs to existing escapes."""

Headers = Sequence[tuple[str, str]]


class Target(NamedTuple):
    """The parts of a URL.

    In logs and metrics, we only show `authority` (the host and port), because the path might be a secret.
    """

    secure: bool
    host: str
    port: int
    path: str
    authority: str


def target_of(url: str) -> Target:
    """Parse an http or https URL.

    Raises `ValueError` if it is anything else. The message doesn't contain the text, because it might be a secret.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        host = resolvable(parts.hostname or "")
    except ValueError:  # the error has a part of the URL
        raise ValueError(_NO_URL) from None
    if parts.scheme not in _PORTS or not host:
        raise ValueError(_NO_URL)
    port = port or _PORTS[parts.scheme]
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_SAFE)
    bracketed = f"[{host}]" if ":" in host else host
    authority = bracketed if port == _PORTS[parts.scheme] else f"{bracketed}:{port}"
    return Target(parts.scheme == "https", host, port, path, authority)


class PostResponse(NamedTuple):
    """The status of a response, its `Retry-After` header (which can be empty), and the first bytes of its body."""

    status: int
    retry_after: str
    body: bytes = b""


Post = Callable[[Target, Headers, bytes, ssl.SSLContext | None, float], Awaitable[PostResponse]]
"""A function like `post`."""


async def post(
    target: Target, headers: Headers, body: bytes, tls: ssl.SSLContext | None, timeout_seconds: float
) -> PostResponse:
    """Post a body and return the response. If the target is `secure`, you have to pass `tls`.

    If there's no response in time, this raises a `SinkError` with a short reason.
    """
    return await request("POST", target, headers, body, tls, timeout_seconds)


def signature(secret: bytes, timestamp: int, body: bytes) -> str:
    """Return the value of `X-Slpstream-Signature`: HMAC-SHA256 over the timestamp, a full stop and the body."""
    return "sha256=" + hmac.new(secret, b"%d." % timestamp + body, hashlib.sha256).hexdigest()


async def request(
    method: str,
    target: Target,
    headers: Headers,
    body: bytes,
    tls: ssl.SSLContext | None,
    timeout_seconds: float,
    *,
    max_body_bytes: int = _MAX_DRAINED_BYTES,
) -> PostResponse:
    """Like `post`, but for any method. You get at most `max_body_bytes` of the body, plus a few more."""
    try:
        with trio.fail_after(timeout_seconds):
            return await _exchange(method, target, headers, body, tls, max_body_bytes)
    except trio.TooSlowError:
        raise SinkError(f"no answer within {timeout_seconds:g} s") from None
    except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError) as error:
        raise SinkError(_reason(error)) from error


async def _exchange(
    method: str, target: Target, headers: Headers, body: bytes, tls: ssl.SSLContext | None, max_body_bytes: int
) -> PostResponse:
    connected = await trio.open_tcp_stream(target.host, target.port)
    stream: trio.abc.Stream = connected
    if tls is not None:
        stream = trio.SSLStream(connected, tls, server_hostname=target.host, https_compatible=True)
    try:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        head = h11.Request(
            method=method,
            target=target.path,
            headers=[
                ("host", target.authority),
                ("content-length", str(len(body))),
                ("connection", "close"),
                *headers,
            ],
        )
        data = connection.send(head) or b""
        data += connection.send(h11.Data(data=body)) or b""
        data += connection.send(h11.EndOfMessage()) or b""
        await stream.send_all(data)
        return await _receive(stream, connection, max_body_bytes)
    finally:
        await trio.aclose_forcefully(stream)


async def _receive(stream: trio.abc.Stream, connection: h11.Connection, max_body_bytes: int) -> PostResponse:
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            retry_after = next((value for name, value in event.headers if name == b"retry-after"), b"")
            break
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(_RECEIVE_BYTES)))
    received = bytearray()
    with suppress(OSError, trio.BrokenResourceError, h11.RemoteProtocolError):
        await _receive_body(stream, connection, received, max_body_bytes)
    return PostResponse(event.status_code, retry_after.decode("latin-1"), bytes(received))


async def _receive_body(
    stream: trio.abc.Stream, connection: h11.Connection, received: bytearray, max_body_bytes: int
) -> None:
    """Read the body into `received` until it reaches a limit.

    We do this even if we don't need the body, because if you close a socket with unread data, the connection is reset.
    """
    while len(received) <= max_body_bytes:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(_RECEIVE_BYTES)))
        elif isinstance(event, h11.Data):
            received += event.data
        else:
            return


def _reason(error: BaseException) -> str:
    """Describe an error in one line.

    We use the innermost error for this, because trio wraps the errors that come from the operating system and from
    `ssl`.
    """
    inner: BaseException | None = error
    while inner is not None:
        error, inner = inner, inner.__cause__ or inner.__context__
        if isinstance(error, BaseExceptionGroup):
            inner = error.exceptions[0]
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate: {error.verify_message}"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) or type(error).__name__
