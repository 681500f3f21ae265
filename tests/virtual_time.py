"""Virtual time that jumps whenever all tasks wait, and an inline replacement for threads, which it cannot wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import trio

T = TypeVar("T")
START = 1_700_000_000.0
"""The Unix time at the beginning of a test."""


def now() -> float:
    """Unix time, in seconds."""
    return START + trio.current_time()


async def inline(work: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """A replacement for `trio.to_thread.run_sync`."""
    await trio.lowlevel.checkpoint()
    return work(*arguments)
