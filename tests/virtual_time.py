"""Time that jumps whenever all tasks wait, and work for threads, which it does not wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import trio

T = TypeVar("T")
START = 1_700_000_000.0
"""Unix time when a test begins."""


def now() -> float:
    """Unix time, in seconds."""
    return START + trio.current_time()


async def inline(work: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """A replacement for `trio.to_thread.run_sync`."""
    await trio.lowlevel.checkpoint()
    return work(*arguments)
