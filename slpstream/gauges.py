"""Figures that exist already somewhere in the daemon, and are asked for when Prometheus scrapes: in a worker thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from slpstream.metrics import Gauges, Metrics
from slpstream.running_stations import RunningStations
from slpstream.stream import Hub


class Connections(Protocol):
    """What is known of the clients."""

    @property
    def websockets(self) -> int:
        """Open websockets."""

    @property
    def event_streams(self) -> int:
        """Open streams of server-sent events."""

    @property
    def queued_bytes(self) -> int:
        """What waits for them."""


class Index(Protocol):
    """What is known of the index of games."""

    @property
    def games(self) -> int:
        """Games that it has."""

    @property
    def waiting_files(self) -> int:
        """Old files that were not looked at yet."""


def register(
    metrics: Metrics,
    hub: Hub,
    running: RunningStations,
    web: Callable[[], Connections | None],
    index: Callable[[], Index | None],
) -> None:
    """All gauges of a daemon. `web` and `index` answer `None` before the daemon runs: then their figures are 0."""

    def per_station(attribute: str) -> Gauges:
        return lambda: [(station.id, float(getattr(station, attribute))) for station in running.stations]

    def of_web(attribute: str) -> Gauges:
        return lambda: [("", 0.0 if (found := web()) is None else float(getattr(found, attribute)))]

    def of_index(attribute: str) -> Gauges:
        return lambda: [("", 0.0 if (found := index()) is None else float(getattr(found, attribute)))]

    def playing() -> Iterable[tuple[str, float]]:
        return [(station.id, float(station.state == "playing")) for station in running.stations]

    def subscribers() -> Iterable[tuple[str, float]]:
        return [(name, channel.subscribers) for name, channel in hub.channels.items()]

    for name, documentation, label, values in (
        ("active_files", "Files that are being followed.", "station", per_station("active_files")),
        ("tail_lag_seconds", "How long bytes have been waiting to be read.", "station", per_station("lag_seconds")),
        ("ring_bytes", "Memory of the newest messages.", "station", per_station("ring_bytes")),
        ("station_playing", "1 while a game is running.", "station", playing),
        ("station_ready", "1 when the folder is readable and searched.", "station", per_station("ready")),
        ("subscribers", "Live subscribers.", "station", subscribers),
        ("stations", "Stations that run.", None, lambda: [("", float(len(running)))]),
        ("websockets", "Open websockets.", None, of_web("websockets")),
        ("event_streams", "Open streams of server-sent events.", None, of_web("event_streams")),
        ("indexed_games", "Games in the index.", None, of_index("games")),
        ("index_waiting_files", "Old replays that the index has not looked at yet.", None, of_index("waiting_files")),
        ("queued_bytes", "What waits for slow clients.", None, of_web("queued_bytes")),
    ):
        metrics.gauge(f"slpstream_{name}", documentation, label, values)
