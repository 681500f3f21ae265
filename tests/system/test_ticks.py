"""Ticks that many tasks share."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from slpstream.system.ticks import PHASES, SharedTicks


@pytest.mark.trio
async def test_every_task_is_woken_once_a_period(autojump_clock: trio.testing.MockClock) -> None:
    ticks, woken = SharedTicks(), dict.fromkeys(map(str, range(40)), 0)
    moments: set[float] = set()

    async def count(name: str) -> None:
        while True:
            await ticks.wait(0.5, name)
            moments.add(round(trio.current_time() % 0.5, 6))
            woken[name] += 1

    with trio.move_on_after(10.1):
        async with trio.open_nursery() as nursery:
            for name in woken:
                nursery.start_soon(count, name)
    assert all(20 <= count <= 21 for count in woken.values())
    assert 1 < len(moments) <= PHASES


@pytest.mark.trio
async def test_cancelled_task_does_not_hold_up_the_others(autojump_clock: trio.testing.MockClock) -> None:
    ticks, woken = SharedTicks(), []

    async def wait() -> None:
        for _ in range(3):
            await ticks.wait(1.0, "same")
        woken.append(trio.current_time())

    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as cancelled:
                cancelled.start_soon(ticks.wait, 1.0, "same")
                await trio.testing.wait_all_tasks_blocked()
                nursery.start_soon(wait)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
    assert len(woken) == 1
