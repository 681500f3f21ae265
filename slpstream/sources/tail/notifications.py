"""Hints: which names to look at now, without waiting for the next poll. A bell, and a bounded set of names that
survives until taken.

A hint is never needed. Whoever takes hints also polls, so they may be late, double, wrong or missing; they only make
things quick.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import trio

from slpstream.sources.tail.timers import Timers

# More names than this between two looks: looking at everything is cheaper.
_MAX_PATHS: Final = 4096


class Touched(NamedTuple):
    """What has been hinted at since the last time."""

    paths: set[str]
    rescan: bool
    """Folders have come or gone, or there were too many names: look at everything."""


def _nothing() -> None:
    """Nobody watches, so there is nothing to be watched again."""


def _nowhere(folders: Iterable[str]) -> None:
    """Nobody watches, so it is all the same which folders there are."""


class Notifications:
    """The hints for one root. With nobody to give any, it is a timer.

    `degraded` says why only polling finds anything, and is `None` while notifications work. `refresh` makes sure that
    the root is being watched, and `attend` says which folders it has. Both block: they are called in a thread, before
    and after each scan.
    """

    def __init__(self, degraded: str | None, alarms: Timers | None = None) -> None:
        """`alarms` keeps the times of many cheaply; without it each wait has a timer of its own."""
        self.degraded = degraded
        self._alarms = alarms
        self.refresh: Callable[[], None] = _nothing
        self.attend: Callable[[Iterable[str]], None] = _nowhere
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._rescan = False
        self._bell = trio.Event()

    def forget(self) -> None:
        """Nobody watches any more: from now on it is a timer."""
        self.refresh, self.attend, self._alarms = _nothing, _nowhere, None

    def take(self) -> Touched:
        """What has been touched since the last call."""
        with self._lock:
            touched = Touched(self._paths, self._rescan)
            self._paths, self._rescan = set(), False
        return touched

    async def wait(self, until: float) -> None:
        """Wait until there is something to take, or someone rings, or it is that time of trio's clock."""
        alarms = self._alarms  # `forget` is called in a thread
        if self._paths or self._rescan:
            await trio.lowlevel.checkpoint()  # the bell may have been heard by someone who was cancelled then
        elif alarms is not None:
            alarms.set(self.ring, until)
            await self._bell.wait()
        else:
            with trio.CancelScope(deadline=until):
                await self._bell.wait()
        if self._bell.is_set():
            self._bell = trio.Event()

    def ring(self) -> None:
        """End the wait. In the event loop."""
        self._bell.set()

    def add(self, path: str) -> bool:
        """From any thread: a file was touched. True when somebody has to ring."""
        with self._lock:
            first = not self._paths and not self._rescan
            if len(self._paths) < _MAX_PATHS:
                self._paths.add(path)
            else:
                self._paths.clear()
                self._rescan = True
        return first

    def add_everything(self) -> bool:
        """From any thread: look at the whole tree. True when somebody has to ring."""
        with self._lock:
            first = not self._paths and not self._rescan
            self._rescan = True
        return first

    def grew(self, path: str) -> None:
        """In the event loop: a file was written to."""
        if self.add(path):
            self._bell.set()

    def overflowed(self) -> None:
        """In the event loop: hints were lost."""
        self.add_everything()
        self._bell.set()
