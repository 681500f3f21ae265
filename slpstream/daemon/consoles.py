"""The recording of a station's console, and the relay ports that serve the station to other programs.

These tasks run in the station's nursery and end with it. A relay port that another program has is tried again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

import structlog
import trio

from slpstream.config import Recordings, Relay, StationConfig, address, station_folder
from slpstream.daemon.console_discovery import ConsoleDiscovery, Registry
from slpstream.daemon.stations import RunningStation
from slpstream.model.errors import ConfigError
from slpstream.parts.services import DolphinSpectators, Source
from slpstream.sources.console import wire
from slpstream.sources.console.console import ConsoleSource
from slpstream.sources.console.feed import RelayFeed, read_file
from slpstream.sources.console.io_batching import IoBatcher
from slpstream.sources.console.recorder import Recorder
from slpstream.sources.console.server import RelayServer
from slpstream.sources.console.turns import Turns
from slpstream.system.internal_errors import InternalErrors
from slpstream.system.logs import LogLimit, get_logger
from slpstream.system.metrics import Metrics, StationMetrics

if TYPE_CHECKING:
    from slpstream.daemon.station.station import Station

_READER_THREADS = 4
_RETRY_SECONDS = 5.0
_PLAYED_ON_CONSOLE, _PLAYED_ON_DOLPHIN = "nintendont", "dolphin"
_MAX_LINES, _LINES_SECONDS = 20, 60.0
"""A source can break its connection, or lose bytes, thousands of times a second. This many events of each kind are
logged."""


def check_sources(stations: Sequence[StationConfig], spectators: DolphinSpectators | None) -> None:
    """Raise `ConfigError` for a station that needs something that is not installed."""
    for i, station in enumerate(stations):
        if station.dolphin and not (spectators is not None and spectators.is_available()):
            raise ConfigError(
                "configuration", f"stations[{i}].dolphin", "needs ENet: install the extra, `slpstream[dolphin]`"
            )
        if station.relay_enet_port and spectators is None:
            raise ConfigError("configuration", f"stations[{i}].relay_enet_port", "this installation cannot serve it")


class SourceReporter:
    """Reports the events of a source and its recorder to the station, the metrics and the log."""

    def __init__(self, station: Station, metrics: StationMetrics, kind: str) -> None:
        """`kind` names the source for people: `console` or `Dolphin`."""
        self._station = station
        self._metrics = metrics
        self._kind = kind
        self.answered = False
        """Whether the source has ever answered."""
        self._log = get_logger()
        self._limit = LogLimit(_MAX_LINES, _LINES_SECONDS, trio.current_time)
        station.set_reachable(f"connecting to the {kind}")

    def connected(self, nick: str, version: str) -> None:
        """The source answered."""
        if self.answered:
            self._metrics.reconnects.inc()
        self.answered = True
        suppressed = self._limit.admit("source connected")
        if suppressed is not None:
            self._log.info("source connected", source=self._kind, nick=nick, version=version, **suppressed)
        self._station.set_reachable(None)

    def disconnected(self, what: str) -> None:
        """The connection broke. The station shows it only if reconnecting fails (`unreachable`)."""
        suppressed = self._limit.admit("source disconnected")
        if suppressed is not None:
            self._log.info("source disconnected", source=self._kind, what=what, **suppressed)

    def unreachable(self, what: str) -> None:
        """The source did not answer; it is tried again."""
        self._log.debug("source unreachable", source=self._kind, what=what)
        self._station.set_reachable(f"{self._kind} cannot be reached: {what}")

    def received(self, size_bytes: int) -> None:
        """Count received bytes of events."""
        self._metrics.received_bytes.inc(size_bytes)

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Pass bytes to the station that are not on disk yet, see `Station.feed_unwritten`."""
        return self._station.feed_unwritten(path, offset, data)

    def recording_trouble(self, what: str | None) -> None:
        """The disk cannot be written to, for the reason `what`; with `None`, it can again."""
        if what is None:
            self._log.info("recording resumed")
        else:
            self._log.error("recording suspended, streaming continues", what=what)
        self._station.set_remark(None if what is None else f"not recorded: {what}")

    def gap(self, path: Path | None, offset: int, what: str) -> None:
        """Bytes of a game are missing or unusable. Beyond a limit, gaps are only counted."""
        self._metrics.gaps.inc()
        suppressed = self._limit.admit("gap")
        if suppressed is None:
            return
        self._log.warning("gap", file=None if path is None else path.name, offset=offset, what=what, **suppressed)
        if path is not None:
            self._station.publish_diagnostic("gap", path, offset, what)


class Consoles:
    """The consoles and relay ports of a daemon."""

    def __init__(
        self,
        relay: Relay,
        recordings: Recordings,
        recordings_folder: Path,
        metrics: Metrics,
        errors: InternalErrors | None = None,
    ) -> None:
        """`recordings_folder` holds one folder per recorded station."""
        self._relay = relay
        self._recordings = recordings
        self._folder = recordings_folder
        self._metrics = metrics
        self._errors = errors or InternalErrors()
        self._recorders: dict[str, Recorder] = {}
        self._reporters: dict[str, SourceReporter] = {}
        self._servers: dict[str, RelayServer] = {}
        self._clients: dict[str, list[Callable[[], int]]] = {}
        """Functions that count the clients of relay servers, by station."""
        self._disk = IoBatcher()
        self._turns = Turns()
        self._readers = trio.CapacityLimiter(_READER_THREADS)
        self._log = get_logger()

    def folder(self, wanted: StationConfig) -> Path:
        """The folder that a station tails: the configured one, or the one into which its console is recorded."""
        return station_folder(wanted, self._folder)

    def bind_gauges(self) -> None:
        """Export the gauges of recordings and relay ports."""
        self._metrics.bind_each(
            "slpstream_unwritten_bytes",
            lambda: {name: recorder.unwritten_bytes for name, recorder in list(self._recorders.items())},
        )
        self._metrics.bind_each(
            "slpstream_relay_clients",
            lambda: {name: sum(count() for count in counts) for name, counts in list(self._clients.items())},
        )

    @contextmanager
    def counted(self, station: str, clients: Callable[[], int]) -> Iterator[None]:
        """Include the clients of a relay server of a station in the gauge while the context is open."""
        self._clients[station] = [*self._clients.get(station, ()), clients]
        try:
            yield
        finally:
            left = [count for count in self._clients[station] if count is not clients]
            if left:
                self._clients[station] = left
            else:
                del self._clients[station]

    def relay_clients(self, station: str) -> int | None:
        """Number of clients of a station's TCP relay ports; `None` if it has no such port."""
        server = self._servers.get(station)
        return None if server is None else server.clients

    def start(self, running: RunningStation, spectators: DolphinSpectators | None = None) -> None:
        """Start the console and the relay ports of a station in its nursery, before the station runs.

        `spectators` serves `relay_enet_port` and records `dolphin`.
        """
        config, station = running.config, running.station
        relays = [self._serve] if config.relay_port or config.raw_relay_port else []
        if config.relay_enet_port and spectators is not None:
            relays.append(spectators.serve)
        if relays:
            feed = RelayFeed(partial(read_file, limiter=self._readers, unwritten=lambda: station.files.read_unwritten))
            station.files.on_bytes = lambda followed, offset, data: feed.grew(followed, followed.file, offset, data)
            for serve in relays:
                relay = partial(serve, config, station, feed)
                running.nursery.start_soon(partial(self._errors.keep_running, "relay", relay, station=config.id))
        if config.console or config.dolphin:
            record = partial(self._record, config, station, spectators)
            running.nursery.start_soon(partial(self._errors.keep_running, "console", record, station=config.id))

    async def _record(self, config: StationConfig, station: Station, spectators: DolphinSpectators | None) -> None:
        """Record a console until cancelled."""
        structlog.contextvars.bind_contextvars(station=station.id)
        reporter = SourceReporter(station, self._metrics.station(config.id), "console" if config.console else "Dolphin")
        folder = self.folder(config)
        recorder = Recorder(
            folder,
            reporter,
            played_on=_PLAYED_ON_CONSOLE if config.console else _PLAYED_ON_DOLPHIN,
            max_unwritten_bytes=self._recordings.max_unwritten_bytes,
            in_thread=self._disk,
            wall_clock=time,
        )
        source: Source
        host, port = address(config.console or config.dolphin, wire.PORT)
        if config.console:
            source = ConsoleSource(partial(trio.open_tcp_stream, host, port), recorder, reporter, turns=self._turns)
        elif spectators is not None and spectators.is_available():
            source = spectators.source(host, port, recorder, reporter, self._turns)
        else:
            reporter.unreachable("the extra `dolphin` is not installed")
            return
        with suppress(OSError):  # the recorder tries again, and reports it
            await self._disk(partial(folder.mkdir, parents=True, exist_ok=True))
        self._recorders[config.id] = recorder
        self._reporters[config.id] = reporter
        station.files.read_unwritten = recorder.read_unwritten
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(recorder.run)
                nursery.start_soon(source.run)
        finally:
            if self._recorders.get(config.id) is recorder:
                del self._recorders[config.id], self._reporters[config.id]

    async def _serve(self, config: StationConfig, station: Station, feed: RelayFeed) -> None:
        """Serve the TCP relay ports of a station until cancelled."""
        structlog.contextvars.bind_contextvars(station=station.id)
        server = self._servers[config.id] = RelayServer(feed, station.name, self._relay.max_clients)
        ports = (config.relay_port, server.serve), (config.raw_relay_port, server.serve_raw)
        try:
            with self.counted(config.id, lambda: server.clients):
                async with trio.open_nursery() as nursery:
                    for port, handler in ports:
                        if port:
                            nursery.start_soon(self._listen, port, handler)
        finally:
            if self._servers.get(config.id) is server:
                del self._servers[config.id]

    async def _listen(self, port: int, handler: Callable[[trio.SocketStream], Awaitable[object]]) -> None:
        """Serve one port. Retry while another program has it."""
        reported = ""
        while True:
            try:
                listeners = await trio.open_tcp_listeners(port, host=self._relay.host)
            except OSError as error:
                if str(error) != reported:
                    reported = str(error)
                    self._log.error("cannot listen on relay port", port=port, host=self._relay.host, what=reported)
                await trio.sleep(_RETRY_SECONDS)
            else:
                self._log.info("relay listening", port=port, host=self._relay.host)

                async def serve(stream: trio.SocketStream) -> None:
                    with self._errors.contain("relay"):  # one client does not end the others
                        await handler(stream)

                await trio.serve_listeners(serve, listeners)

    async def discover(
        self,
        known: Callable[[], Iterable[StationConfig]],
        discovered: Callable[[], Iterable[str]],
        add: Callable[[StationConfig], Awaitable[object]],
        remove: Callable[[str, str], Awaitable[object]],
    ) -> None:
        """Add a station for each console that calls by broadcast, until cancelled.

        `known` returns the present stations, `discovered` the ids of those that this method added. `remove` is called
        with an id and a reason. A console that has answered keeps its station. Any other console loses it when it
        stops calling, or to another console that calls while all places are taken.
        """
        await ConsoleDiscovery(self._relay, Registry(known, discovered, self._answered, add, remove)).run()

    def _answered(self) -> set[str]:
        """The ids of the stations whose source has answered."""
        return {name for name, reporter in self._reporters.items() if reporter.answered}
