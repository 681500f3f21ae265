"""Blocking work of many in few visits: everybody gets his own result, in order, and nobody waits without need."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from slpstream.sources.console.io_batching import IoBatcher
from slpstream.sources.console.recorder import Recorder
from tests.formats.slippi.built import Built
from tests.sources.console.listeners import Told
from tests.sources.console.wii import raw_of


@pytest.mark.trio
async def test_everybody_gets_his_own() -> None:
    disk = IoBatcher()
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
    disk = IoBatcher(pause_seconds=0.5)
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
    disk = IoBatcher()
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


async def _in_a_scope(
    run: Callable[[], Awaitable[None]], *, task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED
) -> None:
    with trio.CancelScope() as scope:
        task_status.started(scope)
        await run()


@pytest.mark.trio
async def test_a_recorder_that_ends_while_it_waits_closes_its_game_once(tmp_path: Path) -> None:
    """The visit of another station is slow; what was asked before the end is done, and nothing is made of it twice."""
    disk = IoBatcher()
    raw = raw_of(Built().frames(-123, 60).end().closed())
    recorder = Recorder(
        tmp_path, Told(), played_on="nintendont", max_unwritten_bytes=1 << 20, in_thread=disk, wall_clock=lambda: 0.0
    )
    slow = threading.Event()
    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            station = await nursery.start(_in_a_scope, recorder.run)
            recorder.receive(raw)
            while recorder.unwritten_bytes:
                await trio.sleep(0.001)
            nursery.start_soon(disk, lambda: slow.wait(5))
            await trio.testing.wait_all_tasks_blocked(0.02)
            recorder.rest()
            await trio.testing.wait_all_tasks_blocked(0.02)
            station.cancel()
            await trio.testing.wait_all_tasks_blocked(0.02)
            slow.set()
    [file] = tmp_path.glob("*.slp")
    assert raw_of(file.read_bytes()) == raw
