"""Timeouts for many waiters, kept by one task.

A tail waits for a notification, at most until its next poll. It does so sixty times a second, and the timeout is almost
never reached. A cancel scope for each wait would cost more than reading the new bytes. Here a wait only records its
deadline, in place of the previous one, and one task sleeps until the earliest of all deadlines.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

Callback = Callable[[], None]
"""Called in the event loop when its deadline has passed."""


class Timers:
    """One deadline for each callback.

    Run `run` once. It ends only by cancellation, and no callback is called after that.
    """

    def __init__(self) -> None:
        self._deadlines: dict[Callback, float] = {}
        self._earliest = math.inf
        self._earlier = trio.Event()

    def set(self, callback: Callback, deadline: float) -> None:
        """Call `callback` once at `deadline` on trio's clock. This replaces its previous deadline."""
        self._deadlines[callback] = deadline
        if deadline < self._earliest:
            self._earlier.set()

    async def run(self) -> None:
        """Call each callback at its deadline, until cancelled."""
        while True:
            self._earlier = trio.Event()
            self._earliest = min(self._deadlines.values(), default=math.inf)
            with trio.CancelScope(deadline=self._earliest):
                await self._earlier.wait()
            now = trio.current_time()
            for callback in [callback for callback, deadline in self._deadlines.items() if deadline <= now]:
                del self._deadlines[callback]
                callback()
