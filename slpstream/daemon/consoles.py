"""The companions of a station: the recording of its console, and the relay ports that serve it again.

They run in the station's nursery and end with it. A relay port that is in use does not end the daemon: it is tried
again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
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
from slpstream.sources.console import dolphin, wire
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
    from slpstream.sources.console.spectators.server import SpectatorServer

_READER_THREADS = 4
_RETRY_SECONDS = 5.0
_PLAYED_ON = "nintendont"
_MAX_LINES, _LINES_SECONDS = 20, 60.0
"""A source can break its connection, or lose bytes, thousands of times a second. This many events of each kind are
logged."""


def check_sources(stations: Sequence[StationConfig]) -> None:
    """Raise `ConfigError` for a source whose library is not installed."""
    for i, station in enumerate(stations):
        if station.dolphin and not dolphin.is_available():
            raise ConfigError(
                "configuration", f"stations[{i}].dolphin", "needs ENet: install the extra, `slpstream[dolphin]`"
            )


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
        """Pass on bytes that are not on disk yet. Returns the result of `Station.feed_unwritten`."""
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
        self._spectators: dict[str, SpectatorServer] = {}
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
            lambda: {
                name: sum(servers[name].clients for servers in (self._servers, self._spectators) if name in servers)
                for name in {*self._servers, *self._spectators}
            },
        )

    def relay_clients(self, station: str) -> int | None:
        """Number of clients of a station's relay ports; `None` if it has no such port."""
        server = self._servers.get(station)
        return None if server is None else server.clients

    def start(self, running: RunningStation) -> None:
        """Start the console and the relay ports of a station in its nursery, before the station runs."""
        config, station = running.config, running.station
        if config.relay_port or config.raw_relay_port or config.relay_enet_port:
            feed = RelayFeed(partial(read_file, limiter=self._readers, unwritten=lambda: station.files.read_unwritten))
            station.files.on_bytes = lambda followed, offset, data: feed.grew(followed, followed.file, offset, data)
            for serve, is_wanted in (
                (self._serve, config.relay_port or config.raw_relay_port),
                (self._serve_spectators, config.relay_enet_port),
            ):
                if is_wanted:
                    relay = partial(serve, config, station, feed)
                    running.nursery.start_soon(partial(self._errors.keep_running, "relay", relay, station=config.id))
        if config.console or config.dolphin:
            record = partial(self._record, config, station)
            running.nursery.start_soon(partial(self._errors.keep_running, "console", record, station=config.id))

    async def _record(self, config: StationConfig, station: Station) -> None:
        """Record a console until cancelled."""
        structlog.contextvars.bind_contextvars(station=station.id)
        reporter = SourceReporter(station, self._metrics.station(config.id), "console" if config.console else "Dolphin")
        if config.dolphin and not dolphin.is_available():
            reporter.unreachable("the extra `dolphin` is not installed")
            return
        folder = self.folder(config)
        with suppress(OSError):  # the recorder tries again, and reports it
            await self._disk(partial(folder.mkdir, parents=True, exist_ok=True))
        recorder = Recorder(
            folder,
            reporter,
            played_on=_PLAYED_ON if config.console else dolphin.PLAYED_ON,
            max_unwritten_bytes=self._recordings.max_unwritten_bytes,
            in_thread=self._disk,
            wall_clock=time,
        )
        source: ConsoleSource | dolphin.DolphinSource
        if config.console:
            host, port = address(config.console, wire.PORT)
            source = ConsoleSource(partial(trio.open_tcp_stream, host, port), recorder, reporter, turns=self._turns)
        else:
            host, port = address(config.dolphin, dolphin.PORT)
            source = dolphin.DolphinSource(host, port, recorder, reporter, turns=self._turns)
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
        """Serve the relay ports of a station until cancelled."""
        structlog.contextvars.bind_contextvars(station=station.id)
        server = self._servers[config.id] = RelayServer(feed, station.name, self._relay.max_clients)
        try:
            async with trio.open_nursery() as nursery:
                for port, handler in (
                    (config.relay_port, server.serve),
                    (config.raw_relay_port, server.serve_raw),
                ):
                    if port:
                        nursery.start_soon(self._listen, port, handler)
        finally:
            if self._servers.get(config.id) is server:
                del self._servers[config.id]

    async def _serve_spectators(self, config: StationConfig, station: Station, feed: RelayFeed) -> None:
        """Serve the station's port for spectators until cancelled."""
        from slpstream.sources.console.spectators import history, server  # noqa: PLC0415 -- few stations have the port

        structlog.contextvars.bind_contextvars(station=station.id)
        messages = history.SpectatorHistory(feed)
        spectators = self._spectators[config.id] = server.SpectatorServer(
            messages,
            station.name,
            self._relay.max_clients,
            contain=partial(self._errors.contain, "relay"),
            count_resent=self._metrics.station(config.id).relay_resent_packets.inc,
        )
        host, port = self._relay.host, config.relay_enet_port
        reported = ""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(messages.run)
                while True:
                    try:
                        socket = await server.open_socket(host, port)
                    except OSError as error:
                        if str(error) != reported:
                            reported = str(error)
                            self._log.error("cannot listen on relay port", port=port, host=host, what=reported)
                        await trio.sleep(_RETRY_SECONDS)
                    else:
                        self._log.info("relay listening", port=port, host=host, protocol="ENet")
                        with socket:
                            await spectators.run(socket)
        finally:
            if self._spectators.get(config.id) is spectators:
                del self._spectators[config.id]

    async def _listen(self, port: int, handler: Callable[[trio.SocketStream], Awaitable[object]]) -> None:
        """Serve one port. Retry while another program uses it."""
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

        The arguments are those of `Registry`.
        """
        await ConsoleDiscovery(self._relay, Registry(known, discovered, self._answered, add, remove)).run()

    def _answered(self) -> set[str]:
        """The ids of the stations whose source has answered."""
        return {name for name, reporter in self._reporters.items() if reporter.answered}
