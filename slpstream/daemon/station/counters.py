"""The counters of a station. They are plain numbers, and flushed to Prometheus twice a second.

Each counter of Prometheus takes a lock, which would be too expensive for every frame of every station.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import trio

from slpstream.model.events import Diagnostic
from slpstream.system.files import printable
from slpstream.system.logs import get_logger

if TYPE_CHECKING:
    from slpstream.daemon.station.context import StationContext
    from slpstream.daemon.station.followed_files import FollowedFile
    from slpstream.game.log_writer import Batch
    from slpstream.sources.tail.events import TailedFile

_TICKS_PER_COMMAND_COUNT = 10  # a dozen counters per file, so they are flushed less often


class StationCounters:
    """Counts and logs the messages that one station publishes."""

    def __init__(self, context: StationContext) -> None:
        self.metrics = context.metrics
        """The metrics of the station. Use them directly for everything that is rare."""
        self._folder = context.folder
        self._log = get_logger()
        self._frames = self._resent_frames = self._ticks = 0
        self._delays_seconds: list[float] = []
        self.read_bytes = 0
        """How many bytes of replays were read since the last flush."""

    def count(self, followed: FollowedFile, batch: Batch, *, held: bool = False) -> None:
        """Count a batch that was published, and log its diagnostics and its Game End.

        `held` means that the bytes were held back because nothing was reading them. Frames and results of a file that
        is older than the daemon only count after it has been read to its end.
        """
        game = followed.game
        live = game is None or not game.catching_up
        if batch.notable:
            self._count_notable(followed, batch, live=live)
        if batch.frames and live:
            self._frames += batch.frames
            self._resent_frames += batch.resent_frames
            if not held:
                file = followed.file
                mtime_ns = file.mtime_ns
                delay_seconds = time.time() - mtime_ns / 1e9
                if delay_seconds < 0:
                    delay_seconds = 0.0
                if batch.frames > 1 or mtime_ns == file.previous_mtime_ns:  # seldom
                    delay_seconds = self._oldest_seconds(file, batch.frames, delay_seconds)
                self._delays_seconds.append(delay_seconds)

    def _count_notable(self, followed: FollowedFile, batch: Batch, *, live: bool) -> None:
        """Count and log the diagnostics of a batch, its Game End, and what was wrong with the bytes."""
        for event in batch.notable:
            if isinstance(event, Diagnostic):
                self.metrics.diagnostic(event.code)
                self._log.warning(
                    "diagnostic",
                    game_id=followed.pipeline.game_id,
                    file=printable(followed.file.path, self._folder),
                    code=event.code,
                    offset=event.offset,
                    message=event.message,
                )
        if batch.end is not None and live:
            self.metrics.game(batch.end.reason)
            self._log.info(
                "game end",
                game_id=followed.pipeline.game_id,
                reason=batch.end.reason,
                last_frame=batch.end.last_frame,
                duration_seconds=batch.end.duration_seconds,
            )
        if followed.pipeline.failure is not None:
            self.metrics.decode_errors.inc()

    def _oldest_seconds(self, file: TailedFile, frames: int, newest_seconds: float) -> float:
        """Estimate how long the oldest of these frames has been in the file, given how long it is for the newest one.

        The others were written after the previous modification, and after the last look that didn't find anything. We
        assume that they are evenly spaced since then. Windows may leave the modification time unchanged while the
        writer has the file open. In this case, only the last look counts.
        """
        if file.unchanged_at == -math.inf:
            return newest_seconds
        unchanged_seconds = max(0.0, trio.current_time() - file.unchanged_at)
        if file.mtime_ns == file.previous_mtime_ns:
            return unchanged_seconds
        span_seconds = min((file.mtime_ns - file.previous_mtime_ns) / 1e9, unchanged_seconds - newest_seconds)
        return newest_seconds + max(0.0, span_seconds) * (frames - 1) / frames

    @property
    def are_buffered(self) -> bool:
        """Whether there are counts to flush."""
        return bool(self.read_bytes or self._frames)

    def tick(self, files: Iterable[FollowedFile]) -> None:
        """Flush the counters, and every few ticks also the command counts of `files`. Call this twice a second."""
        self._ticks += 1
        self.flush(() if self._ticks % _TICKS_PER_COMMAND_COUNT else files)

    def flush(self, files: Iterable[FollowedFile]) -> None:
        """Write the buffered counts to Prometheus, together with the command counts of `files`."""
        metrics = self.metrics
        for counter, count in (
            (metrics.bytes, self.read_bytes),
            (metrics.frames, self._frames),
            (metrics.rollback_frames, self._resent_frames),
        ):
            if count:
                counter.inc(count)
        self.read_bytes = self._frames = self._resent_frames = 0
        if self._delays_seconds:
            metrics.publish_seconds.observe(self._delays_seconds)
            self._delays_seconds = []
        for followed in files:
            for command, count in followed.pipeline.reader.take_command_counts().items():
                metrics.event(command, count)
