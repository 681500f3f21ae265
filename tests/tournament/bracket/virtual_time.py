"""Time that jumps whenever all tasks wait."""

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


async def in_the_event_loop(
    operation: Callable[..., T], *arguments: Any, limiter: trio.CapacityLimiter | None = None
) -> T:
    """In place of a thread, during which virtual time would jump."""
    await trio.lowlevel.checkpoint()
    return operation(*arguments)
