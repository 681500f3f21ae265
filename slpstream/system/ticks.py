"""Periodic ticks that many tasks share."""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

from slpstream.system.stagger import phase_of

PHASES = 8


class _Phase:
    """The tasks that wait for the same ticks. One of them has the timer."""

    def __init__(self) -> None:
        self.has_timer = False
        self.waiting: dict[trio.Event, Callable[[float], bool]] = {}
        """Events that wake the tasks, each with a function that tells whether its task needs the tick. A task that was
        woken and is still in here has to take the timer."""

    def tick(self) -> None:
        """Wake the tasks that need the tick."""
        now = trio.current_time()
        for event in [event for event, is_needed in self.waiting.items() if is_needed(now)]:
            del self.waiting[event]
            event.set()


class SharedTicks:
    """Wakes many tasks periodically. There are a few phases, and all tasks with the same phase share one timer.

    This costs less than a timer for each task.
    """

    def __init__(self) -> None:
        self._phases: dict[tuple[float, int], _Phase] = {}

    async def wait(
        self, period_seconds: float, name: str, is_needed: Callable[[float], bool] = lambda now: True
    ) -> None:
        """Wait for the next tick in the phase of `name` at which `is_needed` returns true.

        It gets the time on trio's clock. If it returns false, the task isn't woken, so a tick that nobody needs costs
        next to nothing.
        """
        key = period_seconds, int(phase_of(name) * PHASES)
        phase = self._phases.setdefault(key, _Phase())
        woken = trio.Event()
        phase.waiting[woken] = is_needed
        try:
            while woken in phase.waiting:
                if phase.has_timer:
                    await woken.wait()
                    if phase.waiting.pop(woken, None) is None:
                        return
                    woken = trio.Event()
                    phase.waiting[woken] = is_needed
                else:
                    await self._sleep(phase, *key)
                    phase.tick()
        finally:
            phase.waiting.pop(woken, None)
            if phase.waiting and not phase.has_timer:
                next(iter(phase.waiting)).set()

    async def _sleep(self, phase: _Phase, period_seconds: float, number: int) -> None:
        """Wait for the next tick of a phase."""
        offset = number / PHASES
        count = math.floor(trio.current_time() / period_seconds - offset) + 1
        phase.has_timer = True
        try:
            await trio.sleep_until((count + offset) * period_seconds)
        finally:
            phase.has_timer = False
