"""The connection to OBS.

This keeps a connection open, sends the requests of the desk, and passes the messages of OBS to it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import trio
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI, parse_uri

from slpstream.model.errors import SinkError
from slpstream.parts.obs.desk import START_REQUESTS, Desk
from slpstream.parts.obs.session import (
    SUBPROTOCOL,
    Answer,
    BatchAnswer,
    Identified,
    ObsEvent,
    ObsSession,
    PasswordMissing,
    Received,
)
from slpstream.system.backoff import backoff_seconds
from slpstream.system.logs import get_logger

_FIRST_PAUSE_SECONDS = 0.5
_MAX_PAUSE_SECONDS = 5.0
"""OBS is started again by people, who then wait for it."""
_REFUSED_PAUSE_SECONDS = 15.0
_CONNECT_SECONDS = 10.0
_PING_SECONDS = 10.0
_READ_BYTES = 65536
_MAX_MESSAGE_BYTES = 8 << 20
_BROKEN = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError)
AUTHENTICATION_FAILED, SESSION_INVALIDATED = 4009, 4011
_REASONS = {
    AUTHENTICATION_FAILED: "the password is wrong",
    SESSION_INVALIDATED: "OBS has closed the connection for good; reload the configuration to connect again",
}

OpenStream = Callable[[str, int], Awaitable[trio.abc.Stream]]
"""Connects to a host and a port. Raises `OSError`."""


class ObsLink:
    """Keeps a desk connected to its OBS.

    You should call `run` in exactly one task. If a bug has ended it, call it again.
    """

    def __init__(
        self,
        url: str,
        desk: Desk,
        read_password: Callable[[], Awaitable[str | None]],
        *,
        clock: Callable[[], float] = time.time,
        on_reconnect: Callable[[], None] = lambda: None,
        on_kept: Callable[[], None] = lambda: None,
        open_stream: OpenStream = trio.open_tcp_stream,
    ) -> None:
        """`read_password` is called before we connect. It can raise `SinkError`. `clock` must be the same as that of
        the desk.

        `on_reconnect` is called when we have lost a connection that was already established. `on_kept` is called when
        there's a change in the things that the desk has to keep.
        """
        self._uri = parse_uri(url)
        self._desk = desk
        self._read_password = read_password
        self._clock = clock
        self._on_reconnect = on_reconnect
        self._on_kept = on_kept
        self._open_stream = open_stream
        self._work = trio.Event()
        self._resumed = trio.Event()
        self._log = get_logger()
        self.problem: str | None = "not connected yet"
        """Why OBS cannot be reached, or `None` while it can."""

    def wake(self) -> None:
        """Call this when the desk has something to send."""
        self._work.set()

    def resume(self) -> None:
        """Try to connect again, even if OBS has closed the connection for good.

        Call this when the configuration was read again.
        """
        self._resumed.set()

    async def run(self) -> None:
        """Stay connected until cancelled."""
        try:
            await self._stay_connected()
        finally:  # the requests of a connection that a bug has ended are answered by nobody
            self._desk.disconnected()
            self.problem = self.problem or "the connection was closed"

    async def _stay_connected(self) -> None:
        failures = 0
        while True:
            code, reason = None, ""
            self._resumed = trio.Event()
            try:
                code, reason = await self._connect()
            except PasswordMissing as error:
                code, reason = AUTHENTICATION_FAILED, error.what
            except (SinkError, *_BROKEN) as error:
                reason = _words(error)
            was_connected = self._desk.is_connected
            self._desk.disconnected()
            self._on_kept()
            if was_connected:
                failures = 0
                self._on_reconnect()
            failures += 1
            self._note(reason, lost=was_connected)
            if code == SESSION_INVALIDATED:
                await self._resumed.wait()
                continue
            refused = code == AUTHENTICATION_FAILED
            pause = min(backoff_seconds(failures, _FIRST_PAUSE_SECONDS), _MAX_PAUSE_SECONDS)
            with trio.move_on_after(_REFUSED_PAUSE_SECONDS if refused else pause):
                await self._resumed.wait()

    def _note(self, reason: str, *, lost: bool) -> None:
        """Log why there's no connection, but only once for each reason."""
        if lost:
            self._log.warning("connection to OBS lost; trying again", what=reason)
        elif reason != self.problem:
            self._log.warning("OBS cannot be used; trying again", what=reason)
        self.problem = reason

    async def _connect(self) -> tuple[int | None, str]:
        """Connect and stay connected.

        Returns the close code, if there was one, and the reason why the connection has ended.
        """
        session = ObsSession(await self._read_password())
        with trio.fail_after(_CONNECT_SECONDS):
            stream = await self._open_stream(self._uri.host, self._uri.port)
        async with stream:
            return await _Connection(self, self._uri, stream, session).run()

    def take(self, received: Received, session: ObsSession) -> None:
        """Pass a message to the desk. Raises `SinkError` if it doesn't follow the protocol."""
        desk = self._desk
        if isinstance(received, ObsEvent):
            desk.happened(received)
        elif isinstance(received, Answer):
            desk.answered(received)
        elif isinstance(received, Identified):
            session.batch(START_REQUESTS)
        else:
            self._begin(received, session)
        self._on_kept()
        self._work.set()

    def _begin(self, received: BatchAnswer, session: ObsSession) -> None:
        what = self._desk.connected(received.answers)
        if what is None:
            self.problem = None
            self._log.info("connected to OBS")
        else:
            raise SinkError(f"OBS is not ready: {what}")

    def send_due(self, session: ObsSession) -> None:
        """Put all requests that should be sent now into the session."""
        for request in self._desk.due():
            self._desk.sent(session.request(request.type, request.data or None), request)

    async def until_due(self) -> None:
        """Wait until there might be something to send."""
        at = self._desk.next_due_at()
        seconds = None if at is None else max(0.0, at - self._clock())
        with trio.move_on_after(seconds) if seconds is not None else trio.CancelScope():
            await self._work.wait()
        self._work = trio.Event()


class _Connection:
    """One connection, beginning with its handshake."""

    def __init__(self, link: ObsLink, uri: WebSocketURI, stream: trio.abc.Stream, session: ObsSession) -> None:
        self._link = link
        self._stream = stream
        self._session = session
        self._protocol = ClientProtocol(uri, subprotocols=[Subprotocol(SUBPROTOCOL)], max_size=_MAX_MESSAGE_BYTES)
        self._fragments = bytearray()
        self._sending = trio.Lock()
        self._heard = True

    async def run(self) -> tuple[int | None, str]:
        """Serve the connection until it ends. Raises `SinkError`, or one of the errors of sockets."""
        protocol = self._protocol
        protocol.send_request(protocol.connect())
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._ping)
            nursery.start_soon(self._send)
            try:
                await self._flush()
                await self._receive()
            except (SinkError, *_BROKEN) as error:
                failure = error
            nursery.cancel_scope.cancel()
        closed = protocol.close_rcvd
        if closed is None and failure is not None:
            raise failure
        code = None if closed is None else closed.code
        return code, _REASONS.get(code or 0) or (
            closed.reason if closed is not None else ""
        ) or "the connection was closed"

    async def _receive(self) -> None:
        protocol = self._protocol
        while protocol.state is not State.CLOSED:
            with trio.fail_after(_CONNECT_SECONDS if protocol.state is State.CONNECTING else float("inf")):
                data = await self._stream.receive_some(_READ_BYTES)
            self._heard = True
            if data:
                protocol.receive_data(data)
            else:
                protocol.receive_eof()
            if protocol.handshake_exc is not None:
                raise SinkError(f"this is no obs-websocket: {protocol.handshake_exc}")
            for event in protocol.events_received():
                if isinstance(event, Frame):
                    self._take(event)
            await self._flush()
            if not data or protocol.close_rcvd is not None:
                return

    def _take(self, frame: Frame) -> None:
        if frame.opcode not in (Opcode.TEXT, Opcode.CONT):
            return
        self._fragments += frame.data
        if frame.fin:
            message = bytes(self._fragments)
            self._fragments.clear()
            received = self._session.receive(message)
            if received is not None:
                self._link.take(received, self._session)
            self._put_messages()

    async def _send(self) -> None:
        with suppress(*_BROKEN):  # the reader notices it too
            while True:
                if self._protocol.state is State.OPEN:
                    self._link.send_due(self._session)
                    self._put_messages()
                    await self._flush()
                await self._link.until_due()

    async def _ping(self) -> None:
        """Drop the connection if we don't hear anything on it, for example because the other machine was switched
        off.
        """
        while True:
            await trio.sleep(_PING_SECONDS)
            if not self._heard:
                await trio.aclose_forcefully(self._stream)
                return
            self._heard = False
            if self._protocol.state is State.OPEN:
                self._protocol.send_ping(b"")
                with suppress(*_BROKEN):
                    await self._flush()

    def _put_messages(self) -> None:
        for message in self._session.messages_to_send():
            self._protocol.send_text(message)

    async def _flush(self) -> None:
        async with self._sending:
            data = b"".join(self._protocol.data_to_send())
            if data:
                await self._stream.send_all(data)


def _words(error: Exception) -> str:
    if isinstance(error, SinkError):
        return error.what
    if isinstance(error, (trio.TooSlowError, trio.ClosedResourceError)):
        return "no answer"
    cause = error.__cause__
    while isinstance(cause, BaseExceptionGroup):  # one for each address of the host
        cause = cause.exceptions[0]
    reason = cause or error
    if isinstance(reason, OSError) and reason.errno:
        return os.strerror(reason.errno)
    return str(reason) or type(reason).__name__
