"""Remember when games have arrived, and correct these times if the clock of the machine is set.

If a computer has no battery for its clock, it starts with a wrong time, which is only corrected once the network is
available. Games that arrived before that have a wrong arrival time, and it looks as if there was a long break before
the next game. To find out by how much the clock was set, we use a second clock that is never set.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

_MAX_GAMES = 256
_MIN_STEP_SECONDS = 60.0


def _since_boot() -> float:
    """Return the time of a clock that is never set, in seconds.

    If possible, this includes the time when the machine sleeps.
    """
    if sys.platform != "win32":
        for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
            if hasattr(time, name):
                return time.clock_gettime(getattr(time, name))
    return time.monotonic()


class ArrivalTimes:
    """The times when the newest games of this run have arrived."""

    def __init__(
        self, *, wall_clock: Callable[[], float] = time.time, steady_clock: Callable[[], float] = _since_boot
    ) -> None:
        self._wall_clock = wall_clock
        self._steady_clock = steady_clock
        self._arrivals: dict[str, tuple[int, float]] = {}
        """By game id: the arrival in Unix milliseconds, and the wall clock minus the steady clock at that time."""

    def note(self, game_id: str, arrived_at_ms: int) -> None:
        """Note that a game has just arrived. Only the first call for each game has an effect."""
        if game_id not in self._arrivals:
            self._arrivals[game_id] = arrived_at_ms, self._offset_seconds()
            if len(self._arrivals) > _MAX_GAMES:
                del self._arrivals[next(iter(self._arrivals))]

    def corrected(self) -> dict[str, int]:
        """Return new arrival times for those games that need one, because the clock was set since the last call.

        They are in order of arrival.
        """
        offset = self._offset_seconds()
        corrected: dict[str, int] = {}
        for game_id, (arrived_at_ms, before) in self._arrivals.items():
            if abs(offset - before) > _MIN_STEP_SECONDS:
                corrected[game_id] = arrived_at_ms + round(1000 * (offset - before))
        self._arrivals.update({game_id: (arrived_at_ms, offset) for game_id, arrived_at_ms in corrected.items()})
        return corrected

    def _offset_seconds(self) -> float:
        return self._wall_clock() - self._steady_clock()
