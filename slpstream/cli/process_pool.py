"""Pools of worker processes, for commands that read many files.

Workers ignore Ctrl-C. The terminal sends SIGINT to every process of the group, but only the main process reacts to it,
and then ends the workers.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

CONTEXT: SpawnContext = multiprocessing.get_context("spawn")
"""We use spawned processes. Forked ones would inherit locks that are held by threads which don't exist in them."""
MAX_BYTES_AHEAD = 32 << 20
_POLL_SECONDS = 0.1


@contextmanager
def process_pool(
    count: int, initializer: Callable[..., None] | None = None, *arguments: Any
) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of `count` processes. Each process first calls `initializer(*arguments)`, if there is one.

    At the end, and also after an exception, all work that hasn't started is cancelled, and the processes end. Submit
    your work with `map_in_order`, or within `interrupts_blocked`.
    """
    pool = ProcessPoolExecutor(count, mp_context=CONTEXT, initializer=_initialize, initargs=(initializer, arguments))
    try:
        yield pool
    finally:
        with interrupts_blocked():
            pool.shutdown(cancel_futures=True)


def map_in_order(
    pool: ProcessPoolExecutor,
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    ahead: int,
    size_bytes: Callable[[Item], int],
) -> Iterator[Future[Result]]:
    """Yield the future of `function(item)` for each item, in order. The pool computes them.

    Use `result_of` to wait for each of them. While the caller waits for the first one, at most `ahead` items are taken
    from `items`, and only a few more bytes than `MAX_BYTES_AHEAD`.
    """
    pending: deque[tuple[int, Future[Result]]] = deque()
    ahead_bytes = 0
    for item in items:
        size = size_bytes(item)
        while pending and (len(pending) >= ahead or ahead_bytes + size > MAX_BYTES_AHEAD):
            done_bytes, future = pending.popleft()
            yield future
            ahead_bytes -= done_bytes
        with interrupts_blocked():
            pending.append((size, pool.submit(function, item)))
        ahead_bytes += size
    yield from (future for _, future in pending)


def apply_to_all(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return `function(item)` for each item. Use this to give a process several small items at a time."""
    return [function(item) for item in items]


def result_of(future: Future[Result], while_waiting: Callable[[], None] = lambda: None) -> Result:
    """Wait for the result of a future, and call `while_waiting` ten times a second.

    Ctrl-C takes effect in between. If it interrupted the wait itself, locks of the future might stay held, and then the
    pool would never shut down.
    """
    while True:
        with interrupts_blocked():
            if wait([future], timeout=_POLL_SECONDS).done:
                return future.result()
        while_waiting()


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block SIGINT while a pool is used, and above all while work is submitted, because then its processes start.

    The processes inherit the blocked signal. Otherwise, an interpreter that is still starting and hasn't called
    `_initialize` yet would react to Ctrl-C with a traceback. If a SIGINT arrives in the meantime, this process receives
    it at the end of the block.
    """
    if sys.platform == "win32":
        yield
    else:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _initialize(initializer: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for platforms where signals cannot be blocked
    if initializer is not None:
        initializer(*arguments)
