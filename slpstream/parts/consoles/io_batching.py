"""I/O batching, which does the blocking work of many recorders in a few trips to a worker thread.

A trip costs a hundred microseconds or more, mostly because of the interpreter lock, and fifty consoles would make three
thousand of them a second. So one of the callers runs the work of all who are waiting, and there are at least two
milliseconds between trips. If there is only a single console, it is never delayed.
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
    """Runs blocking work in a worker thread, in batches. Call it with the work, and await the result."""

    def __init__(self, pause_seconds: float = _PAUSE_SECONDS) -> None:
        self._pause_seconds = pause_seconds
        self._lock = trio.Lock()
        self._limiter = trio.CapacityLimiter(1)
        self._waiting: list[_Job] = []
        self._next_batch = 0.0

    async def __call__(self, work: Callable[[], Any]) -> Any:
        """Run `work` in a thread, in the order of the calls. Returns its result, or raises its exception."""
        job = _Job(work)
        self._waiting.append(job)
        async with self._lock:
            if job.result is None:
                await trio.sleep_until(self._next_batch)
                await self._run_batch()
        result = job.result
        if result is None:
            raise RuntimeError("the batch left out a job")
        return result.unwrap()

    async def _run_batch(self) -> None:
        jobs, self._waiting = self._waiting, []
        try:
            await trio.to_thread.run_sync(_do, jobs, limiter=self._limiter)
        finally:  # also when cancelled before the thread has started
            self._waiting[:0] = [job for job in jobs if job.result is None]
            self._next_batch = trio.current_time() + self._pause_seconds


def _do(jobs: Sequence[_Job]) -> None:
    for job in jobs:
        job.result = outcome.capture(job.work)
