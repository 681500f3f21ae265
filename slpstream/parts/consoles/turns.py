"""Shares the event loop between sources that have more to process than a live game.

A live game needs about a hundredth of the loop, and is never delayed. Other sources have more to do, for example a game
that is sent from its beginning, or a source that sends as fast as it can. They process it in slices of about a
millisecond. After each slice, the source waits for its turn and then pauses. Turns are granted one at a time, on a
first come, first served basis. Because of this, the loop is as responsive with twenty such sources as with one, and
most of it stays free.
"""

from __future__ import annotations

import trio

SLICE_BYTES = 4096
"""The limit for the bytes that are processed between two calls of `Pace.spend`."""

_SLICE_SECONDS = 0.001
_SECONDS_PER_BYTE = 0.25e-6
"""How much time the station will need for each byte, in the same event loop, when it reads the recording back."""
_SHARE = 0.02
"""The share of the loop that a source can use without waiting for its turn."""
_BURST_SECONDS = 0.02
_PAUSE_FACTOR = 3.0
"""The length of a pause, as a multiple of the slice before it."""


class Turns:
    """The turns of all sources in a daemon."""

    def __init__(self) -> None:
        self._lock = trio.Lock()  # first come, first served

    async def pause(self, seconds: float) -> None:
        """Wait for a turn, and then pause."""
        async with self._lock:
            await trio.sleep(seconds)


class Pace:
    """How much one source has used the event loop recently."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._slice_seconds = 0.0
        self._allowance_seconds = _BURST_SECONDS
        self._updated_at: float | None = None

    async def spend(self, seconds: float, size_bytes: int) -> None:
        """Account for the processing of `size_bytes` of events, which took `seconds`.

        If this uses up a slice, we wait. As long as the slice lasts, this isn't a checkpoint.
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
