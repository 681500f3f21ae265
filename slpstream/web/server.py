"""One port for everything: h11 reads the request; a websocket upgrade goes to a session, the rest to the HTTP
application.

The server owns its connections: each is a task in its nursery. Shutting down closes the listening sockets, says 1001
to every websocket, gives all of them a deadline, and cancels what is left.
"""

from __future__ import annotations

import errno
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl

import h11
import trio

from slpstream.model.errors import NotAuthorised, ProtocolViolation, SubscriberError
from slpstream.stream import Hub, Subscription
from slpstream.stream.subscription import parse_query
from slpstream.system.logs import get_logger
from slpstream.web.access import Access, Denied, Role, is_loopback
from slpstream.web.app import SECURITY_HEADERS, make_app, problem, with_headers
from slpstream.web.asgi import Exchange, for_origin
from slpstream.web.connection import Connection
from slpstream.web.endpoint import OPERATING
from slpstream.web.events import PATH as EVENTS_PATH
from slpstream.web.events import EventsSession, find_channels, parse_events_query, status_of
from slpstream.web.file_answer import BrokenOffError
from slpstream.web.games import Games
from slpstream.web.stations import Stations
from slpstream.web.websocket import GOING_DOWN, VERSION, WebsocketSession

STREAM_PATH = b"/v1/stream"
MAX_QUERY_FIELDS = 32
_ASSETS = (b"/static/", b"/custom/")
_FOR_EVERYBODY = (Denied.TOKEN, Denied.ORIGIN)
HEAD_SECONDS = 10.0
HEAD_BYTES = 16 * 1024
_FULL_HOUSE_SECONDS = 0.002
"""Between two that come in when all connections are in use: those who have one go first."""
_OUT_OF_DESCRIPTORS_SECONDS = 0.25
_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_OUR_MISTAKES = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)


def listen(host: str, port: int) -> list[socket.socket]:
    """Listening sockets for a host and port, one for each address family that there is; port 0 takes one free port
    for all. Raises `OSError`."""
    sockets: list[socket.socket] = []
    failure: OSError | None = None
    for family, kind, proto, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        try:
            listener = socket.socket(family, kind, proto)
        except OSError as error:
            failure = error  # a family that this machine knows of and does not have
            continue
        try:
            if sys.platform != "win32":  # there it would let two listen on one port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((address[0], port, *address[2:]))
            listener.listen(1024)
        except OSError as error:
            listener.close()
            failure = error
            if error.errno == errno.EADDRNOTAVAIL:
                continue
            break
        listener.setblocking(False)
        port = listener.getsockname()[1]
        sockets.append(listener)
    else:
        if sockets:
            return sockets
    for listener in sockets:
        listener.close()
    raise failure or OSError(errno.EADDRNOTAVAIL, "no address")


class WebServer:
    """HTTP and websocket on some listening sockets."""

    def __init__(
        self,
        hub: Hub,
        stations: Stations,
        games: Games,
        access: Access,
        *,
        version: str,
        outbox_bytes: int,
        socket_buffer_bytes: int,
        max_connections: int,
        overlay_folder: Path | None = None,
        name_folders: Mapping[str, Path] | None = None,
        on_lagged: Callable[[], None],
        on_closed: Callable[[int], None],
        on_dropped: Callable[[str], None],
        on_request: Callable[[int], None],
    ) -> None:
        self._hub = hub
        self.access = access
        """The rules for what comes from now on; may be replaced."""
        self._app = with_headers(make_app(stations, games, overlay_folder, name_folders, version=version))
        self._version = version
        self._outbox_bytes = outbox_bytes
        self._socket_buffer_bytes = socket_buffer_bytes
        self._max_connections = max_connections
        self._on_lagged = on_lagged
        self._on_closed = on_closed
        self._on_dropped = on_dropped
        self._on_request = on_request
        self._connections: Counter[str] = Counter()
        """Open ones, by the address of the other end."""
        self._waiting: dict[Connection, trio.CancelScope] = {}
        """Those without a request, the oldest first."""
        self._stopping = False
        self._sessions: set[WebsocketSession | EventsSession] = set()
        self._all_left = trio.Event()
        self._log = get_logger()

    @property
    def queued_bytes(self) -> int:
        """What waits for all clients."""
        return sum(session.queued_bytes for session in list(self._sessions))  # asked from a worker thread

    @property
    def connections(self) -> int:
        """Open connections of all kinds."""
        return sum(list(self._connections.values()))  # asked from a worker thread

    @property
    def websockets(self) -> int:
        """Open websockets."""
        return sum(isinstance(session, WebsocketSession) for session in list(self._sessions))

    @property
    def event_streams(self) -> int:
        """Open streams of server-sent events."""
        return sum(isinstance(session, EventsSession) for session in list(self._sessions))

    def admit(self, access: Access, *, outbox_bytes: int, socket_buffer_bytes: int, max_connections: int) -> None:
        """Other rules, for connections that come from now on."""
        self.access = access
        self._outbox_bytes = outbox_bytes
        self._socket_buffer_bytes = socket_buffer_bytes
        self._max_connections = max_connections

    async def serve(self, listeners: list[socket.socket], stop: trio.Event, *, grace_seconds: float) -> None:
        """Serves until `stop`, then closes every websocket with 1001 within `grace_seconds`."""
        async with trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                for listener in listeners:
                    accepting.start_soon(self._accept, listener, connections)
                await stop.wait()
                accepting.cancel_scope.cancel()
            for listener in listeners:
                listener.close()
            self._stopping = True
            self._all_left = trio.Event()
            for session in list(self._sessions):
                session.close(GOING_DOWN, "going down")
            if self._sessions:
                with trio.move_on_after(grace_seconds):
                    await self._all_left.wait()
            connections.cancel_scope.cancel()

    async def _accept(self, listener: socket.socket, connections: trio.Nursery) -> None:
        while True:
            await trio.lowlevel.wait_readable(listener)
            try:
                sock, address = listener.accept()
            except OSError as error:
                if error.errno in _OUR_MISTAKES:
                    raise
                if error.errno in _OUT_OF_DESCRIPTORS:
                    self._log.error("cannot accept connections", what=error.strerror)
                    await trio.sleep(_OUT_OF_DESCRIPTORS_SECONDS)
                continue  # the connection is gone already, for one of many reasons
            peer = str(address[0])
            if not self._has_room(peer):
                self._on_dropped("limit")
                sock.close()
                continue
            self._connections[peer] += 1
            connections.start_soon(self._handle, Connection(sock, peer), listener.getsockname()[1])
            if self._connections.total() >= self._max_connections:
                await trio.sleep(_FULL_HOUSE_SECONDS)

    def _has_room(self, peer: str) -> bool:
        """Whether another connection can be had. The one that waits longest for a request gives way to it. No address
        has more than half of all, but for loopback, which can be a proxy for many."""
        if self._connections[peer] * 2 >= self._max_connections and not is_loopback(peer):
            return False
        if self._connections.total() < self._max_connections:
            return True
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        self._on_dropped("room")
        oldest.gone = True
        self._waiting.pop(oldest).cancel()
        return True

    async def _handle(self, connection: Connection, port: int) -> None:
        try:
            await self._requests(connection, port)
            await connection.finish()
        finally:
            self._connections[connection.peer] -= 1
            if not self._connections[connection.peer]:
                del self._connections[connection.peer]
            connection.close()

    async def _requests(self, connection: Connection, port: int) -> None:
        """Requests, one after the other, until the connection cannot be used any more."""
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        raw = b""
        keep = True
        while keep:
            try:
                request, raw = await self._read_head(connection, http, raw)
                if request is None:
                    return
                if _is_upgrade(request):
                    await self._websocket(connection, http, request, raw)
                    return
                if request.method == b"GET" and request.target.partition(b"?")[0] == EVENTS_PATH:
                    await self._events(connection, http, request)
                    return
                keep = await self._exchange(connection, http, request, port)
            except h11.RemoteProtocolError as error:
                await self._refuse(connection, http, error.error_status_hint)
                return
            except trio.TooSlowError:
                idle = http.our_state is h11.IDLE
                if not idle or http.trailing_data[0]:
                    self._on_dropped("head" if idle else "request")
                if http.our_state is h11.IDLE and http.trailing_data[0]:
                    await self._refuse(connection, http, HTTPStatus.REQUEST_TIMEOUT)
                return
            if keep:
                raw = http.trailing_data[0]
                http.start_next_cycle()

    async def _read_head(
        self, connection: Connection, http: h11.Connection, raw: bytes
    ) -> tuple[h11.Request | None, bytes]:
        """The next request and all bytes from its first one on; `None` at the end of the connection."""
        await trio.lowlevel.checkpoint()  # who sends many requests at once must not have the loop for himself
        with trio.move_on_after(HEAD_SECONDS) as scope:
            self._waiting[connection] = scope
            try:
                while True:
                    event = http.next_event()
                    if isinstance(event, h11.Request):
                        return event, raw
                    if event is not h11.NEED_DATA:
                        return None, raw
                    data = await connection.read()
                    if not data and not raw:
                        return None, raw
                    raw += data
                    http.receive_data(data)
            finally:
                self._waiting.pop(connection, None)
        if connection.gone:
            return None, raw  # it has made room
        raise trio.TooSlowError

    async def _exchange(self, connection: Connection, http: h11.Connection, request: h11.Request, port: int) -> bool:
        """One request to the application. True when the connection can be used again."""
        headers = _headers(request)
        token = _token(request)
        denied = self.access.check(headers, connection.peer, token)
        exchange = Exchange(
            connection,
            http,
            request,
            port,
            origin=_origin(headers) if denied is None else None,
            extra={OPERATING: self.access.check(headers, connection.peer, token, Role.OPERATE)},
        )
        if denied in _FOR_EVERYBODY and bytes(request.target).startswith(_ASSETS):
            denied = None  # a page cannot pass its token on to them, and pages from elsewhere may import the client
        app = self._app if denied is None else with_headers(problem(denied.status, denied.reason, denied.headers))
        try:
            await exchange.run(app)
        except (BrokenOffError, OSError) as error:  # of a file: those of the connection are its own
            path = bytes(request.target).partition(b"?")[0].decode("ascii", "replace")
            self._log.warning("answer broken off", path=path, what=str(error))
            return False
        finally:
            self._on_request(exchange.status)
        while http.their_state is h11.SEND_BODY:  # a body that nobody wanted
            if http.next_event() is h11.NEED_DATA:
                return False
        return http.our_state is h11.DONE and http.their_state is h11.DONE and not connection.gone

    async def _refuse(
        self,
        connection: Connection,
        http: h11.Connection,
        status: int,
        detail: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """The answer to what does not reach the application; the last on its connection."""
        if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        self._on_request(status)
        answer = problem(status, detail or HTTPStatus(status).phrase, headers)
        fields = [*answer.raw_headers, *SECURITY_HEADERS, (b"connection", b"close"), (b"server", b"slpstream")]
        parts = (h11.Response(status_code=status, headers=fields), h11.Data(bytes(answer.body)), h11.EndOfMessage())
        data = b"".join(http.send(part) or b"" for part in parts)
        with trio.move_on_after(1):
            await connection.write_all(data)

    # -- websocket -----------------------------------------------------------------------------------------------------

    async def _websocket(self, connection: Connection, http: h11.Connection, request: h11.Request, raw: bytes) -> None:
        denied = self.access.check(_headers(request), connection.peer, _token(request))
        path, _, query = bytes(request.target).partition(b"?")
        if denied in (Denied.HOST, Denied.ORIGIN):
            await self._refuse(connection, http, denied.status, denied.reason, denied.headers)
            return
        if path != STREAM_PATH:
            await self._refuse(connection, http, HTTPStatus.NOT_FOUND)
            return
        if self._stopping:
            await self._refuse(connection, http, HTTPStatus.SERVICE_UNAVAILABLE, "going down")
            return
        connection.limit_send_buffer(self._socket_buffer_bytes)
        session = WebsocketSession(
            connection,
            self._hub,
            version=self._version,
            outbox_bytes=self._outbox_bytes,
            on_lagged=self._on_lagged,
            on_closed=self._on_closed,
            on_dropped=self._on_dropped,
        )
        rest = http.trailing_data[0]
        status = session.handshake(raw[: len(raw) - len(rest)])
        if status is not HTTPStatus.SWITCHING_PROTOCOLS:
            session.let_go()
            headers = {"upgrade": "websocket", "sec-websocket-version": VERSION}
            await self._refuse(connection, http, status, "not the handshake of a websocket", headers)
            return
        first: Subscription | None = None
        refusal: SubscriberError | None = NotAuthorised(denied.reason) if denied is not None else None
        if refusal is None:
            try:
                first = parse_query(parse_qsl(query.decode("utf-8", "replace"), max_num_fields=MAX_QUERY_FIELDS))
            except ProtocolViolation as error:
                refusal = error
            except ValueError as error:
                refusal = ProtocolViolation(str(error))
        with self._open(session):
            await session.run(first, refusal, rest)

    @contextmanager
    def _open(self, session: WebsocketSession | EventsSession) -> Iterator[None]:
        self._sessions.add(session)
        try:
            yield
        finally:
            self._sessions.discard(session)
            if not self._sessions:
                self._all_left.set()

    # -- server-sent events --------------------------------------------------------------------------------------------

    async def _events(self, connection: Connection, http: h11.Connection, request: h11.Request) -> None:
        headers = _headers(request)
        denied = self.access.check(headers, connection.peer, _token(request))
        if denied is not None:
            await self._refuse(connection, http, denied.status, denied.reason, denied.headers)
            return
        if self._stopping:
            await self._refuse(connection, http, HTTPStatus.SERVICE_UNAVAILABLE, "going down")
            return
        query = bytes(request.target).partition(b"?")[2].decode("utf-8", "replace")
        try:
            subscription = parse_events_query(query, headers, max_fields=MAX_QUERY_FIELDS)
            channels = await find_channels(self._hub, subscription)
        except SubscriberError as error:
            await self._refuse(connection, http, status_of(error), error.what)
            return
        connection.limit_send_buffer(self._socket_buffer_bytes)
        origin = _origin(headers)
        session = EventsSession(
            connection,
            self._hub,
            headers=SECURITY_HEADERS if origin is None else for_origin(SECURITY_HEADERS, origin),
            outbox_bytes=self._outbox_bytes,
            on_lagged=self._on_lagged,
            on_dropped=self._on_dropped,
        )
        self._on_request(HTTPStatus.OK)
        with self._open(session):
            await session.run(subscription, channels)


def _headers(request: h11.Request) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.headers}


def _origin(headers: Mapping[str, str]) -> bytes | None:
    """Of a page that may read the answer, when the request comes from one; whether it may come in was checked."""
    return headers["origin"].encode("latin-1") if "origin" in headers else None


def _is_upgrade(request: h11.Request) -> bool:
    headers = _headers(request)
    return "websocket" in headers.get("upgrade", "").lower() and request.method == b"GET"


def _token(request: h11.Request) -> str | None:
    _, _, query = bytes(request.target).partition(b"?")
    try:
        return dict(parse_qsl(query.decode("latin-1"), max_num_fields=MAX_QUERY_FIELDS)).get("token")
    except ValueError:
        return None
