"""Serves a station to many spectators over ENet, in the same way as Dolphin does.

For each client, there is a task that reads from the history at its own pace. It pauses when its connection has enough
to send. This means that a slow client doesn't delay the others, and never holds more than a limited part of a game in
memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from socket import AF_INET, SOCK_DGRAM
from typing import Any, Protocol

import trio

from slpstream.parts.consoles.spectators import messages
from slpstream.parts.consoles.spectators.enet import (
    MAX_DATAGRAM_BYTES,
    MAX_QUEUED_BYTES,
    Address,
    Connected,
    Disconnected,
    Drained,
    EnetServer,
    Event,
    Peer,
    Received,
)
from slpstream.parts.consoles.spectators.history import SpectatorHistory
from slpstream.system.logs import LogLimit, get_logger

REQUEST_SECONDS = 5.0
"""How long we wait for the request of a client."""
_ERROR_SECONDS = 0.01
_FAREWELL_SECONDS = 0.5
_MAX_LINES, _LINES_SECONDS = 20, 60.0


class UdpSocket(Protocol):
    """Those methods of trio's sockets that a server needs."""

    def recvfrom(self, _max_bytes: int, /) -> Awaitable[tuple[bytes, Any]]:
        """Receive a datagram, together with the address of its sender. Raises `OSError`."""

    def sendto(self, data: bytes, address: Address, /) -> Awaitable[int]:
        """Send a datagram. Raises `OSError`."""


async def open_socket(host: str, port: int) -> trio.socket.SocketType:
    """Open the UDP socket of a server.

    If `host` has an IPv4 address, we use this one, because ENet doesn't support others. If `host` is `::` or empty,
    this means all addresses. Raises `OSError` if it is not possible to open the socket.
    """
    found = await trio.socket.getaddrinfo("0.0.0.0" if host in ("", "::") else host, port, type=SOCK_DGRAM)
    family, kind, protocol, _, address = min(found, key=lambda entry: entry[0] != AF_INET)
    socket = trio.socket.socket(family, kind, protocol)
    try:
        await socket.bind(address)
    except OSError:
        socket.close()
        raise
    return socket


class _Client:
    """A client, together with the events for which its task waits."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.scope = trio.CancelScope()
        self.cursor: int | None = None
        self.asked = trio.Event()
        self.drained = trio.Event()


class SpectatorServer:
    """The spectators of one station. You should call `run` once, with a socket."""

    def __init__(
        self,
        history: SpectatorHistory,
        nick: str,
        max_clients: int,
        *,
        contain: Callable[[], AbstractContextManager[object]] = nullcontext,
        count_resent: Callable[[int], object] = lambda _packets: None,
    ) -> None:
        """`nick` is sent to clients as the name of Dolphin. `contain` makes sure that an exception doesn't end other
        clients.

        `count_resent` is called with the number of packets that had to be sent again.
        """
        self._history = history
        self._nick = nick
        self._contain = contain
        self._count_resent = count_resent
        self._enet = EnetServer(max_clients)
        self._refused = self._resent = 0
        self._clients: dict[Peer, _Client] = {}
        self._wake = trio.Event()
        self._log = get_logger()
        self._limit = LogLimit(_MAX_LINES, _LINES_SECONDS, trio.current_time)

    @property
    def clients(self) -> int:
        """The number of connections."""
        return len(self._enet.peers)

    async def run(self, socket: UdpSocket) -> None:
        """Serve on a socket until cancelled."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._receive, socket, nursery)
                nursery.start_soon(self._send, socket, nursery)
        finally:
            for peer in self._enet.peers:
                self._enet.disconnect(peer)
            with trio.move_on_after(_FAREWELL_SECONDS, shield=True), suppress(OSError):
                for data, address in self._enet.poll(trio.current_time())[0]:
                    await socket.sendto(data, address)

    async def _receive(self, socket: UdpSocket, nursery: trio.Nursery) -> None:
        while True:
            try:
                datagram, address = await socket.recvfrom(MAX_DATAGRAM_BYTES + 1)
            except OSError:
                # An ICMP error caused by an earlier datagram, or on Windows a datagram that is too long. The socket
                # still works. Without a pause, a persistent error would use the whole processor.
                await trio.sleep(_ERROR_SECONDS)
                continue
            self._obey(self._enet.receive(datagram, address, trio.current_time()), nursery)
            if self._enet.refused > self._refused:
                self._refused = self._enet.refused
                self._report("relay client refused", clients=self.clients)
            self._wake.set()

    async def _send(self, socket: UdpSocket, nursery: trio.Nursery) -> None:
        while True:
            self._wake = trio.Event()
            datagrams, events = self._enet.poll(trio.current_time())
            self._obey(events, nursery)
            if self._enet.resent_packets > self._resent:
                self._count_resent(self._enet.resent_packets - self._resent)
                self._resent = self._enet.resent_packets
            for data, address in datagrams:
                with suppress(OSError):  # as if the network had lost it
                    await socket.sendto(data, address)
            deadline = self._enet.deadline()
            with trio.CancelScope() as scope:
                if deadline is not None:
                    scope.deadline = deadline
                await self._wake.wait()

    def _obey(self, events: list[Event], nursery: trio.Nursery) -> None:
        for event in events:
            if isinstance(event, Connected):
                client = self._clients[event.peer] = _Client(event.peer)
                nursery.start_soon(self._serve, client)
                continue
            known = self._clients.get(event.peer)
            if known is None:
                continue
            if isinstance(event, Received):
                cursor = messages.read_request(event.data)
                if cursor is not None and known.cursor is None:
                    known.cursor = cursor
                    known.asked.set()
            elif isinstance(event, Drained):
                known.drained.set()
            elif isinstance(event, Disconnected):
                self._report("relay client gone", what=event.reason)
                known.scope.cancel()

    def _report(self, event: str, **values: object) -> None:
        suppressed = self._limit.admit(event)
        if suppressed is not None:
            (self._log.warning if event.endswith("refused") else self._log.debug)(event, **values, **suppressed)

    async def _serve(self, client: _Client) -> None:
        """Serve a client until it leaves."""
        try:
            with self._contain(), client.scope:
                with trio.move_on_after(REQUEST_SECONDS):
                    await client.asked.wait()
                if client.cursor is None:
                    self._report("relay client refused", what="no request", clients=self.clients)
                else:
                    await self._send_messages(client, client.cursor)
        finally:
            del self._clients[client.peer]
            self._enet.disconnect(client.peer)
            self._wake.set()

    async def _send_messages(self, client: _Client, asked: int) -> None:
        history, peer = self._history, client.peer
        cursor = asked if history.has(asked) else history.start_cursor
        peer.send(messages.connect_reply(self._nick, cursor))
        while True:
            self._wake.set()
            while peer.queued_bytes >= MAX_QUEUED_BYTES:
                client.drained = trio.Event()
                await client.drained.wait()
            for message in (read := await history.read(cursor))[0]:
                peer.send(message)
            cursor = read[1]
            await trio.lowlevel.checkpoint()
