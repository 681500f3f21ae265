"""What runs beside a station: the console that is recorded into its folder, and the servers that serve it again.

Each station has one `run`, which ends by cancellation and takes everything with it. A port that is taken does not end
the daemon: it is tried again, and the station says so.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import time
from typing import Protocol

import structlog
import trio

from slpstream.config import Recordings, Relay, StationConfig, address, station_folder
from slpstream.daemon.station import Station
from slpstream.model.errors import ConfigError
from slpstream.sources.console import discovery, dolphin, wire
from slpstream.sources.console.console import ConsoleSource
from slpstream.sources.console.feed import RelayFeed, read_file
from slpstream.sources.console.io_batching import IoBatcher
from slpstream.sources.console.recorder import Recorder
from slpstream.sources.console.server import RelayServer
from slpstream.system.logs import get_logger
from slpstream.system.metrics import Metrics, StationMetrics

_READER_THREADS = 4
_LISTEN_AGAIN_SECONDS = 5.0
_CALLED_AGAIN_SECONDS = 60.0
"""A console that called and became no station is looked at again after so long."""
_MAX_HEARD = 1024
_MAX_DISCOVERED = 64
"""Anybody on the network can call, in the name of any address."""
_PLAYED_ON = "nintendont"


def check_sources(stations: Sequence[StationConfig]) -> None:
    """Raises `ConfigError` for a source that this machine has not the library for."""
    for i, station in enumerate(stations):
        if station.dolphin and not dolphin.is_available():
            raise ConfigError(
                "configuration", f"stations[{i}].dolphin", "needs ENet: install the extra, `slpstream[dolphin]`"
            )


class Running(Protocol):
    """A station that runs, and what runs beside it."""

    @property
    def config(self) -> StationConfig:
        """What was asked for."""

    @property
    def station(self) -> Station:
        """The station itself."""

    @property
    def nursery(self) -> trio.Nursery:
        """For what ends with it."""


class Reports:
    """What a source and its recorder say, as the station, the metrics and the log say it."""

    def __init__(self, station: Station, metrics: StationMetrics, what: str) -> None:
        """`what` the source is, for people: `console`, `Dolphin`."""
        self._station = station
        self._metrics = metrics
        self._what = what
        self._was_connected = False
        self._log = get_logger()
        station.set_reachable(f"connecting to the {what}")

    def connected(self, nick: str, version: str) -> None:
        """It answers."""
        if self._was_connected:
            self._metrics.reconnects.inc()
        self._was_connected = True
        self._log.info("source connected", source=self._what, nick=nick, version=version)
        self._station.set_reachable(None)

    def disconnected(self, what: str) -> None:
        """The connection broke. The station only says so when it does not come back at once."""
        self._log.info("source disconnected", source=self._what, what=what)

    def unreachable(self, what: str) -> None:
        """It does not answer; it is tried again."""
        self._log.debug("source unreachable", source=self._what, what=what)
        self._station.set_reachable(f"{self._what} cannot be reached: {what}")

    def received(self, size_bytes: int) -> None:
        """Bytes of events came."""
        self._metrics.received_bytes.inc(size_bytes)

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Bytes that the disk has not taken."""
        return self._station.feed_unwritten(path, offset, data)

    def recording_trouble(self, what: str | None) -> None:
        """The disk takes no bytes; `None`: it does again."""
        if what is None:
            self._log.info("recording goes on")
        else:
            self._log.error("recording waits, the game is streamed on", what=what)
        self._station.set_remark(None if what is None else f"not recorded: {what}")

    def gap(self, path: Path | None, offset: int, what: str) -> None:
        """Bytes of a game are missing, or of no use."""
        self._metrics.gaps.inc()
        self._log.warning("gap", file=None if path is None else path.name, offset=offset, what=what)
        if path is not None:
            self._station.publish_diagnostic("gap", path, offset, what)


class Sources:
    """The consoles and relays of a daemon."""

    def __init__(self, relay: Relay, recordings: Recordings, recordings_folder: Path, metrics: Metrics) -> None:
        """`recordings_folder` is where each station has a folder of its own for what is recorded."""
        self._relay = relay
        self._recordings = recordings
        self._folder = recordings_folder
        self._metrics = metrics
        self._recorders: dict[str, Recorder] = {}
        self._servers: dict[str, RelayServer] = {}
        self._disk = IoBatcher()
        self._readers = trio.CapacityLimiter(_READER_THREADS)
        self._log = get_logger()

    def folder(self, wanted: StationConfig) -> Path:
        """The folder that a station tails: its own, or where its console is recorded."""
        return station_folder(wanted, self._folder)

    def register_gauges(self) -> None:
        """The figures that are asked for at each scrape."""
        self._metrics.gauge(
            "slpstream_unwritten_bytes",
            "What was received and waits for the disk.",
            "station",
            lambda: [(name, recorder.unwritten_bytes) for name, recorder in list(self._recorders.items())],
        )
        self._metrics.gauge(
            "slpstream_relay_clients",
            "Clients that a station is served to again.",
            "station",
            lambda: [(name, server.clients) for name, server in list(self._servers.items())],
        )

    def begin(self, wanted: StationConfig, station: Station, nursery: trio.Nursery) -> None:
        """Starts everything beside a station, in a nursery that ends with it. Call it before the station runs."""
        if wanted.relay_port or wanted.raw_relay_port:
            feed = RelayFeed(partial(read_file, limiter=self._readers, unwritten=lambda: station.read_unwritten))
            station.on_bytes = lambda followed, offset, data: feed.grew(followed, followed.file, offset, data)
            nursery.start_soon(self._serve, wanted, station, feed)
        if wanted.console or wanted.dolphin:
            nursery.start_soon(self._record, wanted, station)

    def on_added(self, running: Running) -> None:
        """A station is about to run."""
        self.begin(running.config, running.station, running.nursery)

    def on_removed(self, running: Running) -> None:
        """A station has ended, and with it everything beside it."""

    # -- recording ----------------------------------------------------------------------------------------------------

    async def _record(self, wanted: StationConfig, station: Station) -> None:
        structlog.contextvars.bind_contextvars(station=station.id)
        reports = Reports(station, self._metrics.station(wanted.id), "console" if wanted.console else "Dolphin")
        if wanted.dolphin and not dolphin.is_available():
            reports.unreachable("the extra `dolphin` is not installed")
            return
        folder = self.folder(wanted)
        with suppress(OSError):  # the recorder tries it again, and says so
            await self._disk(partial(folder.mkdir, parents=True, exist_ok=True))
        recorder = Recorder(
            folder,
            reports,
            played_on=_PLAYED_ON if wanted.console else dolphin.PLAYED_ON,
            max_unwritten_bytes=self._recordings.max_unwritten_bytes,
            in_thread=self._disk,
            wall_clock=time,
        )
        source: ConsoleSource | dolphin.DolphinSource
        if wanted.console:
            host, port = address(wanted.console, wire.PORT)
            source = ConsoleSource(partial(trio.open_tcp_stream, host, port), recorder, reports)
        else:
            host, port = address(wanted.dolphin, dolphin.PORT)
            source = dolphin.DolphinSource(host, port, recorder, reports)
        self._recorders[wanted.id] = recorder
        station.read_unwritten = recorder.read_unwritten
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(recorder.run)
                nursery.start_soon(source.run)
        finally:
            if self._recorders.get(wanted.id) is recorder:
                del self._recorders[wanted.id]

    # -- serving again ------------------------------------------------------------------------------------------------

    async def _serve(self, wanted: StationConfig, station: Station, feed: RelayFeed) -> None:
        structlog.contextvars.bind_contextvars(station=station.id)
        server = self._servers[wanted.id] = RelayServer(feed, station.name, self._relay.max_clients)
        try:
            async with trio.open_nursery() as nursery:
                for port, handler in (
                    (wanted.relay_port, server.serve),
                    (wanted.raw_relay_port, server.serve_raw),
                ):
                    if port:
                        nursery.start_soon(self._listen, port, handler)
        finally:
            if self._servers.get(wanted.id) is server:
                del self._servers[wanted.id]

    async def _listen(self, port: int, handler: Callable[[trio.SocketStream], Awaitable[object]]) -> None:
        """One port; while it is taken, again and again."""
        said = ""
        while True:
            try:
                listeners = await trio.open_tcp_listeners(port, host=self._relay.host)
            except OSError as error:
                if str(error) != said:
                    said = str(error)
                    self._log.error("relay port cannot be listened on", port=port, host=self._relay.host, what=said)
                await trio.sleep(_LISTEN_AGAIN_SECONDS)
            else:
                self._log.info("relay listens", port=port, host=self._relay.host)
                await trio.serve_listeners(handler, listeners)

    # -- discovery ----------------------------------------------------------------------------------------------------

    async def discover(
        self, known: Callable[[], Iterable[StationConfig]], add: Callable[[StationConfig], Awaitable[object]]
    ) -> None:
        """Consoles that call become stations, until cancelled. `known` are those that there are."""
        if not self._relay.discovery:
            return
        host, port = self._relay.discovery_host, self._relay.discovery_port
        try:
            socket = await discovery.hear(host, port)
        except OSError as error:
            self._log.error("discovery hears nothing", host=host, port=port, what=str(error))
            return
        heard: dict[str, float] = {}
        found: set[str] = set()
        full = False
        with socket:
            while True:
                call = await discovery.next_call(socket)
                now = trio.current_time()
                if now - heard.get(call.mac, -_CALLED_AGAIN_SECONDS) < _CALLED_AGAIN_SECONDS:
                    continue
                if len(heard) >= _MAX_HEARD:
                    heard.clear()
                heard[call.mac] = now
                stations = list(known())
                if call.host in await _hosts_of(stations):
                    continue
                found &= {station.id for station in stations}
                if len(found) >= _MAX_DISCOVERED:
                    if not full:
                        self._log.warning("consoles that call are ignored: too many have", most=_MAX_DISCOVERED)
                    full = True
                    continue
                wanted = station_of(call, {station.id for station in stations})
                found.add(wanted.id)
                self._log.info("console discovered", nick=call.nick, host=call.host, mac=call.mac, station=wanted.id)
                await add(wanted)


def station_of(call: discovery.Call, taken: Iterable[str]) -> StationConfig:
    """The station of a console that called, named after it; `-2`, `-3` when the name is taken."""
    names = set(taken)
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", call.nick).strip("-._")[:60] or f"wii-{call.mac.replace(':', '')[-6:]}"
    name, count = base, 1
    while name in names:
        count += 1
        name = f"{base}-{count}"
    return StationConfig(id=name, console=call.host, name=call.nick)


async def same_consoles(configured: Sequence[StationConfig], discovered: Sequence[StationConfig]) -> list[str]:
    """The ids of discovered stations whose consoles the configuration has too."""
    if not discovered:
        return []
    hosts = await _hosts_of(configured)
    return [station.id for station in discovered if station.console in hosts]


async def _hosts_of(stations: Iterable[StationConfig]) -> set[str]:
    """The addresses of all consoles that are stations already."""
    hosts: set[str] = set()
    for station in stations:
        if station.console:
            host, port = address(station.console, wire.PORT)
            hosts.add(host)
            try:
                found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
            except OSError:
                continue
            hosts |= {str(place[0]) for *_, place in found}
    return hosts
