"""Timeouts for many waiters, which are all handled by a single task.

Sixty times a second, a tail waits for a notification, but at most until its next poll. It almost never gets there. If
we used a cancel scope for each wait, this would cost more than reading the new bytes. So instead, a wait just
overwrites its previous deadline, and a single task sleeps until the earliest one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

Callback = Callable[[], None]
"""Called in the event loop when its deadline has passed."""


class Timers:
    """Keeps one deadline for each callback.

    You have to run `run` in exactly one task. It only ends if it is cancelled, and then no callback is called any more.
    """

    def __init__(self) -> None:
        self._deadlines: dict[Callback, float] = {}
        self._earliest = math.inf
        self._earlier = trio.Event()

    def set(self, callback: Callback, deadline: float) -> None:
        """Call `callback` once when trio's clock reaches `deadline`.

        If it had another deadline before, this replaces it.
        """
        self._deadlines[callback] = deadline
        if deadline < self._earliest:
            self._earlier.set()

    async def run(self) -> None:
        """Call each callback at its deadline until cancelled."""
        while True:
            self._earlier = trio.Event()
            self._earliest = min(self._deadlines.values(), default=math.inf)
            with trio.CancelScope(deadline=self._earliest):
                await self._earlier.wait()
            now = trio.current_time()
            for callback in [callback for callback, deadline in self._deadlines.items() if deadline <= now]:
                del self._deadlines[callback]
                callback()
