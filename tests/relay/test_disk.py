"""Blocking work of many in few visits: everybody gets his own result, in order, and nobody waits without need."""

from __future__ import annotations

import threading
import time

import pytest
import trio
import trio.testing

from slpstream.relay.disk import DiskVisits


@pytest.mark.trio
async def test_everybody_gets_his_own() -> None:
    disk = DiskVisits()
    results: dict[int, int] = {}
    order: list[int] = []
    threads: set[int] = set()

    def work(number: int) -> int:
        order.append(number)
        threads.add(threading.get_ident())
        if number % 3 == 0:
            raise OSError(28, "No space left on device")
        return number * 2

    async def ask(number: int) -> None:
        try:
            results[number] = await disk(lambda: work(number))
        except OSError as error:
            results[number] = -(error.errno or 0)

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(ask, number)
    assert results == {number: -28 if number % 3 == 0 else number * 2 for number in range(50)}
    assert sorted(order) == list(range(50)), "each once"
    assert threading.get_ident() not in threads


@pytest.mark.trio
async def test_visits_keep_their_distance(autojump_clock: trio.testing.MockClock) -> None:
    disk = DiskVisits(pause_seconds=0.5)
    began = trio.current_time()
    await disk(lambda: None)
    assert trio.current_time() - began < 0.5
    await trio.sleep(10)
    at = trio.current_time()
    await disk(lambda: None)
    assert trio.current_time() - at < 0.5, "who is alone does not wait"
    await disk(lambda: None)
    assert trio.current_time() - at >= 0.5


@pytest.mark.trio
async def test_who_leaves_takes_nobody_along() -> None:
    """The one who would have made the visit is cancelled; the others' work is done all the same."""
    disk = DiskVisits()
    done: list[str] = []
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(disk, lambda: time.sleep(0.05))
            await trio.testing.wait_all_tasks_blocked()
            with trio.CancelScope() as scope:
                nursery.start_soon(disk, lambda: done.append("other"))
                scope.cancel()
                await disk(lambda: done.append("cancelled"))
            nursery.start_soon(disk, lambda: done.append("third"))
    assert {"other", "third"} <= set(done)
