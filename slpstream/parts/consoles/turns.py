"""Share the event loop between sources that have more to process than a live game.

A live game needs about a hundredth of the loop and is never delayed. A source that has more (a game that is sent from
its beginning, or a source that sends as fast as it can) processes it in slices of about a millisecond. After each slice
it waits for its turn and then pauses. Turns are granted one at a time, first come, first served. The loop therefore
stays as responsive with twenty such sources as with one, and most of it remains free.
"""

from __future__ import annotations

import trio

SLICE_BYTES = 4096
"""Limit for the bytes that are processed between two calls of `Pace.spend`."""

_SLICE_SECONDS = 0.001
_SECONDS_PER_BYTE = 0.25e-6
"""Time that the station needs, in the same event loop, for each byte that it will read back from the recording."""
_SHARE = 0.02
"""Share of the loop that one source may use without waiting for its turn."""
_BURST_SECONDS = 0.02
_PAUSE_FACTOR = 3.0
"""Length of a pause, as a multiple of the slice before it."""


class Turns:
    """The turns of the sources of one daemon."""

    def __init__(self) -> None:
        self._lock = trio.Lock()  # first come, first served

    async def pause(self, seconds: float) -> None:
        """Wait for a turn, and pause."""
        async with self._lock:
            await trio.sleep(seconds)


class Pace:
    """The recent use of the event loop by one source."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._slice_seconds = 0.0
        self._allowance_seconds = _BURST_SECONDS
        self._updated_at: float | None = None

    async def spend(self, seconds: float, size_bytes: int) -> None:
        """Account for processing that took `seconds`, of `size_bytes` of events. Waits if a slice is used up.

        Not a checkpoint while the slice lasts.
        """
        self._slice_seconds += seconds + size_bytes * _SECONDS_PER_BYTE
        if self._slice_seconds < _SLICE_SECONDS:
            return
        spent, self._slice_seconds = self._slice_seconds, 0.0
        now = trio.current_time()
        earned = 0.0 if self._updated_at is None else (now - self._updated_at) * _SHARE
        self._updated_at = now
        self._allowance_seconds = min(_BURST_SECONDS, self._allowance_seconds + earned) - spent
        if self._allowance_seconds >= 0:
            await trio.lowlevel.checkpoint()
        else:
            self._allowance_seconds = 0.0  # the pause compensates for it
            await self._turns.pause(spent * _PAUSE_FACTOR)
