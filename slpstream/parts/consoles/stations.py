"""The stations whose games come from a console or from Dolphin.

Each of them is recorded to a folder, which the station tails.

The tasks of a station run in its nursery, and end with it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from time import time
from typing import TYPE_CHECKING

import structlog
import trio

from slpstream.config import Config, StationConfig, address, recordings_folder, station_folder
from slpstream.daemon.stations import RunningStation
from slpstream.model.errors import ConfigError
from slpstream.parts.consoles import discovery, wire
from slpstream.parts.consoles.console import ConsoleSource
from slpstream.parts.consoles.discovered import ConsoleDiscovery, Registry, same_consoles
from slpstream.parts.consoles.io_batching import IoBatcher
from slpstream.parts.consoles.part import NetworkKeys, RecordingBuffer, RecordingLimits, Relay
from slpstream.parts.consoles.recorder import Recorder
from slpstream.parts.consoles.relays import RESENT_PACKETS, Relays
from slpstream.parts.consoles.reporter import GAPS, RECEIVED_BYTES, RECONNECTS, SourceReporter
from slpstream.parts.consoles.retention import Retention
from slpstream.parts.consoles.turns import Turns
from slpstream.parts.interface import Host, RunningPart
from slpstream.parts.services import RelayedStations

if TYPE_CHECKING:
    from slpstream.daemon.station.station import Station
    from slpstream.parts.consoles.spectators.dolphin import DolphinSource

_PLAYED_ON_CONSOLE, _PLAYED_ON_DOLPHIN = "nintendont", "dolphin"


class Consoles(RunningPart):
    """The recorded and relayed stations of a daemon. This provides `RelayedStations`."""

    def __init__(self, host: Host) -> None:
        """Raises `ConfigError` if a station needs a library that isn't installed."""
        for i, station in enumerate(host.config.stations):
            if station.keys(NetworkKeys).dolphin and not _is_enet_installed():
                raise ConfigError(
                    "configuration", f"stations[{i}].dolphin", "needs ENet: install the extra, `slpstream[dolphin]`"
                )
        self._host = host
        self._config = host.config
        self._folder = recordings_folder(host.config)
        self._relays = Relays(host.config.section(Relay), host.metrics, host.errors)
        self._recorders: dict[str, Recorder] = {}
        self._reporters: dict[str, SourceReporter] = {}
        self._disk = IoBatcher()
        self._turns = Turns()
        host.metrics.bind_each(
            "slpstream_unwritten_bytes",
            lambda: {name: recorder.unwritten_bytes for name, recorder in list(self._recorders.items())},
        )
        host.metrics.bind_each("slpstream_relay_clients", self._relays.clients_by_station)
        host.provide(RelayedStations, self)

    def configure(self, config: Config) -> None:
        """Apply the limits of recordings."""
        self._config = config

    async def run(self) -> None:
        """Discover consoles and delete old recordings, until cancelled."""
        errors, stations = self._host.errors, self._host.stations
        registry = Registry(
            lambda: [running.config for running in stations.values()],
            stations.discovered,
            self.answered,
            stations.add,
            partial(stations.remove, origin="discovered"),
        )
        discovered = ConsoleDiscovery(self._config.section(Relay), registry)
        retention = Retention(self._folder, self._host.index, stations, self._host.metrics)
        sweeping = partial(retention.run, lambda: self._config.section(RecordingLimits))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(errors.keep_running, "discovery", discovered.run)
            nursery.start_soon(errors.keep_running, "retention", sweeping)

    async def stations_configured(self, stations: Sequence[StationConfig]) -> None:
        """End those discovered stations whose consoles are also in the configuration, because a console only accepts
        one client.
        """
        running = self._host.stations
        for name in await same_consoles(stations, [running[name].config for name in running.discovered()]):
            await running.remove(name, "the configuration has this console", origin="discovered")

    def station_starts(self, running: RunningStation) -> None:
        """Start the console and the relay ports of a station."""
        config = running.config
        for counter in (RECEIVED_BYTES, RECONNECTS, GAPS, RESENT_PACKETS):  # exported from its start
            self._host.metrics.counter(counter, config.id)
        self._relays.start(running)
        keys = config.keys(NetworkKeys)
        if keys.console or keys.dolphin:
            record = partial(self._record, config, running.station)
            running.nursery.start_soon(partial(self._host.errors.keep_running, "console", record, station=config.id))

    def answered(self) -> set[str]:
        """Return the ids of the stations whose console has answered."""
        return {name for name, reporter in self._reporters.items() if reporter.answered}

    def relay_clients(self, station: str) -> int | None:
        """Return the number of clients of a station's TCP ports, or `None` if it doesn't have such a port."""
        return self._relays.clients(station)

    async def call(self, station: str, name: str, source: str, target: tuple[str, int]) -> None:
        """Broadcast the call of a console for a station. Raises `OSError` if this fails."""
        await discovery.call(station, name, source, target)

    async def _record(self, config: StationConfig, station: Station) -> None:
        """Record a console or a Dolphin until cancelled."""
        structlog.contextvars.bind_contextvars(station=station.id)
        keys = config.keys(NetworkKeys)
        reporter = SourceReporter(station, self._host.metrics, "console" if keys.console else "Dolphin")
        folder = station_folder(config, self._folder)
        recorder = Recorder(
            folder,
            reporter,
            played_on=_PLAYED_ON_CONSOLE if keys.console else _PLAYED_ON_DOLPHIN,
            max_unwritten_bytes=self._config.section(RecordingBuffer).max_unwritten_bytes,
            in_thread=self._disk,
            wall_clock=time,
        )
        source: ConsoleSource | DolphinSource
        host, port = address(keys.console or keys.dolphin, wire.PORT)
        if keys.console:
            source = ConsoleSource(partial(trio.open_tcp_stream, host, port), recorder, reporter, turns=self._turns)
        elif _is_enet_installed():
            from slpstream.parts.consoles.spectators.dolphin import DolphinSource  # noqa: PLC0415 -- few stations

            source = DolphinSource(host, port, recorder, reporter, turns=self._turns)
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


def _is_enet_installed() -> bool:
    return importlib.util.find_spec("enet") is not None
