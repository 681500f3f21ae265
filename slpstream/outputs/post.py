"""One HTTP request with a body, and what was answered: h11 for the protocol, trio and `ssl` for the network.

Deliveries are few, so each has a connection of its own: nothing can go stale between two of them. Redirects are not
followed, for the body is signed for one receiver; proxies are not asked. A client library would bring five more
packages, and 0.3 s of CPU at the start, for the same request.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import h11
import trio

from slpstream.model.errors import SinkError

_RECEIVE_BYTES = 16 * 1024
_MAX_ANSWER_BYTES = 64 * 1024
_MAX_HEAD_BYTES = 32 * 1024
_PORTS = {"http": 80, "https": 443}
_SAFE = "%/?:@!$&'()*+,;=-._~[]"
"""What stays as it is in a path: all that a URL may have there, and what is written as it should be already."""

Headers = Sequence[tuple[str, str]]


class Target(NamedTuple):
    """Where a URL leads. `authority`, host and port, is what may be shown of it: a path can be a secret."""

    secure: bool
    host: str
    port: int
    path: str
    authority: str


def target_of(url: str) -> Target:
    """Raises `ValueError` for what is no http or https URL."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"expected http:// or https://, found {url!r}")
    port = parts.port or _PORTS[parts.scheme]
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_SAFE)
    host = parts.hostname.encode("idna").decode()
    printed = f"[{host}]" if ":" in host else host
    authority = printed if port == _PORTS[parts.scheme] else f"{printed}:{port}"
    return Target(parts.scheme == "https", host, port, path, authority)


class Answer(NamedTuple):
    """Status, and the header that says when to come back; empty when there is none."""

    status: int
    retry_after: str


async def post(
    target: Target, headers: Headers, body: bytes, *, tls: ssl.SSLContext | None, timeout_seconds: float
) -> Answer:
    """Posts a body; `tls` is for a target that is `secure`. Raises `SinkError` with the reason in few words when there
    is no answer in time."""
    try:
        with trio.fail_after(timeout_seconds):
            return await _exchange(target, headers, body, tls)
    except trio.TooSlowError:
        raise SinkError(f"no answer within {timeout_seconds:g} s") from None
    except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError) as error:
        raise SinkError(_in_words(error)) from error


async def _exchange(target: Target, headers: Headers, body: bytes, tls: ssl.SSLContext | None) -> Answer:
    connected = await trio.open_tcp_stream(target.host, target.port)
    stream: trio.abc.Stream = connected
    if tls is not None:
        stream = trio.SSLStream(connected, tls, server_hostname=target.host, https_compatible=True)
    try:
        connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        request = h11.Request(
            method="POST",
            target=target.path,
            headers=[
                ("host", target.authority),
                ("content-length", str(len(body))),
                ("connection", "close"),
                *headers,
            ],
        )
        data = connection.send(request) or b""
        data += connection.send(h11.Data(data=body)) or b""
        data += connection.send(h11.EndOfMessage()) or b""
        await stream.send_all(data)
        return await _answer(stream, connection)
    finally:
        await trio.aclose_forcefully(stream)


async def _answer(stream: trio.abc.Stream, connection: h11.Connection) -> Answer:
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            retry_after = next((value for name, value in event.headers if name == b"retry-after"), b"")
            answer = Answer(event.status_code, retry_after.decode("latin-1"))
            break
        if event is h11.NEED_DATA:
            connection.receive_data(bytes(await stream.receive_some(_RECEIVE_BYTES)))
    with suppress(OSError, trio.BrokenResourceError, h11.RemoteProtocolError):
        await _drain(stream, connection)
    return answer


async def _drain(stream: trio.abc.Stream, connection: h11.Connection) -> None:
    """The rest of the answer, as far as that is polite: nothing in there concerns us."""
    received_bytes = 0
    while received_bytes <= _MAX_ANSWER_BYTES:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            data = bytes(await stream.receive_some(_RECEIVE_BYTES))
            received_bytes += len(data)
            connection.receive_data(data)
        elif not isinstance(event, h11.Data):
            return


def _in_words(error: BaseException) -> str:
    """The innermost reason: trio wraps what the system and `ssl` say."""
    reason: BaseException | None = error
    while reason is not None:
        error, reason = reason, reason.__cause__ or reason.__context__
        if isinstance(error, BaseExceptionGroup):
            reason = error.exceptions[0]
    reason = error
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"certificate: {reason.verify_message}"
    if isinstance(reason, OSError):
        return reason.strerror or str(reason)
    return str(reason) or type(reason).__name__
