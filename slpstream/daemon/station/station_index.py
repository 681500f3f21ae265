"""The entries of one station in the index of games."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from slpstream.daemon.station.followed_file import FollowedFile
from slpstream.game.record import record_of
from slpstream.model.events import Event
from slpstream.sources.tail import TailedFile
from slpstream.store import GameIndex


class StationIndex:
    """Reports the files and games of one station to the index. Without an index, only summaries are updated."""

    def __init__(self, station: str, index: GameIndex | None, wall_clock: Callable[[], float]) -> None:
        self._station = station
        self._index = index
        self._wall_clock = wall_clock

    def listed(self, files: Iterable[TailedFile]) -> None:
        """Report files that are not followed. The index reads those that it does not know."""
        if self._index is not None:
            self._index.listed(self._station, [(file.path, file.mtime_ns, file.size_bytes) for file in files])

    def gone(self, path: Path) -> None:
        """Report that a file can no longer be followed."""
        if self._index is not None:
            self._index.gone(path)

    def update(self, followed: FollowedFile, events: Sequence[Event] = (), *, over: bool = False) -> None:
        """Update the summary of a game from notable events, and its record if they change it.

        With `over`, the record is written in any case.
        """
        changed = followed.describe(events, round(1000 * self._wall_clock()))
        if followed.game is not None and followed.game.aside and not over:
            return  # in the index it would look like the game in progress
        described = followed.record.described
        if self._index is None or described is None or not (changed or over):
            return
        file = followed.file
        self._index.played(
            self._station,
            file.path,
            file.mtime_ns,
            file.size_bytes,
            record_of(described),
            arrived_at_ms=followed.arrived_at_ms,
            ended_at_ms=followed.record.ended_at_ms,
            pacing=followed.pacing,
        )
