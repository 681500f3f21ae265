"""The sources of recorded stations: whether their libraries are installed, and the reports about their state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import trio

from slpstream.config import StationConfig
from slpstream.daemon.station import Station
from slpstream.model.errors import ConfigError
from slpstream.sources.console import dolphin
from slpstream.system.logs import LogLimit, get_logger
from slpstream.system.metrics import StationMetrics

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
