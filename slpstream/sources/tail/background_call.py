"""A blocking call that runs in a thread while the event loop does something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

import trio

from slpstream.sources.tail.shared_thread import SharedThread
from slpstream.sources.tail.threads import Threads

if TYPE_CHECKING:
    from outcome import Outcome

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """Runs at most one blocking call at a time. When it has ended, its outcome is kept until you `take` it."""

    def __init__(self, threads: Threads, on_done: Callable[[], None]) -> None:
        """`on_done` is called in the event loop each time a call has ended."""
        self._threads = threads
        self._on_done = on_done
        self._ended: trio.Event | None = None
        self._outcome: Outcome[T] | None = None

    @property
    def is_running(self) -> bool:
        """Whether there's a call that has started but not ended yet."""
        return self._ended is not None

    @property
    def has_outcome(self) -> bool:
        """Whether a call has ended and you haven't taken its outcome yet."""
        return self._outcome is not None

    def start(self, work: Callable[[], T], thread: SharedThread | None = None) -> bool:
        """Start a call, in `thread` if you pass one. Returns False if it isn't possible to start a thread now."""
        self._ended = trio.Event()
        if (thread or self._threads).start(work, self._finish):
            return True
        self._ended = None
        return False

    @property
    def result(self) -> T | None:
        """The result that `take` would return. This is `None` if no call has ended, or if it raised an exception."""
        return getattr(self._outcome, "value", None)

    def take(self) -> T:
        """Return the result of the call that has ended. If the call raised an exception, this raises it again."""
        if self._outcome is None:
            raise RuntimeError("no call has ended")
        outcome, self._outcome = self._outcome, None
        return outcome.unwrap()

    async def wait(self) -> None:
        """Wait until no call is running any more."""
        if self._ended is not None:
            await self._ended.wait()

    def _finish(self, outcome: Outcome[T]) -> None:
        self._outcome = outcome
        if self._ended is not None:
            self._ended.set()
            self._ended = None
        self._on_done()
