"""Iterate over live values in the three ways in which programs do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import trio

from slpstream.system.live_iterator import LiveIterator

T = TypeVar("T")

DEADLINE_SECONDS = 60.0
KINDS = ("thread", "asyncio", "trio")
"""A plain loop, and one under each event loop."""


def taken(kind: str, make: Callable[[], LiveIterator[T]], until: Callable[[T], bool] = lambda _: False) -> list[T]:
    """The values of an iterator, up to the end or to the first one for which `until` is true."""
    found: list[T] = []

    async def take() -> None:
        async with make() as values:
            async for value in values:
                found.append(value)
                if until(value):
                    break

    async def take_in_trio() -> None:
        with trio.fail_after(DEADLINE_SECONDS):
            await take()

    if kind == "asyncio":
        asyncio.run(asyncio.wait_for(take(), DEADLINE_SECONDS))
    elif kind == "trio":
        trio.run(take_in_trio)
    else:
        with make() as values:
            for value in values:
                found.append(value)
                if until(value):
                    break
    return found
