"""A websocket session: `websockets`' sans-IO protocol for handshake, control messages and limits; our own way for
what is published.

What subscribers are sent was framed once for all of them and goes from the fan-out straight to the socket (`Outbox`).
Everything else that the protocol wants to say (pong, close) goes through the same outbox, so that bytes never mix.
Three tasks: one reads, one writes what waits and keeps the connection alive, one runs the subscription.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
import trio
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import SEND_EOF, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from slpstream.model.errors import NotAuthorised, ProtocolViolation, SubscriberError, first_refusal
from slpstream.stream import Hub, Outbox, Subscriber, Subscription, WantedChannels, parse_subscription
from slpstream.web.connection import Connection
from slpstream.web.encodings import JSON, WIRES, WebsocketEncoding

VERSION = "13"
MAX_MESSAGE_BYTES = 64 * 1024
BURST_FRAMES = 20
FRAMES_PER_SECOND = 2.0
"""A subscriber says little. Who says more is read from no faster than this, after a burst."""
_READ_BYTES = 1024  # some hundred control frames: no more are answered without letting others run
PING_SECONDS = 20.0
CLOSE_SECONDS = 2.0
GOING_DOWN = 1001
NOT_UTF8 = 1007
_PROTOCOL_VERSION = 1
_REASON_BYTES = 120


class WebsocketSession:
    """One websocket from its handshake to its end."""

    def __init__(
        self,
        connection: Connection,
        hub: Hub,
        *,
        version: str,
        outbox_bytes: int,
        on_lagged: Callable[[], None],
        on_closed: Callable[[int], None],
        on_dropped: Callable[[str], None],
    ) -> None:
        self._connection = connection
        self._hub = hub
        self._version = version
        self._on_closed = on_closed
        self._on_dropped = on_dropped
        self._protocol = _Protocol(subprotocols=[Subprotocol(name) for name in WIRES], max_size=MAX_MESSAGE_BYTES)
        self._outbox = Outbox(
            connection.write_now, limit_bytes=outbox_bytes, tell_missed=self._tell_missed, on_missed=on_lagged
        )
        self._work = trio.Event()
        self._closing = False
        """We have begun to close."""
        self._over = False
        """Nothing is read any more; what waits is still written."""
        self._heard = True
        self._paid_until = -math.inf
        """When all frames that were read are paid for."""
        self._encoding: WebsocketEncoding = JSON
        self._subscriber: Subscriber | None = None
        self._subscription_scope = trio.CancelScope()
        self._scope = trio.CancelScope()

    @property
    def queued_bytes(self) -> int:
        """What waits for this client."""
        return self._outbox.queued_bytes

    def handshake(self, head: bytes) -> HTTPStatus:
        """Answers the request whose bytes are `head`, if it is a handshake. Any other status than 101 is for the caller
        to answer with."""
        self._protocol.receive_data(head)
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                if event.headers.get_all("Sec-WebSocket-Version") != [VERSION]:
                    return HTTPStatus.UPGRADE_REQUIRED
                response = self._protocol.accept(event)
                if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
                    self._protocol.send_response(response)
                    self._flush_protocol()
                return HTTPStatus(response.status_code)
        return HTTPStatus.BAD_REQUEST

    def let_go(self) -> None:
        """There is no session, or no more: what holds it is given up."""
        self._outbox.discard()
        self._protocol.parser.close()  # its frames hold the protocol, which holds it: circles are freed late
        self._protocol.parser_exc = None  # how its reading ended; so do the frames that it ended in

    async def run(self, first: Subscription | None, refusal: SubscriberError | None, rest: bytes = b"") -> None:
        """The session after its handshake. `refusal` closes it at once; `rest` came behind the handshake."""
        name = self._protocol.subprotocol
        self._encoding = WIRES[name] if name else JSON
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._write)
                    if not isinstance(refusal, NotAuthorised):
                        self._send_status(self._hello())
                    if refusal is not None:
                        self._refuse(refusal)
                    elif first is not None:
                        self._subscribe(first, nursery)
                    await self._read(nursery, rest)
        finally:
            self._leave()
            self.let_go()
        self._connection.gone |= self._scope.cancelled_caught

    def close(self, code: int, reason: str) -> None:
        """Begins the closing handshake; what was not sent yet is not sent any more, but a message that was begun is,
        and the `error` that says why."""
        self._close(code, reason, None)

    def _close(self, code: int, reason: str, error: dict[str, Any] | None) -> None:
        if self._protocol.state is not State.OPEN:
            return
        self._closing = True
        self._on_closed(code)
        self._leave()
        self._outbox.clear()
        if error is not None:
            self._send_status(error)
        self._protocol.send_close(code, reason.encode()[:_REASON_BYTES].decode(errors="ignore"))
        self._flush_protocol()
        self._end_soon()

    def _end_soon(self) -> None:
        """Whatever the other end does, the session ends."""
        self._scope.deadline = min(self._scope.deadline, trio.current_time() + CLOSE_SECONDS)

    def _drop(self, reason: str) -> None:
        """The end, without a word."""
        if not self._scope.cancel_called:
            self._on_dropped(reason)
            self._scope.cancel()

    # -- the three tasks ---------------------------------------------------------------------------------------------

    async def _read(self, nursery: trio.Nursery, data: bytes) -> None:
        """Until the other end has closed, or has broken the protocol. When we close, that is waited for."""
        while not self._over:
            if data:
                self._protocol.receive_data(data)
                events = self._protocol.events_received()
                self._flush_protocol()
                for event in events:
                    if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                        self._message(event, nursery)
                    await self._pay()
            if not self._over:
                data = await self._connection.read(_READ_BYTES)
                self._heard = True
                if not data:
                    self._protocol.receive_eof()
                    self._flush_protocol()
                    self._over = True
        self._leave()
        self._end_soon()
        self._work.set()

    async def _pay(self) -> None:
        """For a frame that was read. Waits when too many came; meanwhile nothing is read, and the other end waits."""
        now = trio.current_time()
        self._paid_until = max(self._paid_until, now - BURST_FRAMES / FRAMES_PER_SECOND) + 1 / FRAMES_PER_SECOND
        if self._closing or self._paid_until <= now:
            await trio.lowlevel.checkpoint()
        else:
            await trio.sleep_until(self._paid_until)

    async def _write(self) -> None:
        """Writes what waits, and asks from time to time whether anybody is there."""
        ping_at = trio.current_time() + PING_SECONDS
        while not (self._over and self._outbox.empty):
            self._work = trio.Event()
            with trio.move_on_at(ping_at) as waiting:
                if self._outbox.empty:
                    await self._work.wait()
                else:
                    await self._connection.writable()
                    self._heard = True  # it takes data
                    if self._outbox.flush() and self._subscriber is not None:
                        self._subscriber.flushed()
            if waiting.cancelled_caught:
                ping_at += PING_SECONDS
                self._ask()

    def _ask(self) -> None:
        """A ping; the end, when nothing has been heard since the last one."""
        if not self._heard:
            self._drop("silent")
        elif self._protocol.state is State.OPEN:
            self._heard = False
            self._protocol.send_ping(b"")
            self._flush_protocol()

    async def _follow(self, subscriber: Subscriber, channels: WantedChannels, scope: trio.CancelScope) -> None:
        with scope:
            try:
                await subscriber.run(channels)
            except* SubscriberError as group:
                if self._subscriber is subscriber:
                    self._refuse(first_refusal(group))

    # -- messages ----------------------------------------------------------------------------------------------------

    def _message(self, frame: Frame, nursery: trio.Nursery) -> None:
        if self._protocol.state is not State.OPEN:
            return  # its close was read with it
        try:
            if not frame.fin or frame.opcode is Opcode.CONT:
                raise ProtocolViolation("send a message in one piece")
            self._subscribe(parse_subscription(self._decode(frame)), nursery)
        except SubscriberError as error:
            self._refuse(error)
        except UnicodeDecodeError:
            self._close(NOT_UTF8, "a text message is UTF-8", None)

    def _decode(self, frame: Frame) -> dict[str, Any]:
        try:
            if frame.opcode is Opcode.BINARY:
                value = msgspec.msgpack.decode(bytes(frame.data))
            else:
                value = msgspec.json.decode(bytes(frame.data).decode())
        except (msgspec.DecodeError, RecursionError) as error:
            raise ProtocolViolation(f"not a message: {error}") from None
        if not isinstance(value, dict):
            raise ProtocolViolation("a message is an object")
        return value

    def _subscribe(self, subscription: Subscription, nursery: trio.Nursery) -> None:
        """Another subscription replaces the one before."""
        try:
            channels = self._hub.wanted(subscription.stations)
        except SubscriberError as error:
            self._refuse(error)
            return
        self._leave()
        self._hub.subscriptions += 1
        subscriber = Subscriber(subscription, self._encoding, self._outbox, self._wake)
        scope = trio.CancelScope()
        self._subscriber, self._subscription_scope = subscriber, scope
        nursery.start_soon(self._follow, subscriber, channels, scope)

    def _refuse(self, error: SubscriberError) -> None:
        self._close(error.close_code, error.what, {"type": "error", "code": error.close_code, "message": error.what})

    def _leave(self) -> None:
        self._subscription_scope.cancel()
        if self._subscriber is not None:
            self._subscriber.stop()
            self._subscriber = None

    def _tell_missed(self, missed: int) -> bytes:
        return self._encoding.status({"type": "lagged", "missed": missed})

    def _hello(self) -> dict[str, Any]:
        return {
            "type": "hello",
            "protocol": _PROTOCOL_VERSION,
            "version": self._version,
            "stations": sorted(self._hub.channels),
        }

    def _send_status(self, payload: dict[str, Any]) -> None:
        self._outbox.put(self._encoding.status(payload))
        self._wake()

    def _wake(self) -> None:
        self._work.set()

    def _flush_protocol(self) -> None:
        """What the protocol wants to say goes behind what waits."""
        parts = self._protocol.data_to_send()
        data = b"".join(parts)
        if data and not self._outbox.put(data):
            self._drop("unread")  # somebody who pings, and does not read
        if SEND_EOF in parts:
            self._over = True
            self._leave()  # nothing may follow the close
            closed = self._protocol.close_sent
            if not self._closing and closed is not None and self._protocol.close_rcvd is None:
                self._on_closed(closed.code)  # the other end broke the protocol, or its message was too big
        if not self._outbox.empty:
            self._wake()


class _Protocol(ServerProtocol):
    """Whoever offers none of our subprotocols speaks JSON without a name. (A function given to its constructor would
    be held as a bound method of it, which is a circle.)"""

    def select_subprotocol(self, subprotocols: Sequence[Subprotocol]) -> Subprotocol | None:
        """The first of ours that the client offers."""
        return next((name for name in subprotocols if name in WIRES), None)
