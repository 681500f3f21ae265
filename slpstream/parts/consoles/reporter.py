"""Reports the events of a source and its recorder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import trio

from slpstream.system.logs import LogLimit, get_logger
from slpstream.system.metrics import Metrics

if TYPE_CHECKING:
    from slpstream.daemon.station.station import Station

RECEIVED_BYTES = "slpstream_source_received_bytes_total"
RECONNECTS = "slpstream_source_reconnects_total"
GAPS = "slpstream_source_gaps_total"
_MAX_LINES, _LINES_SECONDS = 20, 60.0
"""A source can break its connection or lose bytes thousands of times a second. Of each kind of event, only this many
are logged in this time."""


class SourceReporter:
    """Reports the events of a source and its recorder to the station, the metrics and the log."""

    def __init__(self, station: Station, metrics: Metrics, kind: str) -> None:
        """`kind` is how people call the source: `console` or `Dolphin`."""
        self._station = station
        self._received_bytes = metrics.counter(RECEIVED_BYTES, station.id)
        self._reconnects = metrics.counter(RECONNECTS, station.id)
        self._gaps = metrics.counter(GAPS, station.id)
        self._kind = kind
        self.answered = False
        """Whether the source has ever answered."""
        self._log = get_logger()
        self._limit = LogLimit(_MAX_LINES, _LINES_SECONDS, trio.current_time)
        station.status.set_reachable(f"connecting to the {kind}")

    def connected(self, nick: str, version: str) -> None:
        """Note that the source has answered."""
        if self.answered:
            self._reconnects.inc()
        self.answered = True
        suppressed = self._limit.admit("source connected")
        if suppressed is not None:
            self._log.info("source connected", source=self._kind, nick=nick, version=version, **suppressed)
        self._station.status.set_reachable(None)

    def disconnected(self, what: str) -> None:
        """Note that the connection is broken.

        The station only shows this if it isn't possible to reconnect (`unreachable`).
        """
        suppressed = self._limit.admit("source disconnected")
        if suppressed is not None:
            self._log.info("source disconnected", source=self._kind, what=what, **suppressed)

    def unreachable(self, what: str) -> None:
        """Note that the source hasn't answered. Another attempt will follow."""
        self._log.debug("source unreachable", source=self._kind, what=what)
        self._station.status.set_reachable(f"{self._kind} cannot be reached: {what}")

    def received(self, size_bytes: int) -> None:
        """Count bytes of events that were received."""
        self._received_bytes.inc(size_bytes)

    def feed_unwritten(self, path: Path, offset: int, data: bytes) -> int:
        """Pass bytes to the station that aren't on disk yet (see `Following.feed_unwritten`)."""
        return self._station.following.feed_unwritten(path, offset, data)

    def recording_trouble(self, what: str | None) -> None:
        """Note that the disk can't be written to, for the reason `what`. With `None`, it works again."""
        if what is None:
            self._log.info("recording resumed")
        else:
            self._log.error("recording suspended, streaming continues", what=what)
        self._station.status.remark(None if what is None else f"not recorded: {what}")

    def gap(self, path: Path | None, offset: int, what: str) -> None:
        """Note that bytes of a game are missing or unusable. If there are too many gaps, they are only counted."""
        self._gaps.inc()
        suppressed = self._limit.admit("gap")
        if suppressed is None:
            return
        self._log.warning("gap", file=None if path is None else path.name, offset=offset, what=what, **suppressed)
        if path is not None:
            self._station.publisher.publish_diagnostic("gap", path, offset, what)
