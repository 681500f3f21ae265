"""Periodic ticks that many tasks share."""

from __future__ import annotations

import math

import trio

from slpstream.system.stagger import phase_of

PHASES = 8


class SharedTicks:
    """Wakes many tasks periodically. There are a few phases, and all tasks with the same phase share one timer.

    This costs less than a timer for each task.
    """

    def __init__(self) -> None:
        self._next: dict[tuple[float, int], trio.Event] = {}

    async def wait(self, period_seconds: float, name: str) -> None:
        """Wait for the next tick in the phase of `name`."""
        key = period_seconds, int(phase_of(name) * PHASES)
        event = self._next.get(key)
        if event is not None:
            await event.wait()
            return
        event = self._next[key] = trio.Event()
        offset = key[1] / PHASES
        count = math.floor(trio.current_time() / period_seconds - offset) + 1
        try:
            await trio.sleep_until((count + offset) * period_seconds)
        finally:  # if this is cancelled, the others wake early, and one of them sets the next timer
            del self._next[key]
            event.set()
