"""Processes of our own kind that share the work of a command. Ctrl-C is for the one that the user started."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from typing import Any

CONTEXT: SpawnContext = multiprocessing.get_context("spawn")
"""Fresh processes: a fork would take along whatever threads there are, and locks that nobody will open again."""


@contextmanager
def pool_of(count: int, begin: Callable[..., None] | None = None, *given: Any) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes, each of which calls `begin(*given)` first. Whatever ends this ends them, too, and what they
    have not begun is not begun."""
    pool = ProcessPoolExecutor(count, mp_context=CONTEXT, initializer=_begin, initargs=(begin, given))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def starting() -> Iterator[None]:
    """Around what hands work to a pool, which is when its processes start. They inherit that SIGINT is blocked: an
    interpreter that has not come to `begin` yet would answer it with a traceback. Ours comes when this is left."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(begin: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where nothing can be blocked
    if begin is not None:
        begin(*given)
