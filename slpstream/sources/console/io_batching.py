"""Blocking work of many recorders, in few visits to a worker thread.

A visit costs a hundred microseconds and more, most of it for the interpreter's lock; fifty consoles want three
thousand a second. So whoever comes first does the work of all that wait with him, and visits keep a distance of two
milliseconds: one console alone never waits for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import outcome
import trio

_PAUSE_SECONDS = 0.002


class _Job:
    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.result: outcome.Outcome[Any] | None = None


class IoBatcher:
    """Call it with what blocks; it answers with the result, or raises what that raised."""

    def __init__(self, pause_seconds: float = _PAUSE_SECONDS) -> None:
        self._pause_seconds = pause_seconds
        self._lock = trio.Lock()
        self._limiter = trio.CapacityLimiter(1)
        self._waiting: list[_Job] = []
        self._next_visit = 0.0

    async def __call__(self, work: Callable[[], Any]) -> Any:
        """Runs `work` in a thread, in the order of the calls."""
        job = _Job(work)
        self._waiting.append(job)
        async with self._lock:
            if job.result is None:
                await trio.sleep_until(self._next_visit)
                await self._visit()
        result = job.result
        if result is None:
            raise RuntimeError("a visit forgot a job")
        return result.unwrap()

    async def _visit(self) -> None:
        jobs, self._waiting = self._waiting, []
        try:
            await trio.to_thread.run_sync(_do, jobs, limiter=self._limiter)
        finally:  # cancelled before it began
            self._waiting[:0] = [job for job in jobs if job.result is None]
            self._next_visit = trio.current_time() + self._pause_seconds


def _do(jobs: Sequence[_Job]) -> None:
    for job in jobs:
        job.result = outcome.capture(job.work)
