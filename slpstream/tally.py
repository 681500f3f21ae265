"""What a station counts and logs of the events that it publishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from slpstream.archive import printable
from slpstream.events import Diagnostic, Event, Frame, GameEnd
from slpstream.following import Following
from slpstream.logs import get_logger
from slpstream.metrics import StationMetrics


class Tally:
    """The counting of one station."""

    def __init__(self, metrics: StationMetrics, folder: Path, wall_clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._folder = folder
        self._wall_clock = wall_clock
        self._log = get_logger()

    def count(self, following: Following, events: Sequence[Event]) -> None:
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
            metrics.frames.inc(frames)
            if again:
                metrics.rollback_frames.inc(again)
            metrics.publish_seconds.observe(max(0.0, self._wall_clock() - following.file.mtime_ns / 1e9))

    def count_commands(self, following: Following) -> None:
        """Now and then, and not at every frame: that would cost more than to decode it."""
        for command, count in following.pipeline.reader.take_command_counts().items():
            self._metrics.event(command, count)
