"""Prometheus metrics: the one list of them, and labelled children made once.

Names are `slpstream_<noun>_<unit>[_total]`; the widest label is `station`. What exists already as a number somewhere
(subscribers, queued bytes, active files, process figures) is asked for when Prometheus scrapes, not counted a second
time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PUBLISH_BUCKETS_SECONDS = (0.0005, 0.001, 0.002, 0.004, 0.008, 0.0167, 0.033, 0.1, 0.25, 1.0, 5.0)

# Known label values begin at 0: of a counter that is only there from its first event on, nobody sees the increase.
_CLOSE_CODES = ("1001", "1002", "1007", "1009", "1013", "4400", "4401", "4404", "4410")
_DROP_REASONS = ("limit", "room", "head", "request", "silent", "unread")
_SOURCE_ERRORS = ("truncated", "replaced", "vanished", "unreadable")
_REFUSALS = ("401", "403", "421", "500")

Gauges = Callable[[], Iterable[tuple[str, float]]]
"""Label value and number, asked at each scrape."""


class StationMetrics:
    """The counters of one station."""

    def __init__(self, metrics: Metrics, station: str) -> None:
        self.frames = metrics.frames.labels(station)
        self.rollback_frames = metrics.rollback_frames.labels(station)
        self.bytes = metrics.bytes.labels(station)
        self.decode_errors = metrics.decode_errors.labels(station)
        self.publish_seconds = metrics.publish_seconds.labels(station)
        for code in _SOURCE_ERRORS:
            metrics.source_errors.labels(station, code)
        self.received_bytes = metrics.received_bytes.labels(station)
        self.reconnects = metrics.reconnects.labels(station)
        self.gaps = metrics.gaps.labels(station)
        self._metrics = metrics
        self._station = station

    def event(self, command: str, count: int) -> None:
        """`count` events of a command have been read."""
        self._metrics.events.labels(self._station, command).inc(count)

    def game(self, outcome: str) -> None:
        """A game has come to an end."""
        self._metrics.games.labels(self._station, outcome).inc()

    def diagnostic(self, code: str) -> None:
        """A diagnostic was published."""
        self._metrics.diagnostics.labels(self._station, code).inc()

    def source_error(self, code: str) -> None:
        """A file did what a log must not do, or cannot be read."""
        self._metrics.source_errors.labels(self._station, code).inc()


class Metrics:
    """All metrics of one daemon."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each counter, which nobody reads
        self.registry = registry = CollectorRegistry()
        by_station = ("station",)
        self.frames = Counter(
            "slpstream_frames_total", "Frames published, every sending.", by_station, registry=registry
        )
        self.rollback_frames = Counter(
            "slpstream_rollback_frames_total", "Frames that were sent again.", by_station, registry=registry
        )
        self.bytes = Counter("slpstream_read_bytes_total", "Bytes read from replays.", by_station, registry=registry)
        self.decode_errors = Counter(
            "slpstream_decode_errors_total", "Games whose bytes were wrong.", by_station, registry=registry
        )
        self.events = Counter(
            "slpstream_events_total",
            "Events read, by command byte; of running games every five seconds.",
            ("station", "command"),
            registry=registry,
        )
        self.games = Counter(
            "slpstream_games_total", "Games by how they ended.", ("station", "outcome"), registry=registry
        )
        self.diagnostics = Counter(
            "slpstream_diagnostics_total", "Diagnostics, by code.", ("station", "code"), registry=registry
        )
        self.source_errors = Counter(
            "slpstream_source_errors_total",
            "Files that shrank, were replaced, vanished or cannot be read.",
            ("station", "code"),
            registry=registry,
        )
        self.received_bytes = Counter(
            "slpstream_source_received_bytes_total",
            "Bytes of events that consoles sent.",
            by_station,
            registry=registry,
        )
        self.reconnects = Counter(
            "slpstream_source_reconnects_total",
            "Connections to consoles that were made again.",
            by_station,
            registry=registry,
        )
        self.gaps = Counter(
            "slpstream_source_gaps_total",
            "Places where bytes of a console are missing or of no use.",
            by_station,
            registry=registry,
        )
        self.verified = Counter(
            "slpstream_verified_games_total",
            "Finished games that were read again, by outcome: equal, different, unreadable, skipped.",
            ("station", "result"),
            registry=registry,
        )
        self.lagged = Counter(
            "slpstream_lagged_messages_total", "Messages that conflating subscribers missed.", registry=registry
        )
        self.closed = Counter(
            "slpstream_connections_closed_total",
            "Websockets that we closed, by close code.",
            ("code",),
            registry=registry,
        )
        self.dropped = Counter(
            "slpstream_connections_dropped_total",
            f"Connections that were ended without a farewell: {', '.join(_DROP_REASONS)}.",
            ("reason",),
            registry=registry,
        )
        self.requests = Counter(
            "slpstream_http_requests_total", "HTTP requests, by status.", ("status",), registry=registry
        )
        self.index_errors = Counter(
            "slpstream_index_errors_total", "Failures of the database of games.", registry=registry
        )
        self.webhook_deliveries = Counter(
            "slpstream_webhook_deliveries_total",
            "Deliveries, by outcome: delivered; retried; rejected (the receiver refused it several times) and given_up "
            "(nobody took it for too long), which are lost.",
            ("outcome",),
            registry=registry,
        )
        self.jsonl_bytes = Counter(
            "slpstream_jsonl_bytes_total", "Bytes written as JSON lines.", by_station, registry=registry
        )
        self.expired_games = Counter(
            "slpstream_expired_games_total", "Games that have left the index, for its limits.", registry=registry
        )
        self.deleted_recordings = Counter(
            "slpstream_deleted_recordings_total", "Recordings that were deleted, for their limits.", registry=registry
        )
        self.deleted_bytes = Counter(
            "slpstream_deleted_recordings_bytes_total", "Size of the recordings that were deleted.", registry=registry
        )
        self.broker_sent = Counter(
            "slpstream_broker_sent_messages_total",
            "Messages that the broker has taken, of both frames modes.",
            by_station,
            registry=registry,
        )
        self.broker_received = Counter(
            "slpstream_broker_received_messages_total", "Messages that a gateway has read.", registry=registry
        )
        self.broker_reconnects = Counter(
            "slpstream_broker_reconnects_total", "Connections to the broker that were lost.", registry=registry
        )
        self.publish_seconds = Histogram(
            "slpstream_append_to_publish_seconds",
            "From the file's modification to the messages being handed to all subscribers.",
            by_station,
            buckets=_PUBLISH_BUCKETS_SECONDS,
            registry=registry,
        )
        for counter, values in (
            (self.closed, _CLOSE_CODES),
            (self.dropped, _DROP_REASONS),
            (self.requests, _REFUSALS),
        ):
            for value in values:
                counter.labels(value)
        self._started = time.time()
        registry.register(_Process(self._started))

    def station(self, station: str) -> StationMetrics:
        """The counters of a station; make it once and keep it."""
        return StationMetrics(self, station)

    def drop_station(self, station: str) -> None:
        """A station has gone, and its counters with it. If it comes back they begin at 0, as after a restart."""
        for family in (
            self.frames,
            self.rollback_frames,
            self.bytes,
            self.decode_errors,
            self.events,
            self.games,
            self.diagnostics,
            self.source_errors,
            self.jsonl_bytes,
            self.received_bytes,
            self.reconnects,
            self.gaps,
            self.verified,
            self.publish_seconds,
        ):
            family.remove_by_labels({"station": station})

    def gauge(self, name: str, documentation: str, label: str | None, values: Gauges) -> None:
        """A gauge that is asked at each scrape."""
        self.registry.register(_Asked(name, documentation, label, values))

    def render(self) -> bytes:
        """The page for Prometheus. Takes milliseconds: call it in a thread."""
        return generate_latest(self.registry)

    def documentation(self) -> list[tuple[str, str, str]]:
        """(name, type, what it means) of every metric, for the reference."""
        return sorted(
            (family.name + ("_total" if family.type == "counter" else ""), family.type, family.documentation)
            for family in self.registry.collect()
        )


class _Asked:
    def __init__(self, name: str, documentation: str, label: str | None, values: Gauges) -> None:
        self._name = name
        self._documentation = documentation
        self._label = label
        self._values = values

    def collect(self) -> Iterable[Metric]:
        family = GaugeMetricFamily(self._name, self._documentation, labels=[self._label] if self._label else [])
        for label, value in self._values():
            family.add_metric([label] if self._label else [], value)
        yield family


class _Process:
    """The usual process figures, from `/proc/self` and the standard library alone: under a hardened unit the rest of
    `/proc`, which prometheus-client's own collector needs, is hidden."""

    def __init__(self, started: float) -> None:
        self._started = started

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily("process_start_time_seconds", "Start of the process, Unix time.", self._started)
        times = os.times()
        yield CounterMetricFamily("process_cpu_seconds", "CPU time, user and system.", times.user + times.system)
        if not sys.platform.startswith("linux"):
            return
        pages = Path("/proc/self/statm").read_bytes().split()
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        yield GaugeMetricFamily("process_virtual_memory_bytes", "Virtual memory.", int(pages[0]) * page_bytes)
        yield GaugeMetricFamily("process_resident_memory_bytes", "Resident memory.", int(pages[1]) * page_bytes)
        yield GaugeMetricFamily(
            "process_open_fds", "Open file descriptors.", sum(1 for _ in Path("/proc/self/fd").iterdir())
        )
