"""Run blocking calls in worker threads.

If you open, stat or scan something, this can hang, for example because a disk is asleep or a network share is away.
That's why we never do it in the event loop. It is also possible that there aren't enough threads (for example, with a
thousand folders and systemd's `TasksMax`). In this case, we wait until a thread can be started.

`Threads` is an interface because this makes it possible for a test to run the same code thousands of times without any
threads.
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
    """Runs blocking work outside of the event loop."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` and wait for its result.

        Once `work` has started, this keeps waiting even if it is cancelled, because `work` uses descriptors that are
        open.
        """
        ...

    def start(self, work: Callable[[], T], deliver: Callable[[Outcome[T]], None]) -> bool:
        """Start `work`, but don't wait for it. When it is done, `deliver` is called in the event loop with the outcome.

        If no thread can be started now, this returns False without starting anything.
        """
        ...

    async def give_way(self) -> None:
        """Let other tasks run while you are doing something in the event loop that takes long.

        This can't be cancelled.
        """
        ...


class TrioThreads:
    """Runs blocking work in trio's worker threads."""

    async def run(self, work: Callable[[], T]) -> T:
        """See `Threads.run`."""
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
        """See `Threads.start`."""
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
        """See `Threads.give_way`."""
        await trio.lowlevel.cancel_shielded_checkpoint()
