"""Where blocking calls run. Opening, stat-ing and scanning may hang on a sleeping disk or a network share, so they
never run in the event loop. This is a seam of its own so that a test can run the very same code in line, thousands of
times, without threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import trio

if TYPE_CHECKING:
    from outcome import Outcome

T = TypeVar("T")


class Threads(Protocol):
    """Runs blocking work elsewhere."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` and wait for its result. Once it has begun, it is waited for, cancelled or not: it uses our
        descriptors."""
        ...

    def start(self, work: Callable[[], T], deliver: Callable[[Outcome[T]], None]) -> None:
        """Run `work` beside the caller, and hand its outcome to `deliver` in the event loop."""
        ...


class TrioThreads:
    """Trio's worker threads."""

    async def run(self, work: Callable[[], T]) -> T:
        """See `Threads.run`."""
        return await trio.to_thread.run_sync(work)

    def start(self, work: Callable[[], T], deliver: Callable[[Outcome[T]], None]) -> None:
        """See `Threads.start`."""
        token = trio.lowlevel.current_trio_token()

        def delivered(outcome: Outcome[Any]) -> None:
            try:
                token.run_sync_soon(deliver, outcome)
            except trio.RunFinishedError:
                return  # nobody is left to hear it

        trio.lowlevel.start_thread_soon(work, delivered)
