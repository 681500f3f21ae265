"""The gauges of a daemon. Their values are read from its objects when the metrics are exported."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from slpstream.config import Config, state_folder
from slpstream.web.server import WebServer

if TYPE_CHECKING:
    from slpstream.daemon.station.station import Station
    from slpstream.parts.interface import Host


def bind_gauges(host: Host, web: WebServer, tasks: Callable[[], int]) -> None:
    """Export the gauges of the core. `tasks` returns the number of tasks that are running."""
    running, hub, index, metrics = host.stations, host.hub, host.index, host.metrics

    def per_station(read: Callable[[Station], float]) -> Callable[[], Mapping[str, float]]:
        return lambda: {station.id: float(read(station)) for station in running.stations}

    def on_air() -> Mapping[str, float]:
        return {} if host.on_air.station_id is None else {host.on_air.station_id: 1.0}

    metrics.bind_each("slpstream_active_files", per_station(lambda station: len(station.files)))
    metrics.bind_each("slpstream_tail_lag_seconds", per_station(lambda station: station.files.lag_seconds))
    metrics.bind_each("slpstream_ring_bytes", per_station(lambda station: station.ring_bytes))
    metrics.bind_each("slpstream_station_playing", per_station(lambda station: station.state == "playing"))
    metrics.bind_each("slpstream_station_stalled", per_station(lambda station: station.state == "stalled"))
    metrics.bind_each("slpstream_station_ready", per_station(lambda station: station.ready))
    metrics.bind_each("slpstream_station_on_air", on_air)
    metrics.bind_each("slpstream_watched_stations", lambda: Counter(station.strategy for station in running.stations))
    metrics.bind_each(
        "slpstream_subscribers", lambda: {name: channel.subscribers for name, channel in hub.channels.items()}
    )
    metrics.bind("slpstream_websockets", lambda: web.websockets)
    metrics.bind("slpstream_obs_websockets", lambda: web.obs_websockets)
    metrics.bind("slpstream_event_streams", lambda: web.event_streams)
    metrics.bind("slpstream_tasks", tasks)
    metrics.bind("slpstream_indexed_games", lambda: index.games)
    metrics.bind("slpstream_index_waiting_files", lambda: index.waiting_files)
    metrics.bind("slpstream_connections", lambda: web.connections)
    metrics.bind("slpstream_state_free_bytes", lambda: _free_bytes(host.config))
    metrics.bind("slpstream_queued_bytes", lambda: web.queued_bytes)
    metrics.bind_idle()


def _free_bytes(config: Config) -> float | None:
    """Return the free space in the state folder.

    Returns `None` if this folder doesn't exist, because the index is only temporary.
    """
    try:
        return shutil.disk_usage(state_folder(config.store.folder)).free
    except OSError:
        return None
