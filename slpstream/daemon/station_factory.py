"""Makes the stations of a daemon from their configurations."""

from __future__ import annotations

import trio

from slpstream.config import StationConfig, recordings_folder, station_folder
from slpstream.daemon.station.context import StationContext
from slpstream.daemon.station.station import Station
from slpstream.daemon.stations import Origin
from slpstream.parts.interface import Host
from slpstream.parts.services import FinishedGameCheck
from slpstream.sources.tail.watcher import Watcher
from slpstream.system.ticks import SharedTicks


class StationFactory:
    """Makes stations that all share one watcher and one limit for threads."""

    def __init__(self, host: Host, watcher: Watcher, limiter: trio.CapacityLimiter) -> None:
        self._host = host
        self._watcher = watcher
        self._limiter = limiter
        self._ticks = SharedTicks()

    def make(self, wanted: StationConfig, origin: Origin) -> Station:
        """Make a station, without starting it. The games of temporary stations are neither indexed nor checked."""
        host = self._host
        folder = station_folder(wanted, recordings_folder(host.config))
        kept = origin != "temporary"
        notifications = None
        with host.errors.contain("notifications", station=wanted.id):  # without them, the folder is polled
            notifications = self._watcher.watch(folder)
        context = StationContext(
            wanted.id,
            folder,
            host.config.watch,
            ring_bytes=host.config.stream.ring_bytes,
            metrics=host.metrics.station(wanted.id),
            limiter=self._limiter,
            name=wanted.name,
            notifications=notifications,
            index=host.index if kept else None,
            finished_games=host.find(FinishedGameCheck) if kept else None,
            errors=host.errors,
            ticks=self._ticks,
        )
        return Station(context)

    def release(self, station: Station) -> None:
        """Release the resources of a station that has ended. This blocks."""
        if station.notifications is not None:
            self._watcher.unwatch(station.notifications)
        if station.id not in self._host.stations:
            self._host.metrics.drop_station(station.id)
