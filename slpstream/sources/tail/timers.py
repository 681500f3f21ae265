"""Timers that are nearly never reached, of many waiters, kept by one task.

Who follows a growing file waits for a hint, and for the next poll in case none comes; sixty times a second it does. A
cancel scope for each of these waits costs more than to read what the hint is about. Here a wait only writes down its
time, over the one before, and the task sleeps until the earliest of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

Ring = Callable[[], None]
"""Called in the event loop when the time has come."""


class Timers:
    """The times of many waiters: of each the newest. `run` it once; it ends only by cancellation, and nobody is called
    then any more."""

    def __init__(self) -> None:
        self._times: dict[Ring, float] = {}
        self._earliest = math.inf
        self._earlier = trio.Event()

    def set(self, ring: Ring, at: float) -> None:
        """Call `ring` at a time of trio's clock, and not at the one that was set before."""
        self._times[ring] = at
        if at < self._earliest:
            self._earlier.set()

    async def run(self) -> None:
        """Calls those whose time has come."""
        while True:
            self._earlier = trio.Event()
            self._earliest = min(self._times.values(), default=math.inf)
            with trio.CancelScope(deadline=self._earliest):
                await self._earlier.wait()
            now = trio.current_time()
            for ring in [ring for ring, at in self._times.items() if at <= now]:
                del self._times[ring]
                ring()
