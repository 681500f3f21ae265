"""`/v1/events`: the log of one station as server-sent events, for clients that have an `EventSource` but no websocket.

We share everything but the encoding with the websocket: the subscription, the bounded outbox of the connection, and
messages that are encoded once for all subscribers. `event` is the type of a message, `id` is its cursor, and `data` is
its JSON line. The response doesn't have a length, and ends with the connection. A client that reconnects sends its last
cursor in `Last-Event-ID`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import parse_qsl

import msgspec
import trio
from msgspec import UNSET, Meta, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from slpstream.model.errors import (
    NoSuchGame,
    ProtocolViolation,
    SubscriberError,
)
from slpstream.model.messages import Cursor, LogMessage
from slpstream.stream.channel import Hub
from slpstream.stream.outbox import Outbox
from slpstream.stream.subscriber import Subscriber
from slpstream.stream.subscription import Subscription, parse_query
from slpstream.system.internal_errors import InternalErrors
from slpstream.web.connection import Connection
from slpstream.web.endpoint import Endpoint
from slpstream.web.observer import Observer

PATH = b"/v1/events"
HEARTBEAT_SECONDS = 15.0
STUCK_SECONDS = 60.0
_FLUSH_SECONDS = 1.0
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
    """Encodes messages as server-sent events."""

    key = "events"
    joined = None

    def log(self, message: LogMessage, station: str, fields: tuple[str, ...] | None = None) -> bytes:
        """Encode a log message as an event. You can cut a `frame` message down to some fields."""
        return _event(message.type, message.cursor, message.json(station, fields))

    def status(self, payload: dict[str, Any]) -> bytes:
        """Encode a status message as an event.

        The cursor of a snapshot becomes the id of the event, so that clients resume there.
        """
        return _event(payload["type"], payload.get("cursor"), _encode(payload))


def _event(kind: str, cursor: str | None, data: bytes) -> bytes:
    # `data` is one line: JSON escapes line ends.
    id_line = b"" if cursor is None else b"id: %b\n" % cursor.encode()
    return b"%bevent: %b\ndata: %b\n\n" % (id_line, kind.encode(), data)


_ENCODING = ServerSentEventsEncoding()


def parse_events_query(query: str, headers: Mapping[str, str], *, max_fields: int) -> Subscription:
    """Return the subscription in a request. Raises `ProtocolViolation` if it is invalid.

    `Last-Event-ID` takes precedence over `cursor`, because the URL stays the same when a page reconnects.
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


async def check_subscription(hub: Hub, subscription: Subscription) -> None:
    """Raise `NoSuchGame` if there is no such station, or if the cursor is invalid.

    We look up the cursor before the response begins, because only the status of the response can report an invalid one.
    If a response ends later, browsers reconnect.
    """
    hub.check(subscription.stations)
    if subscription.follows_on_air:
        return  # a cursor of another station is not an error, because the station may have changed since
    [channel] = hub.wanted(subscription.stations)
    cursor = subscription.cursor_of(channel.station)
    if isinstance(cursor, Cursor) and channel.settled:
        await channel.locate(cursor.game_id)


class EventsSession:
    """One response, from its head to its end."""

    def __init__(
        self,
        connection: Connection,
        hub: Hub,
        *,
        headers: Sequence[tuple[bytes, bytes]],
        outbox_bytes: int,
        observer: Observer,
        errors: InternalErrors,
    ) -> None:
        """`headers` are added to those that the response has anyway."""
        self._connection = connection
        self._hub = hub
        self._headers = headers
        self._observer = observer
        self._errors = errors
        self._outbox = Outbox(
            connection,
            limit_bytes=outbox_bytes,
            wake_writer=self._wake,
            tell_missed=_lagged,
            on_missed=observer.on_lagged,
        )
        self._work = trio.Event()
        self._ending = False
        """Whether the session ends once the outbox is empty."""
        self._subscriber: Subscriber | None = None
        self._scope = trio.CancelScope()

    @property
    def queued_bytes(self) -> int:
        """The number of bytes that are waiting for this client."""
        return self._outbox.queued_bytes

    def close(self, code: int, reason: str) -> None:
        """End the session at the shutdown.

        A message that was partly sent is completed, and the others are discarded. The client will resume with its
        cursor. Server-sent events have neither a close code nor a reason.
        """
        self._stop()
        self._outbox.clear()
        self._end()

    async def run(self, subscription: Subscription) -> None:
        """Send events until the client leaves or the session is closed."""
        head = _HEAD + b"".join(b"%b: %b\r\n" % header for header in self._headers) + b"\r\n"
        self._outbox.put(head + b"retry: %d\n\n" % _RETRY_MILLISECONDS)
        subscriber = self._subscriber = Subscriber(subscription, _ENCODING, self._outbox)
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._read)
                    nursery.start_soon(self._follow, subscriber)
                    await self._write(subscriber)
                    nursery.cancel_scope.cancel()
        finally:
            self._stop()
            self._outbox.discard()

    async def _follow(self, subscriber: Subscriber) -> None:
        error = await subscriber.run(self._hub, self._errors)
        if error is not None:
            self._stop()
            self._outbox.clear()
            self._outbox.put(b"retry: %d\n" % _RETRY_AFTER_ERROR_MILLISECONDS)
            self._outbox.put(_ENCODING.status({"type": "error", "code": error.close_code, "message": error.what}))
            self._end()

    async def _read(self) -> None:
        """End the session when the client leaves. Clients don't send anything after their request."""
        while await self._connection.read():
            pass
        self._connection.gone = True
        self._scope.cancel()

    async def _write(self, subscriber: Subscriber) -> None:
        """Write the outbox, and send heartbeats while it is empty. A client that stops reading is dropped."""
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
                self._observer.on_dropped("unread")
                self._connection.gone = True
                return
            if self._outbox.flush():
                subscriber.flushed()

    def _end(self) -> None:
        self._ending = True
        self._scope.deadline = min(self._scope.deadline, trio.current_time() + _FLUSH_SECONDS)
        self._wake()

    def _stop(self) -> None:
        if self._subscriber is not None:
            self._subscriber.stop()
            self._subscriber = None

    def _wake(self) -> None:
        self._work.set()


def _lagged(missed: int) -> bytes:
    return _ENCODING.status({"type": "lagged", "missed": missed})


def status_of(error: SubscriberError) -> int:
    """Return the HTTP status for a subscription that was refused."""
    return 404 if isinstance(error, NoSuchGame) else 422 if isinstance(error, ProtocolViolation) else 410


class EventsParameters(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Query parameters of `/v1/events`: those of a subscription, see the websocket."""

    station: Annotated[str, Meta(min_length=1, description="Id of one station, or `on-air`.")]
    topics: Annotated[str | UnsetType, Meta(description="Some of `game,frame,event,stats,diagnostic`.")] = UNSET
    also: Annotated[str | UnsetType, Meta(description="Types of messages that parts send.")] = UNSET
    frames: Annotated[str | UnsetType, Meta(description="`live` or `finalized`.")] = UNSET
    rate: Annotated[str | UnsetType, Meta(description="Frames per second of game time.")] = UNSET
    fields: Annotated[str | UnsetType, Meta(description="Keeps only these fields of frames.")] = UNSET
    delivery: Annotated[str | UnsetType, Meta(description="`conflate` or `lossless`.")] = UNSET
    cursor: Annotated[str | UnsetType, Meta(description="`live`, `start`, or a cursor.")] = UNSET


def endpoint() -> Endpoint:
    """Make the description of `/v1/events`, together with its response to HEAD.

    The server itself responds to GET, because it owns the connection.
    """

    async def head(request: Request, _: EventsParameters) -> Response:
        return Response(headers={"content-type": "text/event-stream", "cache-control": "no-store"})

    return Endpoint(
        PATH.decode(),
        "followEvents",
        "The log of one station as server-sent events: `event` is the type, `id` the cursor, `data` the message.",
        head,
        media_type="text/event-stream",
        parameters=EventsParameters,
        statuses={404: "No such station or game.", 410: "That cursor is gone."},
        headers={"Last-Event-ID": "Cursor of the last event received; takes precedence over `cursor`."},
    )
