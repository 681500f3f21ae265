"""Time that jumps whenever all tasks wait."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar

import trio
import trio.testing

P = ParamSpec("P")
T = TypeVar("T")
START = 1_700_000_000.0
"""Unix time when a test begins."""


def now() -> float:
    """Unix time, in seconds."""
    return START + trio.current_time()


def in_virtual_time(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a test in trio, with a clock that jumps whenever all tasks wait."""

    @functools.wraps(test)
    def run(*arguments: P.args, **fixtures: P.kwargs) -> None:
        trio.run(lambda: test(*arguments, **fixtures), clock=trio.testing.MockClock(autojump_threshold=0))

    return run


async def in_the_event_loop(
    operation: Callable[..., T], *arguments: Any, limiter: trio.CapacityLimiter | None = None
) -> T:
    """In place of a thread, during which virtual time would jump."""
    await trio.lowlevel.checkpoint()
    return operation(*arguments)
