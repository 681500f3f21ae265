"""`/v1/events`: the log of one station as server-sent events, for those who have an `EventSource` and no websocket.

The machinery is that of the websocket: the same subscription, the same bounded outbox in front of the socket, each
message encoded once for all. Only the wire differs: `event` is the message's type, `id` its cursor, `data` the line.
The answer has no length and ends with the connection. Who comes back says in `Last-Event-ID` where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import trio

from slpstream.model.errors import NoSuchGame, ProtocolViolation, SubscriberError, first_refusal
from slpstream.model.messages import Cursor, LogMessage, cut_frame
from slpstream.stream import Hub, Outbox, Subscriber, Subscription, WantedChannels
from slpstream.stream.subscription import parse_query
from slpstream.web.connection import Connection

PATH = b"/v1/events"
HEARTBEAT_SECONDS = 15.0
STUCK_SECONDS = 60.0
_FAREWELL_SECONDS = 1.0
_RETRY_MILLISECONDS = 2000
_RETRY_AFTER_ERROR_MILLISECONDS = 30_000
_HEARTBEAT = b":\n\n"
_HEAD = (
    b"HTTP/1.1 200 OK\r\n"
    b"content-type: text/event-stream\r\n"
    b"cache-control: no-store\r\n"
    b"x-accel-buffering: no\r\n"
    b"connection: close\r\n"
    b"server: slpstream\r\n"
)
_encode = msgspec.json.Encoder().encode


class ServerSentEventsEncoding:
    """A message to a server-sent event."""

    key = "events"

    def log(self, message: LogMessage, station: str) -> bytes:
        """A log message."""
        return message.form((self.key, station), lambda m: _event(m.type, m.cursor, m.json(station)))

    def cut(self, message: LogMessage, station: str, fields: Sequence[str]) -> bytes:
        """A `frame` message cut down to some fields."""
        return message.form(
            (self.key, station, tuple(fields)), lambda m: _event(m.type, m.cursor, cut_frame(m.json(station), fields))
        )

    def status(self, payload: dict[str, Any]) -> bytes:
        """A status message. The cursor of a snapshot is a place to come back to."""
        return _event(payload["type"], payload.get("cursor"), _encode(payload))


def _event(kind: str, cursor: str | None, data: bytes) -> bytes:
    """JSON has no line ends."""
    id_line = b"" if cursor is None else b"id: %b\n" % cursor.encode()
    return b"%bevent: %b\ndata: %b\n\n" % (id_line, kind.encode(), data)


_WIRE = ServerSentEventsEncoding()


def parse_events_query(query: str, headers: Mapping[str, str], *, max_fields: int) -> Subscription:
    """What a request asks for; `last-event-id` counts more than the `cursor` that the page began with.

    Raises `ProtocolViolation`.
    """
    try:
        pairs = parse_qsl(query, max_num_fields=max_fields)
    except ValueError as error:
        raise ProtocolViolation(str(error)) from None
    last = headers.get("last-event-id", "")
    if last:
        pairs = [(key, value) for key, value in pairs if key != "cursor"] + [("cursor", last)]
    subscription = parse_query(pairs)
    if subscription is None or subscription.stations is None or len(subscription.stations) != 1:
        raise ProtocolViolation("expected one station: /v1/events?station=NAME")
    return subscription


async def find_channels(hub: Hub, subscription: Subscription) -> WantedChannels:
    """The station of a subscription, after its cursor was looked up: that it is wrong must be said by the status of the
    answer, for a browser asks again after any other end. Raises `NoSuchGame`."""
    channels = hub.wanted(subscription.stations)
    [channel] = channels
    cursor = subscription.cursor_of(channel.station)
    if isinstance(cursor, Cursor) and channel.settled:
        await channel.locate(cursor.game_id)
    return channels


class EventsSession:
    """One answer, from its head to its end."""

    def __init__(
        self,
        connection: Connection,
        hub: Hub,
        *,
        headers: Sequence[tuple[bytes, bytes]],
        outbox_bytes: int,
        on_lagged: Callable[[], None],
        on_dropped: Callable[[str], None],
    ) -> None:
        """`headers` go with the answer's own."""
        self._connection = connection
        self._hub = hub
        self._headers = headers
        self._on_dropped = on_dropped
        self._outbox = Outbox(
            connection.write_now, limit_bytes=outbox_bytes, tell_missed=self._tell_missed, on_missed=on_lagged
        )
        self._work = trio.Event()
        self._ending = False
        """What waits is still written, then it is over."""
        self._subscriber: Subscriber | None = None
        self._scope = trio.CancelScope()

    @property
    def queued_bytes(self) -> int:
        """What waits for this client."""
        return self._outbox.queued_bytes

    def close(self, code: int, reason: str) -> None:
        """We are going down: what was not begun is not sent any more; the client comes back with its cursor."""
        self._stop()
        self._outbox.clear()
        self._end()

    async def run(self, subscription: Subscription, channels: WantedChannels) -> None:
        """Until the client leaves, or we end it."""
        head = _HEAD + b"".join(b"%b: %b\r\n" % header for header in self._headers) + b"\r\n"
        self._outbox.put(head + b"retry: %d\n\n" % _RETRY_MILLISECONDS)
        self._hub.subscriptions += 1
        subscriber = self._subscriber = Subscriber(subscription, _WIRE, self._outbox, self._wake)
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._read)
                    nursery.start_soon(self._follow, subscriber, channels)
                    await self._write(subscriber)
                    nursery.cancel_scope.cancel()
        finally:
            self._stop()
            self._outbox.discard()

    async def _follow(self, subscriber: Subscriber, channels: WantedChannels) -> None:
        try:
            await subscriber.run(channels)
        except* SubscriberError as group:
            error = first_refusal(group)
            self._stop()
            self._outbox.clear()
            self._outbox.put(b"retry: %d\n" % _RETRY_AFTER_ERROR_MILLISECONDS)
            self._outbox.put(_WIRE.status({"type": "error", "code": error.close_code, "message": error.what}))
            self._end()

    async def _read(self) -> None:
        """Nothing more is expected; the end of the connection is."""
        while await self._connection.read():
            pass
        self._connection.gone = True
        self._scope.cancel()

    async def _write(self, subscriber: Subscriber) -> None:
        """Writes what waits; a sign of life when nothing does, and the end when nobody takes it."""
        while not (self._ending and self._outbox.empty):
            self._work = trio.Event()
            if self._outbox.empty:
                with trio.move_on_after(HEARTBEAT_SECONDS) as waiting:
                    await self._work.wait()
                if waiting.cancelled_caught and self._outbox.empty:
                    self._outbox.put(_HEARTBEAT)
                continue
            with trio.move_on_after(STUCK_SECONDS) as waiting:
                await self._connection.writable()
            if waiting.cancelled_caught:
                self._on_dropped("unread")
                self._connection.gone = True
                return
            if self._outbox.flush():
                subscriber.flushed()

    def _end(self) -> None:
        self._ending = True
        self._scope.deadline = min(self._scope.deadline, trio.current_time() + _FAREWELL_SECONDS)
        self._wake()

    def _stop(self) -> None:
        if self._subscriber is not None:
            self._subscriber.stop()
            self._subscriber = None

    def _wake(self) -> None:
        self._work.set()

    def _tell_missed(self, missed: int) -> bytes:
        return _WIRE.status({"type": "lagged", "missed": missed})


def status_of(error: SubscriberError) -> int:
    """The HTTP status of what a subscription cannot have."""
    return 404 if isinstance(error, NoSuchGame) else 422 if isinstance(error, ProtocolViolation) else 410
