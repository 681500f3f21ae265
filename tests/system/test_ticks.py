"""Ticks that many tasks share."""

from __future__ import annotations

from itertools import pairwise

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


@pytest.mark.trio
async def test_task_is_only_woken_by_ticks_that_it_needs(autojump_clock: trio.testing.MockClock) -> None:
    ticks, needed, woken = SharedTicks(), {"first": False, "second": False, "third": False}, dict[str, float]()

    async def wait(name: str) -> None:
        await ticks.wait(1.0, "same", lambda now: needed[name])
        woken[name] = trio.current_time()

    async with trio.open_nursery() as nursery:
        for name in needed:
            nursery.start_soon(wait, name)
            await trio.testing.wait_all_tasks_blocked()
        for seconds, name in ((3.5, "second"), (5.5, "first"), (7.5, "third")):
            await trio.sleep_until(seconds)
            needed[name] = True
    assert list(woken) == ["second", "first", "third"]
    assert [later - earlier for earlier, later in pairwise(woken.values())] == [2.0, 2.0]


@pytest.mark.trio
async def test_timer_is_passed_on_if_its_task_is_cancelled(autojump_clock: trio.testing.MockClock) -> None:
    ticks = SharedTicks()
    async with trio.open_nursery() as nursery:
        scopes = [trio.CancelScope() for _ in range(3)]

        async def wait(scope: trio.CancelScope) -> None:
            with scope:
                await ticks.wait(1.0, "same", lambda now: False)

        for scope in scopes:
            nursery.start_soon(wait, scope)
            await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ticks.wait, 1.0, "same")
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        for scope in scopes:
            scope.cancel()
    assert trio.current_time() - began <= 1.0
