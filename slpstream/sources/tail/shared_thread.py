"""One thread for the short blocking work of many callers, which would otherwise need a thread each.

With notifications, the scans of dozens of folders begin at the same moments and usually find no news. To wake a thread
for each of them, and the event loop for each result, takes longer than the scans.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

import outcome
import trio

from slpstream.sources.tail.timers import Timers

T = TypeVar("T")
_PATIENCE_SECONDS: Final = 1.0

_Work: TypeAlias = tuple[Callable[[], Any], Callable[[outcome.Outcome[Any]], None]]
"""The work, and the function that gets its outcome."""


class SharedThread:
    """Runs work that was started at about the same time in one thread, one after the other.

    A folder can hang, for example because a network share is away. After a second, the work behind it goes on in
    another thread. You have to call the methods in the event loop.
    """

    def __init__(self, timers: Timers, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._timers = timers
        self._patience_seconds = patience_seconds
        self._queue: _Queue | None = None
        """The newest queue. Its thread may have ended."""

    def start(self, work: Callable[[], T], deliver: Callable[[outcome.Outcome[T]], None]) -> bool:
        """Start `work`, but don't wait for it. Later, `deliver` is called in the event loop with the outcome.

        The outcomes of work that shares a thread are delivered together. If no thread can be started now, this returns
        False without starting anything.
        """
        if self._queue is not None and self._queue.add(work, deliver):
            return True
        return self._start_thread([(work, deliver)])

    def _start_thread(self, works: list[_Work]) -> bool:
        queue = _Queue(works, trio.lowlevel.current_trio_token())
        try:
            trio.lowlevel.start_thread_soon(queue.run, lambda result: None)
        except RuntimeError:
            return False
        self._queue = queue
        self._set_timer()
        return True

    def _set_timer(self) -> None:
        self._timers.set(self._take_over, trio.current_time() + self._patience_seconds)

    def _take_over(self) -> None:
        """If the thread hasn't ended yet, let another one do the work that it hasn't begun."""
        waiting = [] if self._queue is None else self._queue.take_waiting()
        if waiting and not self._start_thread(waiting):
            self._queue = _Queue(waiting, trio.lowlevel.current_trio_token())  # until a thread can be started
            self._set_timer()


class _Queue:
    """Work for one thread."""

    def __init__(self, works: list[_Work], token: trio.lowlevel.TrioToken) -> None:
        self._waiting = deque(works)
        self._token = token
        self._done: deque[tuple[Callable[[outcome.Outcome[Any]], None], outcome.Outcome[Any]]] = deque()
        self._lock = threading.Lock()
        self._is_open = True
        """Whether `run` will do work that is added now."""

    def add(self, work: Callable[[], T], deliver: Callable[[outcome.Outcome[T]], None]) -> bool:
        """Add work, unless it is too late for that."""
        with self._lock:
            if self._is_open:
                self._waiting.append((work, deliver))
            return self._is_open

    def take_waiting(self) -> list[_Work]:
        """Remove all work that was not begun, and deliver what is done. Nothing can be added from now on."""
        with self._lock:
            self._is_open = False
            waiting = list(self._waiting)
            self._waiting.clear()
        self._deliver()
        return waiting

    def run(self) -> None:
        """Do the work, in a thread."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._is_open = False
                    break
                work, deliver = self._waiting.popleft()
            self._done.append((deliver, outcome.capture(work)))
        with contextlib.suppress(trio.RunFinishedError):  # the event loop has ended, and with it the receivers
            self._token.run_sync_soon(self._deliver)

    def _deliver(self) -> None:
        while self._done:
            deliver, result = self._done.popleft()
            deliver(result)
