"""The relay ports, which serve stations to other programs.

They do this as a console, as bare events, or in the way of Dolphin for its spectators.

The tasks of a station's ports run in its nursery, and end with it. If another program has a port, we try again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import structlog
import trio

from slpstream.config import StationConfig
from slpstream.daemon.stations import RunningStation
from slpstream.parts.consoles.feed import RelayFeed, read_file
from slpstream.parts.consoles.part import NetworkKeys, Relay
from slpstream.parts.consoles.server import RelayServer
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics

if TYPE_CHECKING:
    from slpstream.daemon.station.station import Station

RESENT_PACKETS = "slpstream_relay_resent_packets_total"
T = TypeVar("T")
_READER_THREADS = 4
_RETRY_SECONDS = 5.0


class Relays:
    """The relay ports of a daemon."""

    def __init__(self, relay: Relay, metrics: Metrics, errors: InternalErrors) -> None:
        self._relay = relay
        self._metrics = metrics
        self._errors = errors
        self._servers: dict[str, RelayServer] = {}
        """The servers of TCP ports, by station."""
        self._clients: dict[str, list[Callable[[], int]]] = {}
        """Functions that count the clients of servers, by station."""
        self._readers = trio.CapacityLimiter(_READER_THREADS)
        self._log = get_logger()

    def clients_by_station(self) -> dict[str, int]:
        """Return the number of clients of each relayed station."""
        return {name: sum(count() for count in counts) for name, counts in list(self._clients.items())}

    def clients(self, station: str) -> int | None:
        """Return the number of clients of a station's TCP ports, or `None` if it doesn't have such a port."""
        server = self._servers.get(station)
        return None if server is None else server.clients

    def start(self, running: RunningStation) -> None:
        """Start the relay ports of a station in its nursery. This must happen before the station runs."""
        config, station = running.config, running.station
        keys = config.keys(NetworkKeys)
        serving = [self._serve] if keys.relay_port or keys.raw_relay_port else []
        if keys.relay_enet_port:
            serving.append(self._serve_spectators)
        if not serving:
            return
        feed = RelayFeed(partial(read_file, limiter=self._readers, unwritten=lambda: station.files.read_unwritten))
        station.files.on_bytes = lambda followed, offset, data: feed.grew(followed, followed.file, offset, data)
        for serve in serving:
            relay = partial(serve, config, station, feed)
            running.nursery.start_soon(partial(self._errors.keep_running, "relay", relay, station=config.id))

    async def _serve(self, config: StationConfig, station: Station, feed: RelayFeed) -> None:
        """Serve the TCP relay ports of a station until cancelled."""
        structlog.contextvars.bind_contextvars(station=station.id)
        server = self._servers[config.id] = RelayServer(feed, station.name, self._relay.max_clients)
        keys = config.keys(NetworkKeys)
        ports = (keys.relay_port, server.serve), (keys.raw_relay_port, server.serve_raw)
        try:
            with self._counted(config.id, lambda: server.clients):
                async with trio.open_nursery() as nursery:
                    for port, handler in ports:
                        if port:
                            nursery.start_soon(self._listen, port, handler)
        finally:
            if self._servers.get(config.id) is server:
                del self._servers[config.id]

    async def _listen(self, port: int, handler: Callable[[trio.SocketStream], Awaitable[object]]) -> None:
        """Serve one TCP port."""
        listeners = await self._opened(port, partial(trio.open_tcp_listeners, port, host=self._relay.host))

        async def serve(stream: trio.SocketStream) -> None:
            with self._errors.contain("relay"):  # one client does not end the others
                await handler(stream)

        await trio.serve_listeners(serve, listeners)

    async def _serve_spectators(self, config: StationConfig, station: Station, feed: RelayFeed) -> None:
        """Serve the `relay_enet_port` of a station until cancelled."""
        from slpstream.parts.consoles.spectators import history, server  # noqa: PLC0415 -- few stations have this port

        structlog.contextvars.bind_contextvars(station=station.id)
        messages = history.SpectatorHistory(feed)
        spectators = server.SpectatorServer(
            messages,
            station.name,
            self._relay.max_clients,
            contain=partial(self._errors.contain, "relay"),
            count_resent=self._metrics.counter(RESENT_PACKETS, station.id).inc,
        )
        port = config.keys(NetworkKeys).relay_enet_port
        with self._counted(station.id, lambda: spectators.clients):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(messages.run)
                opening = partial(server.open_socket, self._relay.host, port)
                with await self._opened(port, opening, protocol="ENet") as socket:
                    await spectators.run(socket)

    async def _opened(self, port: int, opening: Callable[[], Awaitable[T]], **about: str) -> T:
        """Open a port. As long as another program has it, we try again."""
        reported = ""
        while True:
            try:
                opened = await opening()
            except OSError as error:
                if str(error) != reported:
                    reported = str(error)
                    self._log.error("cannot listen on relay port", port=port, host=self._relay.host, what=reported)
                await trio.sleep(_RETRY_SECONDS)
            else:
                self._log.info("relay listening", port=port, host=self._relay.host, **about)
                return opened

    @contextmanager
    def _counted(self, station: str, clients: Callable[[], int]) -> Iterator[None]:
        """Include the clients of a station's server in the gauge while the context is open."""
        self._clients[station] = [*self._clients.get(station, ()), clients]
        try:
            yield
        finally:
            left = [count for count in self._clients[station] if count is not clients]
            if left:
                self._clients[station] = left
            else:
                del self._clients[station]
