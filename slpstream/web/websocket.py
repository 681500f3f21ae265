"""A websocket session.

The sans-IO protocol of `websockets` handles the handshake, the control frames and the limits.

Published messages are framed once for all subscribers, and go straight from the fan-out to the socket (see `Outbox`).
The protocol's own frames (pong and close) use the same outbox, so that bytes never interleave. A session has three
tasks. One reads, one writes the outbox and sends pings, and one runs the subscription.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

import h11
import trio
from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import SEND_EOF, Protocol, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from slpstream.model.errors import (
    NotAuthorised,
    ProtocolViolation,
    SubscriberError,
    SubscriptionFailed,
)
from slpstream.model.foreign_data import read_json, read_messagepack, read_text
from slpstream.model.version import __version__
from slpstream.stream.channel import Hub
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscriber import Subscriber
from slpstream.stream.subscription import Subscription, parse_subscription
from slpstream.system.internal_errors import InternalErrors
from slpstream.web.connection import Connection
from slpstream.web.encodings import ENCODINGS, JSON, WebsocketEncoding
from slpstream.web.observer import Observer

VERSION = "13"
MAX_MESSAGE_BYTES = 64 * 1024
BURST_FRAMES = 20
FRAMES_PER_SECOND = 2.0
"""Subscribers only send a little. After a burst, we read the frames of a client at this rate."""
_READ_BYTES = 1024  # at most 170 control frames, which are answered before other tasks run
PING_SECONDS = 20.0
CLOSE_SECONDS = 2.0
GOING_DOWN = 1001
NOT_UTF8 = 1007
_PROTOCOL_VERSION = 1
_REASON_BYTES = 120
_OBS = "OBS/"
"""Browsers in OBS have this in their `User-Agent`, followed by the version of OBS."""


class _NotUtf8(Exception):
    """A text message isn't UTF-8. Websockets have a special close code for this."""


class _PartialMessage:
    """Those fragments of a message that have already arrived."""

    __slots__ = ("fragments", "opcode")

    def __init__(self, opcode: Opcode = Opcode.TEXT) -> None:
        self.opcode = opcode
        self.fragments = bytearray()


class _Subscribed(NamedTuple):
    """A subscription, and the task that follows it."""

    subscriber: Subscriber
    scope: trio.CancelScope


class WebsocketSession:
    """One websocket, from its handshake to its end."""

    def __init__(
        self,
        connection: Connection,
        hub: Hub,
        *,
        outbox_bytes: int,
        observer: Observer,
        errors: InternalErrors,
    ) -> None:
        self._connection = connection
        self._errors = errors
        self._hub = hub
        self._observer = observer
        self._protocol = _ServerProtocol(
            subprotocols=[Subprotocol(name) for name in ENCODINGS], max_size=MAX_MESSAGE_BYTES
        )
        self._outbox = Outbox(
            connection,
            limit_bytes=outbox_bytes,
            wake_writer=self._wake,
            tell_missed=self._lagged,
            on_missed=observer.on_lagged,
        )
        self._work = trio.Event()
        self._closing = False
        """Whether the server has begun the closing handshake."""
        self._over = False
        """Whether reading has ended. The outbox is still written."""
        self._heard = True
        """Whether the client has shown a sign of life since the last ping."""
        self._budget_at = -math.inf
        """The time at which the frames that we have read so far are within the rate."""
        self._partial = _PartialMessage()
        """The message that is arriving, with its opcode. The protocol limits its size."""
        self._encoding: WebsocketEncoding = JSON
        self._subscribed: _Subscribed | None = None
        self._scope = trio.CancelScope()
        self.is_obs = False
        """Whether the client is a browser source in OBS, whose browser names itself."""

    @property
    def queued_bytes(self) -> int:
        """The number of bytes that are waiting for this client."""
        return self._outbox.queued_bytes

    def handshake(self, request: h11.Request) -> HTTPStatus:
        """Accept a handshake and return 101. If this returns any other status, the caller has to send the response."""
        headers = Headers()
        for name, value in request.headers:
            headers.set_insecure(name.decode("ascii"), value.decode("latin-1"))  # h11 has validated both
        self.is_obs = any(_OBS in agent for agent in headers.get_all("User-Agent"))
        if headers.get_all("Sec-WebSocket-Version") != [VERSION]:
            return HTTPStatus.UPGRADE_REQUIRED
        if "Transfer-Encoding" in headers or not set(headers.get_all("Content-Length")) <= {"0"}:
            return HTTPStatus.BAD_REQUEST  # a handshake has no body
        protocol = f"HTTP/{request.http_version.decode('ascii')}"
        response = self._protocol.accept(Request(request.target.decode("ascii"), headers, protocol=protocol))
        if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            self._protocol.send_response(response)
            self._flush_protocol()
        return HTTPStatus(response.status_code)

    def release(self) -> None:
        """Break reference cycles after the session or a failed handshake, so that the memory is freed immediately."""
        self._outbox.discard()
        self._protocol.parser.close()  # its frame refers to the protocol, which refers to it
        self._protocol.parser_exc = None  # so does its traceback

    async def run(self, first: Subscription | None, refusal: SubscriberError | None, rest: bytes = b"") -> None:
        """Run the session after its handshake.

        If there is a `refusal`, it closes the session immediately. `rest` contains the bytes that the client has sent
        after the handshake.
        """
        name = self._protocol.subprotocol
        self._encoding = ENCODINGS[name] if name else JSON
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    with self._errors.contain("stream") as contained:
                        if not isinstance(refusal, NotAuthorised):
                            self._send_status(self._hello())
                        if refusal is not None:
                            self._refuse(refusal)
                        elif first is not None:
                            self._subscribe(first, nursery)
                        await self._read(nursery, rest)
                    if contained.error_id is not None:
                        self._refuse(SubscriptionFailed(contained.error_id))
                        self._stop_reading()
        finally:
            self._unsubscribe()
            self.release()
        self._connection.gone |= self._scope.cancelled_caught

    def close(self, code: int, reason: str) -> None:
        """Begin the closing handshake.

        A message that was partly sent is completed, and the other waiting messages are discarded.
        """
        self._close(code, reason, None)

    def _close(self, code: int, reason: str, error: dict[str, Any] | None) -> None:
        """Close the websocket, after sending the status message `error` (if there is one)."""
        if self._protocol.state is not State.OPEN:
            return
        self._closing = True
        self._observer.on_closed(code)
        self._unsubscribe()
        self._outbox.clear()
        if error is not None:
            self._send_status(error)
        self._protocol.send_close(code, reason.encode()[:_REASON_BYTES].decode(errors="ignore"))
        self._flush_protocol()
        self._end_soon()

    def _end_soon(self) -> None:
        """Limit the time until the session ends, whatever the client does."""
        self._scope.deadline = min(self._scope.deadline, trio.current_time() + CLOSE_SECONDS)

    def _drop(self, reason: str) -> None:
        """End the session without a closing handshake."""
        if not self._scope.cancel_called:
            self._observer.on_dropped(reason)
            self._scope.cancel()

    async def _read(self, nursery: trio.Nursery, data: bytes) -> None:
        """Read until the client has closed the session or violated the protocol."""
        while not self._over:
            if data:
                self._protocol.receive_data(data)
                events = self._protocol.events_received()
                self._flush_protocol()
                for event in events:
                    if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                        self._data_frame(event, nursery)
                    await self._limit_rate()
            if not self._over:
                data = await self._connection.read(_READ_BYTES)
                self._heard = True
                if not data:
                    self._protocol.receive_eof()
                    self._flush_protocol()
                    self._over = True
        self._stop_reading()

    def _stop_reading(self) -> None:
        self._over = True
        self._unsubscribe()
        self._end_soon()
        self._work.set()

    async def _limit_rate(self) -> None:
        """Count a frame. If the client has sent too many, we wait, which means that the client has to wait as well."""
        now = trio.current_time()
        self._budget_at = max(self._budget_at, now - BURST_FRAMES / FRAMES_PER_SECOND) + 1 / FRAMES_PER_SECOND
        if self._closing or self._budget_at <= now:
            await trio.lowlevel.checkpoint()
        else:
            await trio.sleep_until(self._budget_at)

    async def _write(self) -> None:
        """Write the outbox, and send pings."""
        ping_at = trio.current_time() + PING_SECONDS
        while not (self._over and self._outbox.empty):
            self._work = trio.Event()
            with trio.move_on_at(ping_at) as waiting:
                if self._outbox.empty:
                    await self._work.wait()
                else:
                    await self._connection.writable()
                    self._heard = True  # the client reads
                    if self._outbox.flush() and self._subscribed is not None:
                        self._subscribed.subscriber.flushed()
            if waiting.cancelled_caught:
                ping_at += PING_SECONDS
                self._ping()

    def _ping(self) -> None:
        """Send a ping. If the client hasn't shown any sign of life since the last one, drop it."""
        if not self._heard:
            self._drop("silent")
        elif self._protocol.state is State.OPEN:
            self._heard = False
            self._protocol.send_ping(b"")
            self._flush_protocol()

    async def _follow(self, subscribed: _Subscribed) -> None:
        with subscribed.scope:
            error = await subscribed.subscriber.run(self._hub, self._errors)
            if error is not None and self._subscribed is subscribed:
                self._refuse(error)

    def _data_frame(self, frame: Frame, nursery: trio.Nursery) -> None:
        """Join the fragments of a message (RFC 6455, section 5.4). The protocol has already checked their order."""
        if frame.opcode is not Opcode.CONT:
            self._partial = _PartialMessage(frame.opcode)
        self._partial.fragments += frame.data
        if frame.fin and self._protocol.state is State.OPEN:  # otherwise a close frame arrived together with it
            whole, self._partial = self._partial, _PartialMessage()
            self._message(whole.opcode, bytes(whole.fragments), nursery)

    def _message(self, opcode: Opcode, data: bytes, nursery: trio.Nursery) -> None:
        """Handle a whole message."""
        try:
            self._subscribe(parse_subscription(self._decode(opcode, data)), nursery)
        except SubscriberError as error:
            self._refuse(error)
        except _NotUtf8 as error:
            self._close(NOT_UTF8, str(error), None)

    def _decode(self, opcode: Opcode, data: bytes) -> dict[str, Any]:
        def refused(what: str) -> ProtocolViolation:
            return ProtocolViolation(f"cannot decode the message: {what}")

        if opcode is Opcode.BINARY:
            value = read_messagepack(data, refused)
        else:
            read_text(data, lambda _: _NotUtf8("expected UTF-8 in a text message"))
            value = read_json(data, object, refused)
        if not isinstance(value, dict):
            raise ProtocolViolation("expected an object")
        return value

    def _subscribe(self, subscription: Subscription, nursery: trio.Nursery) -> None:
        """Replace the subscription."""
        try:
            self._hub.check(subscription.stations)
        except SubscriberError as error:
            self._refuse(error)
            return
        self._unsubscribe()
        subscriber = Subscriber(subscription, self._encoding, self._outbox)
        self._subscribed = _Subscribed(subscriber, trio.CancelScope())
        nursery.start_soon(self._follow, self._subscribed)

    def _refuse(self, error: SubscriberError) -> None:
        self._close(error.close_code, error.what, {"type": "error", "code": error.close_code, "message": error.what})

    def _unsubscribe(self) -> None:
        if self._subscribed is not None:
            self._subscribed.scope.cancel()
            self._subscribed.subscriber.stop()
            self._subscribed = None

    def _lagged(self, missed: int) -> bytes:
        return self._encoding.status({"type": "lagged", "missed": missed})

    def _hello(self) -> dict[str, Any]:
        return {
            "type": "hello",
            "protocol": _PROTOCOL_VERSION,
            "version": __version__,
            "stations": sorted(self._hub.channels),
        }

    def _send_status(self, payload: dict[str, Any]) -> None:
        self._outbox.put(self._encoding.status(payload))

    def _wake(self) -> None:
        self._work.set()

    def _flush_protocol(self) -> None:
        """Move the protocol's own frames to the end of the outbox."""
        parts = self._protocol.data_to_send()
        data = b"".join(parts)
        if data and not self._outbox.put(data):
            self._drop("unread")  # the client sends pings but reads nothing
        if SEND_EOF in parts:
            self._over = True
            self._unsubscribe()  # nothing may follow the close frame
            closed = self._protocol.close_sent
            if not self._closing and closed is not None and self._protocol.close_rcvd is None:
                self._observer.on_closed(closed.code)  # the client violated the protocol, or its message was too big


class _ServerProtocol(ServerProtocol):
    """The protocol after the handshake. h11 has already parsed the request."""

    def parse(self) -> Generator[None]:
        """Parse frames, without a request before them."""
        yield from Protocol.parse(self)

    def select_subprotocol(self, subprotocols: Sequence[Subprotocol]) -> Subprotocol | None:
        """Return the first known subprotocol that the client offers.

        `None` stands for JSON, if it doesn't offer any of them.
        """
        # An override, because a function given to the constructor is bound to the protocol, which is a cycle.
        return next((name for name in subprotocols if name in ENCODINGS), None)
