"""Arrival times, corrected when the clock of the machine is set.

A computer without a battery-backed clock starts with a wrong time, which is corrected once the network is there. Games
that arrived before have a wrong arrival, and the step looks like a break before the next game. A steady clock, which is
never set, shows the size of the step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

_MAX_GAMES = 256
_MIN_STEP_SECONDS = 60.0


def _since_boot() -> float:
    """Seconds on a clock that is never set. The clock counts the time while the machine sleeps, if the system has such
    a clock."""
    if sys.platform != "win32":
        for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
            if hasattr(time, name):
                return time.clock_gettime(getattr(time, name))
    return time.monotonic()


class ArrivalTimes:
    """The arrival times of the newest games of this run."""

    def __init__(
        self, *, wall_clock: Callable[[], float] = time.time, steady_clock: Callable[[], float] = _since_boot
    ) -> None:
        self._wall_clock = wall_clock
        self._steady_clock = steady_clock
        self._arrivals: dict[str, tuple[int, float]] = {}
        """By game id: the arrival in Unix milliseconds, and the wall clock minus the steady clock at that time."""

    def note(self, game_id: str, arrived_at_ms: int) -> None:
        """Note that a game has just arrived. Further calls for the same game change nothing."""
        if game_id not in self._arrivals:
            self._arrivals[game_id] = arrived_at_ms, self._offset_seconds()
            if len(self._arrivals) > _MAX_GAMES:
                del self._arrivals[next(iter(self._arrivals))]

    def corrected(self) -> dict[str, int]:
        """Return the new arrivals of games whose arrival changed since the last call because the clock was set, in
        order of arrival."""
        offset = self._offset_seconds()
        corrected: dict[str, int] = {}
        for game_id, (arrived_at_ms, before) in self._arrivals.items():
            if abs(offset - before) > _MIN_STEP_SECONDS:
                corrected[game_id] = arrived_at_ms + round(1000 * (offset - before))
        self._arrivals.update({game_id: (arrived_at_ms, offset) for game_id, arrived_at_ms in corrected.items()})
        return corrected

    def _offset_seconds(self) -> float:
        return self._wall_clock() - self._steady_clock()
