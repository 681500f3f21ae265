"""Blocking calls in worker threads.

Opening, stat-ing and scanning can hang on a sleeping disk or a network share, so they never run in the event loop.
Threads can be scarce (systemd's `TasksMax`, with a thousand folders): work then waits until one can be started.

`Threads` is an interface so that a test can run the same code inline, thousands of times, without threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import trio

if TYPE_CHECKING:
    from outcome import Outcome

T = TypeVar("T")
RETRY_SECONDS: Final = 1.0


class Threads(Protocol):
    """Runs blocking work outside the event loop."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` and wait for its result.

        Once `work` has started, this waits for it even when cancelled, because `work` uses open descriptors.
        """
        ...

    def start(self, work: Callable[[], T], deliver: Callable[[Outcome[T]], None]) -> bool:
        """Start `work` without waiting for it. `deliver` is called in the event loop with the outcome.

        Returns false, without starting anything, if no thread can be started now.
        """
        ...

    async def give_way(self) -> None:
        """Let other tasks run in the middle of long work in the event loop. Not a point of cancellation."""
        ...


class TrioThreads:
    """Trio's worker threads."""

    async def run(self, work: Callable[[], T]) -> T:
        """Implement `Threads.run`."""
        begun = False

        def begin() -> T:
            nonlocal begun
            begun = True
            return work()

        while True:
            try:
                return await trio.to_thread.run_sync(begin)
            except RuntimeError:
                if begun:
                    raise  # by `work`
            await trio.sleep(RETRY_SECONDS)

    def start(self, work: Callable[[], T], deliver: Callable[[Outcome[T]], None]) -> bool:
        """Implement `Threads.start`."""
        token = trio.lowlevel.current_trio_token()

        def deliver_soon(outcome: Outcome[Any]) -> None:
            try:
                token.run_sync_soon(deliver, outcome)
            except trio.RunFinishedError:
                return  # the event loop has ended, and with it the receiver

        try:
            trio.lowlevel.start_thread_soon(work, deliver_soon)
        except RuntimeError:
            return False
        return True

    async def give_way(self) -> None:
        """Implement `Threads.give_way`."""
        await trio.lowlevel.cancel_shielded_checkpoint()
