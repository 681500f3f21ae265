"""What a station counts and logs of the events that it publishes.

Sixty times a second it only notes; Prometheus's counters, each with a lock of its own, are written now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from slpstream.daemon.station.archive import printable
from slpstream.daemon.station.followed_file import FollowedFile
from slpstream.model.events import Diagnostic, Event, Frame, GameEnd
from slpstream.system.logs import get_logger
from slpstream.system.metrics import StationMetrics

_COMMANDS_TICKS = 10
"""Commands are written that seldom: there are a dozen of each file."""


class StationCounters:
    """The counting of one station."""

    def __init__(self, metrics: StationMetrics, folder: Path, wall_clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._folder = folder
        self._wall_clock = wall_clock
        self._log = get_logger()
        self._bytes = self._frames = self._again = self._ticks = 0
        self._delays_seconds: list[float] = []

    def count_bytes(self, size_bytes: int) -> None:
        """Bytes of a replay have been read."""
        self._bytes += size_bytes

    def count(self, following: FollowedFile, events: Sequence[Event]) -> None:
        """What has been published of a file: metrics, and a line in the log for what people want to know."""
        metrics = self._metrics
        game = following.game
        catching_up = game is not None and game.catching_up
        frames = again = 0
        for event in events:
            if type(event) is Frame:
                frames += 1
                again += event.revision > 0
            elif isinstance(event, Diagnostic):
                metrics.diagnostic(event.code)
                self._log.warning(
                    "diagnostic",
                    game_id=following.pipeline.game_id,
                    file=printable(following.file.path, self._folder),
                    code=event.code,
                    offset=event.offset,
                    message=event.message,
                )
            elif isinstance(event, GameEnd) and not catching_up:
                metrics.game(event.reason)
                self._log.info(
                    "game end",
                    game_id=following.pipeline.game_id,
                    reason=event.reason,
                    last_frame=event.last_frame,
                    duration_seconds=event.duration_seconds,
                )
        if following.pipeline.failure is not None:
            metrics.decode_errors.inc()
        if frames and not catching_up:
            self._frames += frames
            self._again += again
            self._delays_seconds.append(max(0.0, self._wall_clock() - following.file.mtime_ns / 1e9))

    def tick(self, files: Iterable[FollowedFile]) -> None:
        """Twice a second: what was noted, to the metrics; of the files only now and then."""
        self._ticks += 1
        self.write(() if self._ticks % _COMMANDS_TICKS else files)

    def write(self, files: Iterable[FollowedFile]) -> None:
        """What was noted, to the metrics, and how many events of each command were read of some files."""
        metrics = self._metrics
        for counter, count in (
            (metrics.bytes, self._bytes),
            (metrics.frames, self._frames),
            (metrics.rollback_frames, self._again),
        ):
            if count:
                counter.inc(count)
        for delay_seconds in self._delays_seconds:
            metrics.publish_seconds.observe(delay_seconds)
        self._bytes = self._frames = self._again = 0
        self._delays_seconds = []
        for following in files:
            for command, count in following.pipeline.reader.take_command_counts().items():
                metrics.event(command, count)
