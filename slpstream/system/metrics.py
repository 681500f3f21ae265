"""Prometheus metrics. The core and the parts declare them in tables, and everything else (collectors, reference page,
tests) is made from these.

The names look like `slpstream_<noun>_<unit>[_total]`. Of all labels, `station` has the most values. Counters and
histograms are updated when something happens. A gauge, on the other hand, is a function that we bind to its row, and
that is called at each scrape. So if a number already exists somewhere else (subscribers, queued bytes, open files), we
don't have to keep it a second time.
"""

from __future__ import annotations

import math
import os
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, disable_created_metrics, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from slpstream.system.internal_errors import CORE_LABELS
from slpstream.system.metric_row import Row

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
DROP_REASONS = ("limit", "room", "head", "request", "silent", "unread")


TABLE = (
    Row("slpstream_frames_total", "counter", "Frames published, every revision counted.", ("station",)),
    Row("slpstream_rollback_frames_total", "counter", "Frames published again after a rollback.", ("station",)),
    Row("slpstream_read_bytes_total", "counter", "Bytes read from replays.", ("station",)),
    Row("slpstream_decode_errors_total", "counter", "Games whose bytes could not be decoded.", ("station",)),
    Row(
        "slpstream_events_total",
        "counter",
        "Replay events read, by command byte; updated every five seconds while a game is running.",
        ("station", "command"),
    ),
    Row("slpstream_games_total", "counter", "Games that ended, by outcome.", ("station", "outcome")),
    Row("slpstream_diagnostics_total", "counter", "Diagnostics published, by code.", ("station", "code")),
    Row(
        "slpstream_source_errors_total",
        "counter",
        "Replay files that shrank, were replaced, vanished or could not be read.",
        ("station", "code"),
        known_values=("truncated", "replaced", "vanished", "unreadable"),
    ),
    Row("slpstream_lagged_messages_total", "counter", "Messages that conflating subscribers missed."),
    Row(
        "slpstream_connections_closed_total",
        "counter",
        "Websockets closed by the server, by close code.",
        ("code",),
        known_values=("1001", "1002", "1007", "1009", "1011", "1013", "4400", "4401", "4404", "4410"),
    ),
    Row(
        "slpstream_connections_dropped_total",
        "counter",
        f"Connections dropped without a response or a close code, by reason: {', '.join(DROP_REASONS)}.",
        ("reason",),
        known_values=DROP_REASONS,
    ),
    Row(
        "slpstream_http_requests_total",
        "counter",
        "HTTP requests, by response status.",
        ("status",),
        known_values=("401", "403", "421", "500"),
    ),
    Row(
        "slpstream_internal_errors_total",
        "counter",
        "Unexpected exceptions, by the part of slpstream that they ended: each is a bug.",
        ("part",),
        known_values=CORE_LABELS,
    ),
    Row("slpstream_index_errors_total", "counter", "Database failures of the game index."),
    Row(
        "slpstream_append_to_publish_seconds",
        "histogram",
        "Time from the append of the oldest frame in a read until its messages were handed to all subscribers.",
        ("station",),
        buckets=(0.0005, 0.001, 0.002, 0.004, 0.008, 0.0167, 0.033, 0.1, 0.25, 1.0, 5.0),
    ),
    Row("process_start_time_seconds", "gauge", "Start time of the process, Unix time."),
    Row("process_cpu_seconds_total", "counter", "CPU time used, user and system."),
    Row("process_virtual_memory_bytes", "gauge", "Virtual memory size."),
    Row("process_resident_memory_bytes", "gauge", "Resident memory size."),
    Row("process_open_fds", "gauge", "Open file descriptors."),
    Row("slpstream_active_files", "gauge", "Files that are being followed.", ("station",)),
    Row("slpstream_tail_lag_seconds", "gauge", "Age of the oldest appended bytes not read yet.", ("station",)),
    Row("slpstream_ring_bytes", "gauge", "Memory used by the newest messages.", ("station",)),
    Row("slpstream_station_playing", "gauge", "1 while a game is running.", ("station",)),
    Row("slpstream_station_stalled", "gauge", "1 while a running game does not grow.", ("station",)),
    Row("slpstream_station_ready", "gauge", "1 while the folder can be read and has been searched.", ("station",)),
    Row("slpstream_station_on_air", "gauge", "1 for the station on air.", ("station",)),
    Row(
        "slpstream_watched_stations",
        "gauge",
        "Stations, by how changes of their files are noticed: inotify, directory changes, kqueue, watchdog, polling.",
        ("strategy",),
    ),
    Row("slpstream_subscribers", "gauge", "Live subscribers.", ("station",)),
    Row("slpstream_websockets", "gauge", "Open websockets."),
    Row("slpstream_obs_websockets", "gauge", "Open websockets of browser sources in OBS."),
    Row("slpstream_event_streams", "gauge", "Open server-sent event streams."),
    Row("slpstream_tasks", "gauge", "Tasks of the event loop."),
    Row("slpstream_indexed_games", "gauge", "Games in the index."),
    Row("slpstream_index_waiting_files", "gauge", "Old replays that the index has not read yet."),
    Row("slpstream_connections", "gauge", "Open connections of all kinds."),
    Row("slpstream_state_free_bytes", "gauge", "Free disk space where the state is kept."),
    Row("slpstream_queued_bytes", "gauge", "Bytes queued for slow clients."),
)  # fmt: skip
"""The metrics of the core."""


class Histogram:
    """The distribution of some values.

    A histogram of prometheus-client takes two locks and seven calls for each value. This one adds up its buckets when
    they are scraped. You always have to call `observe` in the same thread.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are the upper bounds of the buckets, which include them. The last bucket has no bound."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, values: Iterable[float]) -> None:
        """Add some values."""
        ascending = sorted(values)
        below = 0
        for number, bound in enumerate(self._bounds):
            through = bisect_right(ascending, bound)
            self._counts[number] += through - below
            below = through
        self._counts[-1] += len(ascending) - below
        self._sum += sum(ascending)

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """Return the cumulative count of each bucket by its upper bound, and the sum of all values."""
        bounds = [floatToGoString(bound) for bound in (*self._bounds, math.inf)]  # type: ignore[no-untyped-call]
        return list(zip(bounds, accumulate(self._counts.copy()), strict=True)), self._sum


class StationMetrics:
    """The counters of one station. They are looked up only once."""

    def __init__(self, metrics: Metrics, station: str) -> None:
        self.frames = metrics.counter("slpstream_frames_total", station)
        self.rollback_frames = metrics.counter("slpstream_rollback_frames_total", station)
        self.bytes = metrics.counter("slpstream_read_bytes_total", station)
        self.decode_errors = metrics.counter("slpstream_decode_errors_total", station)
        self.publish_seconds = metrics.histogram("slpstream_append_to_publish_seconds", station)
        self._metrics = metrics
        self._station = station
        for code in metrics.rows["slpstream_source_errors_total"].known_values:
            metrics.counter("slpstream_source_errors_total", station, code)

    def event(self, command: str, count: int) -> None:
        """Count events of a replay that have this command byte."""
        self._metrics.counter("slpstream_events_total", self._station, command).inc(count)

    def game(self, outcome: str) -> None:
        """Count a game that has ended."""
        self._metrics.counter("slpstream_games_total", self._station, outcome).inc()

    def diagnostic(self, code: str) -> None:
        """Count a diagnostic that was published."""
        self._metrics.counter("slpstream_diagnostics_total", self._station, code).inc()

    def source_error(self, code: str) -> None:
        """Count a replay file that couldn't be read, or that turned out not to be append-only."""
        self._metrics.counter("slpstream_source_errors_total", self._station, code).inc()


class Metrics:
    """All metrics of one process."""

    def __init__(self, more: Iterable[Row] = (), labels: Sequence[str] = ()) -> None:
        """`more` are the metrics of parts, and `labels` are the names of the parts in
        `slpstream_internal_errors_total`.
        """
        disable_created_metrics()  # type: ignore[no-untyped-call]  # they would add a second series to each counter
        self._registry = CollectorRegistry()
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, _Histograms] = {}
        self.rows = {row.name: row for row in (*TABLE, *more)}
        """Every metric by name, in the order of the page."""
        self.unbound_gauges = {row.name for row in self.rows.values() if row.kind == "gauge"}
        """Gauges that have no function yet, and so are not on the page."""
        for row in self.rows.values():
            if row.kind == "histogram":
                self._histograms[row.name] = _Histograms(row)
                self._registry.register(self._histograms[row.name])
            elif row.kind == "counter" and row.name != "process_cpu_seconds_total":
                self._counters[row.name] = Counter(row.name, row.help, row.labels, registry=self._registry)
                if len(row.labels) == 1:
                    for value in row.known_values:
                        self._counters[row.name].labels(value)
        for label in labels:
            self.counter("slpstream_internal_errors_total", label)
        self._bind_process_figures()

    def counter(self, name: str, *labels: str) -> Counter:
        """Return the counter of a row, for these values of its labels."""
        counter = self._counters[name]
        return counter.labels(*labels) if labels else counter

    def histogram(self, name: str, *labels: str) -> Histogram:
        """Return the histogram of a row, for these values of its labels."""
        return self._histograms[name].labels(*labels)

    def bind(self, name: str, read: Callable[[], float | None]) -> None:
        """Export a gauge that doesn't have a label.

        `read` is called at each scrape, in a worker thread. If it returns `None`, there's no sample. Raises `KeyError`
        if the gauge isn't in the table or was already bound.
        """

        def samples() -> Iterator[tuple[list[str], float]]:
            value = read()
            if value is not None:
                yield [], value

        self.unbound_gauges.remove(name)
        self._registry.register(_Computed(self.rows[name], samples))

    def bind_each(self, name: str, read: Callable[[], Mapping[str, float]]) -> None:
        """Like `bind`, but for a gauge with one label.

        `read` returns a mapping from the values of the label to the samples.
        """
        self.bind_all(name, lambda: {(label,): value for label, value in read().items()})

    def bind_all(self, name: str, read: Callable[[], Mapping[tuple[str, ...], float]]) -> None:
        """Like `bind`, but for a gauge with several labels.

        `read` returns a mapping from the values of the labels to the samples.
        """
        self.unbound_gauges.remove(name)
        self._registry.register(
            _Computed(self.rows[name], lambda: ((list(each), value) for each, value in read().items()))
        )

    def bind_idle(self) -> None:
        """Export all gauges that weren't bound by anything, with the value that they have while their part is idle."""
        for name in sorted(self.unbound_gauges):
            row = self.rows[name]
            if row.labels:
                self.bind_all(name, dict)
            else:
                self.bind(name, partial(_idle, row))

    def station(self, station: str) -> StationMetrics:
        """Return the counters of the given station. You should keep the result, instead of calling this each time."""
        return StationMetrics(self, station)

    def drop_station(self, station: str) -> None:
        """Remove the counters of the given station.

        If it comes back later, they begin at 0, just like after a restart.
        """
        for name, family in self._counters.items():
            if "station" in self.rows[name].labels:
                family.remove_by_labels({"station": station})
        for histograms in self._histograms.values():
            histograms.remove_station(station)

    def total(self, name: str) -> float:
        """Return the sum of a counter over all values of its labels."""
        return sum(
            sample.value
            for family in self._counters[name].collect()
            for sample in family.samples
            if sample.name.endswith("_total")
        )

    def render(self, names: Collection[str] = ()) -> bytes:
        """Return the page for Prometheus. If you pass names, such as `slpstream_frames_total`, you only get these
        samples.

        The whole page takes half a millisecond for each station, so you should call this in a worker thread.
        """
        return generate_latest(self._registry.restricted_registry(names) if names else self._registry)

    def _bind_process_figures(self) -> None:
        """Bind the usual figures about the process.

        We only read them from `/proc/self` and the standard library. The collector that prometheus-client has for this
        needs the rest of `/proc`, which isn't available in a hardened unit.
        """
        started = time.time()
        self.bind("process_start_time_seconds", lambda: started)
        self._registry.register(_Computed(self.rows["process_cpu_seconds_total"], lambda: [([], sum(os.times()[:2]))]))
        if sys.platform.startswith("linux"):
            page_bytes = os.sysconf("SC_PAGE_SIZE")
            self.bind("process_virtual_memory_bytes", lambda: _memory_pages(0) * page_bytes)
            self.bind("process_resident_memory_bytes", lambda: _memory_pages(1) * page_bytes)
            self.bind("process_open_fds", lambda: sum(1 for _ in Path("/proc/self/fd").iterdir()))
        else:
            self.unbound_gauges -= {name for name in self.unbound_gauges if name.startswith("process_")}


def _idle(row: Row) -> float | None:
    return row.idle


def _memory_pages(column: int) -> int:
    """Return a column of `/proc/self/statm` (see proc(5)). Column 0 is the total size, and 1 is the resident set."""
    return int(Path("/proc/self/statm").read_bytes().split()[column])


class _Histograms:
    """A collector of the histograms of one row, by the values of its labels."""

    def __init__(self, row: Row) -> None:
        self._row = row
        self._histograms: dict[tuple[str, ...], Histogram] = {}

    def labels(self, *values: str) -> Histogram:
        """Return the histogram for these values of the labels."""
        if values not in self._histograms:
            self._histograms[values] = Histogram(self._row.buckets)
        return self._histograms[values]

    def remove_station(self, station: str) -> None:
        """Remove the histograms of the given station."""
        index = self._row.labels.index("station")
        self._histograms = {values: each for values, each in self._histograms.items() if values[index] != station}

    def describe(self) -> Iterable[Metric]:
        """Return the family without any samples. The registry uses this to find out their names."""
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        for values, histogram in list(self._histograms.items()):
            buckets, total = histogram.buckets()
            family.add_metric(values, buckets, total)
        yield family

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self._row.name, self._row.help, labels=list(self._row.labels))


class _Computed:
    """A collector that computes its samples at each scrape."""

    def __init__(self, row: Row, samples: Callable[[], Iterable[tuple[list[str], float]]]) -> None:
        self._row = row
        self._samples = samples

    def describe(self) -> Iterable[Metric]:
        """Return the family without any samples. The registry uses this to find out their names."""
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        for labels, value in self._samples():
            family.add_metric(labels, value)
        yield family

    def _family(self) -> CounterMetricFamily | GaugeMetricFamily:
        kind = CounterMetricFamily if self._row.kind == "counter" else GaugeMetricFamily
        return kind(self._row.name, self._row.help, labels=list(self._row.labels))
