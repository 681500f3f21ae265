"""One port for everything.

h11 parses the request. If it asks for a websocket, a session handles it, and otherwise the HTTP application does.

The server owns its connections. Each of them is a task in its nursery. At the shutdown, it closes the listening
sockets, closes every websocket with code 1001, waits for the sessions up to a deadline, and then cancels those that are
left.
"""

from __future__ import annotations

import errno
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import h11
import trio
from starlette.responses import Response

from slpstream.model.errors import NotAuthorised, ProtocolViolation, SubscriberError
from slpstream.stream.channel import Hub
from slpstream.stream.subscription import Subscription, parse_query
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger
from slpstream.web.access import Access, Denied, Role, is_loopback
from slpstream.web.app import SECURITY_HEADERS, internal_error, make_app, problem, with_headers
from slpstream.web.asgi import RequestResponseCycle, for_origin
from slpstream.web.connection import Connection
from slpstream.web.departures import Departures
from slpstream.web.endpoint import OPERATING, Endpoint
from slpstream.web.events import PATH as EVENTS_PATH
from slpstream.web.events import EventsSession, check_subscription, parse_events_query, status_of
from slpstream.web.file_response import FileChangedError
from slpstream.web.games import Games
from slpstream.web.observer import Observer
from slpstream.web.problem_pages import with_problem_pages
from slpstream.web.site import Site, is_asset
from slpstream.web.stations import Stations
from slpstream.web.websocket import GOING_DOWN, VERSION, WebsocketSession

STREAM_PATH = b"/v1/stream"
MAX_QUERY_FIELDS = 32
_NO_TOKEN = (Denied.TOKEN, Denied.WRONG_TOKEN)
_SAFE_METHODS = (b"GET", b"HEAD")
_BODY_HEADERS = frozenset((b"content-length", b"transfer-encoding"))
HEAD_SECONDS = 10.0
HEAD_BYTES = 16 * 1024
_FULL_SECONDS = 0.002
"""How long we pause after accepting a connection while all of them are in use. This way, those that already exist are
served first."""
_OUT_OF_DESCRIPTORS_SECONDS = 0.25
_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_GOING_DOWN = "going down"
_OWN_BUGS = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)
_EXPECTED = (FileChangedError, OSError, h11.RemoteProtocolError, trio.TooSlowError)
"""Errors that come from files or from the other end. Requests handle them on their own."""


def listen(host: str, port: int) -> list[socket.socket]:
    """Open listening sockets for a host and a port, one for each address family that is available.

    With port 0, this chooses one free port for all of them. Raises `OSError` if it fails.
    """
    sockets: list[socket.socket] = []
    failure: OSError | None = None
    for family, kind, proto, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    ):
        try:
            listener = socket.socket(family, kind, proto)
        except OSError as error:
            failure = error  # the resolver knows an address family that the kernel lacks
            continue
        try:
            if sys.platform != "win32":  # there it would let two programs listen on one port
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


class Limits(NamedTuple):
    """The limits for new connections."""

    max_connections: int
    outbox_bytes: int
    """How many bytes may be waiting for one slow subscriber."""
    socket_buffer_bytes: int
    """The size of the operating system's send buffer for one subscriber."""


class WebServer:
    """Serves HTTP and websockets on some listening sockets."""

    def __init__(
        self,
        hub: Hub,
        stations: Stations,
        games: Games,
        *,
        access: Access,
        limits: Limits,
        observer: Observer,
        errors: InternalErrors | None = None,
        site: Site,
        more: Sequence[Endpoint] = (),
    ) -> None:
        self._hub = hub
        self._errors = errors or InternalErrors()
        self._app = _finished(make_app(hub, stations, games, site, more))
        self._site = site
        self._access = access
        self._limits = limits
        self._observer = observer
        self._connections: Counter[str] = Counter()
        """The number of open connections, by the address of the other end."""
        self._waiting: dict[Connection, trio.CancelScope] = {}
        """The connections that are waiting for a request, oldest first."""
        self._departures = Departures()
        self._stopping = False
        self._sessions: set[WebsocketSession | EventsSession] = set()
        self._sessions_ended = trio.Event()
        self._log = get_logger()

    @property
    def queued_bytes(self) -> int:
        """The number of bytes that are waiting for all clients. You can read this from any thread."""
        return sum(session.queued_bytes for session in list(self._sessions))

    @property
    def connections(self) -> int:
        """The number of open connections of all kinds. You can read this from any thread."""
        return sum(list(self._connections.values()))

    @property
    def websockets(self) -> int:
        """The number of open websockets. You can read this from any thread."""
        return sum(isinstance(session, WebsocketSession) for session in list(self._sessions))

    @property
    def obs_websockets(self) -> int:
        """The number of open websockets of browser sources in OBS. You can read this from any thread."""
        return sum(isinstance(session, WebsocketSession) and session.is_obs for session in list(self._sessions))

    @property
    def event_streams(self) -> int:
        """The number of open streams of server-sent events. You can read this from any thread."""
        return sum(isinstance(session, EventsSession) for session in list(self._sessions))

    def configure(self, access: Access, limits: Limits) -> None:
        """Change the rules and limits for new connections."""
        self._access = access
        self._limits = limits

    async def serve(self, listeners: list[socket.socket], stop: trio.Event, *, grace_seconds: float) -> None:
        """Serve until `stop`, and then close every websocket with code 1001 within `grace_seconds`."""
        async with self._departures.running(), trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                for listener in listeners:
                    accepting.start_soon(self._accept, listener, connections)
                await stop.wait()
                accepting.cancel_scope.cancel()
            for listener in listeners:
                listener.close()
            self._stopping = True
            self._sessions_ended = trio.Event()
            for session in list(self._sessions):
                session.close(GOING_DOWN, _GOING_DOWN)
            if self._sessions:
                with trio.move_on_after(grace_seconds):
                    await self._sessions_ended.wait()
            connections.cancel_scope.cancel()

    async def _accept(self, listener: socket.socket, connections: trio.Nursery) -> None:
        while True:
            await trio.lowlevel.wait_readable(listener)
            try:
                sock, address = listener.accept()
            except OSError as error:
                if error.errno in _OWN_BUGS:
                    raise
                if error.errno in _OUT_OF_DESCRIPTORS:
                    self._log.error("cannot accept connections", what=error.strerror)
                    await trio.sleep(_OUT_OF_DESCRIPTORS_SECONDS)
                continue  # any other error means that the connection has already ended
            peer = str(address[0])
            if not self._has_room(peer):
                self._observer.on_dropped("limit")
                sock.close()
                continue
            self._connections[peer] += 1
            connections.start_soon(self._handle, Connection(sock, peer), listener.getsockname()[1])
            if self._connections.total() >= self._limits.max_connections:
                await trio.sleep(_FULL_SECONDS)

    def _has_room(self, peer: str) -> bool:
        """Whether we can accept another connection from the given address.

        If all of them are in use, the one that has waited longest for a request is dropped. A single address gets half
        of all connections at most. This doesn't hold for loopback, which can be a proxy.
        """
        if 2 * self._connections[peer] >= self._limits.max_connections and not is_loopback(peer):
            return False
        if self._connections.total() < self._limits.max_connections:
            return True
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        self._observer.on_dropped("room")
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
        """Handle one request after another, until the connection can't be used again."""
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        while True:
            try:
                request = await self._read_head(connection, http)
                if request is None:
                    return
                with self._errors.contain("request", expected=_EXPECTED, path=_path(request)) as contained:
                    if not await self._answer(connection, http, request, port):
                        return
                if contained.error_id is not None:
                    await self._fail(connection, http, request, contained.error_id)
                    return
            except h11.RemoteProtocolError as error:
                await self._refuse(connection, http, error.error_status_hint)
                return
            except trio.TooSlowError:
                idle = http.our_state is h11.IDLE
                if not idle or http.trailing_data[0]:
                    self._observer.on_dropped("head" if idle else "request")
                if idle and http.trailing_data[0]:
                    await self._refuse(connection, http, HTTPStatus.REQUEST_TIMEOUT)
                return
            http.start_next_cycle()

    async def _answer(self, connection: Connection, http: h11.Connection, request: h11.Request, port: int) -> bool:
        """Handle one request. Returns whether the connection can be used again."""
        if _is_upgrade(request):
            await self._websocket(connection, http, request)
            return False
        if request.method == b"GET" and request.target.partition(b"?")[0] == EVENTS_PATH:
            await self._events(connection, http, request)
            return False
        return await self._respond(connection, http, request, port)

    async def _fail(self, connection: Connection, http: h11.Connection, request: h11.Request, error_id: str) -> None:
        """Respond to a request that a bug has ended outside of the application, unless the response has begun."""
        if http.our_state is h11.SEND_RESPONSE:
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            self._observer.on_request(status)
            await self._send_problem(connection, http, internal_error(error_id), with_body=request.method != b"HEAD")

    async def _read_head(self, connection: Connection, http: h11.Connection) -> h11.Request | None:
        """Return the next request, or `None` at the end of the connection.

        Raises `trio.TooSlowError` if it takes too long.
        """
        await trio.lowlevel.checkpoint()  # a client that sends many requests in a burst must not starve the others
        with trio.move_on_after(HEAD_SECONDS) as scope:
            self._waiting[connection] = scope
            try:
                while True:
                    event = http.next_event()
                    if isinstance(event, h11.Request):
                        return event
                    if event is not h11.NEED_DATA:
                        return None
                    http.receive_data(await connection.read())
            finally:
                self._waiting.pop(connection, None)
        if connection.gone:
            return None  # dropped to make room for another connection
        raise trio.TooSlowError

    async def _respond(self, connection: Connection, http: h11.Connection, request: h11.Request, port: int) -> bool:
        """Let the application respond to a request. Returns whether the connection can be used again."""
        headers = _headers(request)
        token = _token(request)
        path = _path(request)
        role = Role.CLAIM if self._site.takes_claims(path) else Role.READ
        denied = self._access.check(headers, connection.peer, token, role)
        cycle = RequestResponseCycle(
            connection,
            http,
            request,
            port,
            origin=_origin(headers) if denied is None else None,
            extra={OPERATING: self._access.check(headers, connection.peer, token, Role.OPERATE)},
        )
        if denied in (*_NO_TOKEN, Denied.ORIGIN) and is_asset(path):
            denied = None
        if denied in _NO_TOKEN and self._site.is_page(path):
            denied = None
        app = self._app if denied is None else _finished(problem(denied.status, denied.reason, denied.headers))
        try:
            with self._errors.contain("request", expected=_EXPECTED, path=_path(request)) as contained:
                async with self._watched(connection, http, request):
                    await cycle.run(app)
            if contained.error_id is not None:
                if http.our_state is not h11.SEND_RESPONSE:
                    return False  # the response has begun, so the client can only notice that it breaks off
                await cycle.run(_finished(internal_error(contained.error_id)))
        except (FileChangedError, OSError) as error:  # from a file; `Connection` handles errors of its socket
            if not connection.gone:
                self._log.warning("response broken off", path=_path(request), what=str(error))
            return False
        finally:
            if not connection.gone or http.our_state is not h11.SEND_RESPONSE:
                self._observer.on_request(cycle.status)
        while http.their_state is h11.SEND_BODY:  # the application did not read the body
            if http.next_event() is h11.NEED_DATA:
                return False
        return http.our_state is h11.DONE and http.their_state is h11.DONE and not connection.gone

    def _watched(
        self, connection: Connection, http: h11.Connection, request: h11.Request
    ) -> AbstractAsyncContextManager[None]:
        """Return a block that is cancelled if the client leaves before it has a response.

        Requests that can change something are finished in any case.
        """
        is_safe = request.method in _SAFE_METHODS and not {name for name, _ in request.headers} & _BODY_HEADERS
        return self._departures.watched(connection, http) if is_safe else nullcontext()

    async def _refuse(
        self,
        connection: Connection,
        http: h11.Connection,
        status: int,
        detail: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Respond with a problem instead of calling the application, and end the connection."""
        if http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        self._observer.on_request(status)
        await self._send_problem(connection, http, problem(status, detail or HTTPStatus(status).phrase, headers))

    async def _send_problem(
        self, connection: Connection, http: h11.Connection, response: Response, *, with_body: bool = True
    ) -> None:
        """Send a response that the application hasn't made. It is the last one on its connection."""
        fields = [*response.raw_headers, *SECURITY_HEADERS, (b"connection", b"close"), (b"server", b"slpstream")]
        body = (h11.Data(bytes(response.body)),) if with_body else ()
        parts = (h11.Response(status_code=response.status_code, headers=fields), *body, h11.EndOfMessage())
        data = b"".join(http.send(part) or b"" for part in parts)
        with trio.move_on_after(1):
            await connection.write_all(data)

    async def _websocket(self, connection: Connection, http: h11.Connection, request: h11.Request) -> None:
        """Handle a request for a websocket.

        If the token is missing, we report this with a close code after the handshake, because browsers don't let a page
        see the status of a handshake that has failed.
        """
        denied = self._access.check(_headers(request), connection.peer, _token(request))
        path, _, query = bytes(request.target).partition(b"?")
        if denied in (Denied.HOST, Denied.ORIGIN):
            await self._refuse(connection, http, denied.status, denied.reason, denied.headers)
            return
        if path != STREAM_PATH:
            await self._refuse(connection, http, HTTPStatus.NOT_FOUND)
            return
        if self._stopping:
            await self._refuse(connection, http, HTTPStatus.SERVICE_UNAVAILABLE, _GOING_DOWN)
            return
        connection.limit_send_buffer(self._limits.socket_buffer_bytes)
        session = WebsocketSession(
            connection,
            self._hub,
            outbox_bytes=self._limits.outbox_bytes,
            observer=self._observer,
            errors=self._errors,
        )
        status = session.handshake(request)
        if status is not HTTPStatus.SWITCHING_PROTOCOLS:
            session.release()
            headers = {"upgrade": "websocket", "sec-websocket-version": VERSION}
            await self._refuse(connection, http, status, "not a valid websocket handshake", headers)
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
        with self._open(session), self._errors.contain("stream", path=_path(request)):
            await session.run(first, refusal, http.trailing_data[0])

    @contextmanager
    def _open(self, session: WebsocketSession | EventsSession) -> Iterator[None]:
        """Register a session while it is running."""
        self._sessions.add(session)
        try:
            yield
        finally:
            self._sessions.discard(session)
            if not self._sessions:
                self._sessions_ended.set()

    async def _events(self, connection: Connection, http: h11.Connection, request: h11.Request) -> None:
        """Respond with a stream of server-sent events."""
        headers = _headers(request)
        denied = self._access.check(headers, connection.peer, _token(request))
        if denied is not None:
            await self._refuse(connection, http, denied.status, denied.reason, denied.headers)
            return
        if self._stopping:
            await self._refuse(connection, http, HTTPStatus.SERVICE_UNAVAILABLE, _GOING_DOWN)
            return
        query = bytes(request.target).partition(b"?")[2].decode("utf-8", "replace")
        try:
            subscription = parse_events_query(query, headers, max_fields=MAX_QUERY_FIELDS)
            async with self._watched(connection, http, request):
                await check_subscription(self._hub, subscription)
        except SubscriberError as error:
            await self._refuse(connection, http, status_of(error), error.what)
            return
        if connection.gone:
            return
        connection.limit_send_buffer(self._limits.socket_buffer_bytes)
        origin = _origin(headers)
        session = EventsSession(
            connection,
            self._hub,
            headers=SECURITY_HEADERS if origin is None else for_origin(SECURITY_HEADERS, origin),
            outbox_bytes=self._limits.outbox_bytes,
            observer=self._observer,
            errors=self._errors,
        )
        self._observer.on_request(HTTPStatus.OK)
        with self._open(session), self._errors.contain("stream", path=_path(request)):
            await session.run(subscription)


def _finished(app: Any) -> Callable[..., Awaitable[None]]:
    """Wrap the application so that its responses have the security headers, and people see pages for problems."""
    return with_headers(with_problem_pages(app))


def _headers(request: h11.Request) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in request.headers}


def _origin(headers: Mapping[str, str]) -> bytes | None:
    """Return the origin of the web page that has sent an admitted request, or `None` if no page has sent it."""
    return headers["origin"].encode("latin-1") if "origin" in headers else None


def _path(request: h11.Request) -> str:
    """Return the path of a request, without its query, which can contain a token."""
    return bytes(request.target).partition(b"?")[0].decode("ascii", "replace")


def _is_upgrade(request: h11.Request) -> bool:
    headers = _headers(request)
    return "websocket" in headers.get("upgrade", "").lower() and request.method == b"GET"


def _token(request: h11.Request) -> str | None:
    _, _, query = bytes(request.target).partition(b"?")
    try:
        return dict(parse_qsl(query.decode("latin-1"), max_num_fields=MAX_QUERY_FIELDS)).get("token")
    except ValueError:
        return None
