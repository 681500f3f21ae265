"""A websocket session: `websockets`' sans-IO protocol for handshake, control messages and limits; our own way for
what is published.

What subscribers are sent was framed once for all of them and goes from the fan-out straight to the socket (`Outbox`).
Everything else that the protocol wants to say (pong, close) goes through the same outbox, so that bytes never mix.
Three tasks: one reads, one writes what waits and keeps the connection alive, one runs the subscription.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import trio
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from slpstream.errors import ProtocolViolation, SubscriberError, TooSlow
from slpstream.stream import Hub, Outbox, Subscriber, Subscription, parse_subscription
from slpstream.web.connection import Connection
from slpstream.web.wires import JSON, WIRES, WebsocketWire

MAX_MESSAGE_BYTES = 64 * 1024
PING_SECONDS = 20.0
CLOSE_SECONDS = 2.0
GOING_DOWN = 1001
NOT_AUTHORISED = 4401
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
        on_lagged: Callable[[int], None],
        on_closed: Callable[[int], None],
    ) -> None:
        self._connection = connection
        self._hub = hub
        self._version = version
        self._on_lagged = on_lagged
        self._on_closed = on_closed
        self._protocol = ServerProtocol(
            subprotocols=[Subprotocol(name) for name in WIRES],
            select_subprotocol=_select_subprotocol,
            max_size=MAX_MESSAGE_BYTES,
        )
        self._outbox = Outbox(connection.write_now, limit_bytes=outbox_bytes)
        self._work = trio.Event()
        self._closing = False
        self._heard = False
        self._wire: WebsocketWire = JSON
        self._subscriber: Subscriber | None = None
        self._subscription_scope: trio.CancelScope | None = None
        self._scope: trio.CancelScope | None = None

    @property
    def queued_bytes(self) -> int:
        """What waits for this client."""
        return self._outbox.queued_bytes

    def handshake(self, head: bytes) -> bool:
        """Answers the request whose bytes are `head`. False when it is no websocket request."""
        self._protocol.receive_data(head)
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                response = self._protocol.accept(event)
                self._protocol.send_response(response)
                self._flush_protocol()
                return response.status_code == 101
        self._flush_protocol()
        return False

    async def run(self, first: Subscription | None, refusal: tuple[int, str] | None) -> None:
        """The session after its handshake. `refusal` closes it at once with a code and a reason."""
        name = self._protocol.subprotocol
        self._wire = WIRES[name] if name else JSON
        async with trio.open_nursery() as nursery:
            self._scope = nursery.cancel_scope
            nursery.start_soon(self._write)
            if refusal is not None:
                self.close(*refusal)
            else:
                self._send_status(self._hello())
                if first is not None:
                    self._subscribe(first, nursery)
            await self._read(nursery)
            nursery.cancel_scope.cancel()

    def close(self, code: int, reason: str) -> None:
        """Begins the closing handshake; what was not sent yet is not sent any more, but a message that was begun is."""
        if self._closing:
            return
        self._closing = True
        self._on_closed(code)
        self._leave()
        self._outbox.clear()
        self._protocol.send_close(code, reason.encode()[:_REASON_BYTES].decode(errors="ignore"))
        self._flush_protocol()
        self._work.set()

    # -- the three tasks ---------------------------------------------------------------------------------------------

    async def _read(self, nursery: trio.Nursery) -> None:
        while not self._connection.gone:
            data = await self._connection.read()
            self._heard = True
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            for event in self._protocol.events_received():
                if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                    self._message(event, nursery)
            self._flush_protocol()
            if not data or self._protocol.close_expected():
                self._leave()
                with trio.move_on_after(CLOSE_SECONDS):
                    while not self._outbox.empty and not self._connection.gone:
                        await self._connection.writable()
                        self._outbox.flush()
                return

    async def _write(self) -> None:
        silent = False
        while True:
            self._work = trio.Event()
            if not self._outbox.empty:
                with trio.move_on_after(CLOSE_SECONDS if self._closing else PING_SECONDS) as waiting:
                    await self._connection.writable()
                    if self._outbox.flush() and self._subscriber is not None:
                        self._lagged(self._subscriber)
                if not waiting.cancelled_caught:
                    continue
            else:
                with trio.move_on_after(CLOSE_SECONDS if self._closing else PING_SECONDS) as waiting:
                    await self._work.wait()
                if not waiting.cancelled_caught:
                    continue
            if self._closing or (silent and not self._heard):
                self._abort()
                return
            silent, self._heard = not self._heard, False
            self._protocol.send_ping(b"")
            self._flush_protocol()

    def _abort(self) -> None:
        """The other end does not answer: the session is over without its consent."""
        self._connection.gone = True
        self._leave()
        if self._scope is not None:
            self._scope.cancel()

    async def _follow(self, subscriber: Subscriber, channels: Any) -> None:
        with trio.CancelScope() as scope:
            self._subscription_scope = scope
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(subscriber.run, channels)
                    await subscriber.failed.wait()
                    raise subscriber.failure or TooSlow("too slow")
            except* SubscriberError as group:
                self._refuse(_first_of(group))

    # -- messages ----------------------------------------------------------------------------------------------------

    def _message(self, frame: Frame, nursery: trio.Nursery) -> None:
        if self._closing:
            return
        try:
            if not frame.fin or frame.opcode is Opcode.CONT:
                raise ProtocolViolation("send a message in one piece")
            self._subscribe(parse_subscription(self._decode(frame)), nursery)
        except SubscriberError as error:
            self._refuse(error)

    def _decode(self, frame: Frame) -> dict[str, Any]:
        try:
            if frame.opcode is Opcode.BINARY:
                value = msgspec.msgpack.decode(bytes(frame.data))
            else:
                value = msgspec.json.decode(bytes(frame.data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
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
        subscriber = Subscriber(subscription, self._wire, self._outbox, self._wake)
        self._subscriber = subscriber
        for channel in channels:
            subscriber.send_status(channel.state_message())
        nursery.start_soon(self._follow, subscriber, channels)

    def _refuse(self, error: SubscriberError) -> None:
        if not self._closing:
            self._send_status({"type": "error", "code": error.close_code, "message": error.what})
            self.close(error.close_code, error.what)

    def _leave(self) -> None:
        if self._subscription_scope is not None:
            self._subscription_scope.cancel()
            self._subscription_scope = None
        if self._subscriber is not None:
            self._subscriber.stop()
            self._subscriber = None

    def _lagged(self, subscriber: Subscriber) -> None:
        self._on_lagged(subscriber.outbox.dropped)
        subscriber.flushed()

    def _hello(self) -> dict[str, Any]:
        return {
            "type": "hello",
            "protocol": _PROTOCOL_VERSION,
            "version": self._version,
            "stations": sorted(self._hub.channels),
        }

    def _send_status(self, payload: dict[str, Any]) -> None:
        self._outbox.put(self._wire.status(payload))
        self._wake()

    def _wake(self) -> None:
        self._work.set()

    def _flush_protocol(self) -> None:
        """What the protocol wants to say goes behind what waits."""
        data = b"".join(part for part in self._protocol.data_to_send())
        if data and not self._outbox.put(data):
            self._connection.gone = True
        if not self._outbox.empty:
            self._wake()


def _first_of(group: BaseExceptionGroup[SubscriberError]) -> SubscriberError:
    """Several stations can refuse at once; one reason is enough."""
    first = group.exceptions[0]
    return _first_of(first) if isinstance(first, BaseExceptionGroup) else first


def _select_subprotocol(protocol: ServerProtocol, offered: Any) -> Subprotocol | None:
    """The first of ours that the client offers; a client that offers none of ours speaks JSON without a name."""
    return next((name for name in offered if name in WIRES), None)
