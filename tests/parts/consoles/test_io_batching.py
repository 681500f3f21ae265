"""Batches of blocking work: each caller gets its own result, in order, without unnecessary waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from slpstream.parts.consoles.io_batching import IoBatcher
from tests.parts.consoles.listeners import Notices
from tests.parts.consoles.recordings import GAME, recorder_of
from tests.parts.consoles.wii import raw_of


@pytest.mark.trio
async def test_each_caller_gets_its_own_result() -> None:
    batcher = IoBatcher()
    results: dict[int, int] = {}
    order: list[int] = []
    threads: set[int] = set()

    def work(number: int) -> int:
        order.append(number)
        threads.add(threading.get_ident())
        if number % 3 == 0:
            raise OSError(28, "No space left on device")
        return number * 2

    async def call(number: int) -> None:
        try:
            results[number] = await batcher(lambda: work(number))
        except OSError as error:
            results[number] = -(error.errno or 0)

    async with trio.open_nursery() as nursery:
        for number in range(50):
            nursery.start_soon(call, number)
    assert results == {number: -28 if number % 3 == 0 else number * 2 for number in range(50)}
    assert sorted(order) == list(range(50)), "each ran once"
    assert threading.get_ident() not in threads


@pytest.mark.trio
async def test_batches_are_spaced(autojump_clock: trio.testing.MockClock) -> None:
    batcher = IoBatcher(pause_seconds=0.5)
    began = trio.current_time()
    await batcher(lambda: None)
    assert trio.current_time() - began < 0.5
    await trio.sleep(10)
    began = trio.current_time()
    await batcher(lambda: None)
    assert trio.current_time() - began < 0.5, "a single caller does not wait"
    await batcher(lambda: None)
    assert trio.current_time() - began >= 0.5


@pytest.mark.trio
async def test_cancelled_caller_does_not_affect_the_others() -> None:
    """The caller that would have run the batch is cancelled; the work of the others is still done."""
    batcher = IoBatcher()
    done: list[str] = []
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(batcher, lambda: time.sleep(0.05))
            await trio.testing.wait_all_tasks_blocked()
            with trio.CancelScope() as scope:
                nursery.start_soon(batcher, lambda: done.append("other"))
                scope.cancel()
                await batcher(lambda: done.append("cancelled"))
            nursery.start_soon(batcher, lambda: done.append("third"))
    assert {"other", "third"} <= set(done)


async def _run_in_scope(
    run: Callable[[], Awaitable[None]], *, task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED
) -> None:
    with trio.CancelScope() as scope:
        task_status.started(scope)
        await run()


@pytest.mark.trio
async def test_recorder_cancelled_while_it_waits_closes_its_game_once(tmp_path: Path) -> None:
    """Another station delays the batch. Work requested before the cancellation is done, and done once."""
    batcher = IoBatcher()
    recorder = recorder_of(tmp_path, Notices(), in_thread=batcher)
    slow = threading.Event()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            scope = await nursery.start(_run_in_scope, recorder.run)
            recorder.receive(GAME)
            while recorder.unwritten_bytes:
                await trio.sleep(0.001)
            nursery.start_soon(batcher, lambda: slow.wait(5))
            await trio.testing.wait_all_tasks_blocked(0.02)
            recorder.close_ended_game()
            await trio.testing.wait_all_tasks_blocked(0.02)
            scope.cancel()
            await trio.testing.wait_all_tasks_blocked(0.02)
            slow.set()
    [file] = tmp_path.glob("*.slp")
    assert raw_of(file.read_bytes()) == GAME
