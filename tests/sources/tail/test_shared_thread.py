"""One thread does the short work of many callers. Nothing is lost, or waits for long behind work that hangs."""

from __future__ import annotations

import random
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import outcome
import pytest
import trio

from slpstream.sources.tail.events import Grew, TailEvent
from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.shared_thread import SharedThread
from slpstream.sources.tail.threads import TrioThreads
from slpstream.sources.tail.timers import Timers
from tests.sources.tail.driver import REWRITABLE, append

pytestmark = pytest.mark.trio
PATIENCE_SECONDS = 0.05
DEADLINE = 60.0


class Outcomes:
    """Collects what is delivered."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self.errors: list[BaseException] = []

    def deliver(self, result: outcome.Outcome[object]) -> None:
        assert trio.lowlevel.in_trio_run()
        if isinstance(result, outcome.Value):
            self.values.append(result.value)
        else:
            assert isinstance(result, outcome.Error)
            self.errors.append(result.error)


@asynccontextmanager
async def shared_thread(patience_seconds: float = DEADLINE) -> AsyncIterator[tuple[SharedThread, Outcomes]]:
    timers = Timers()
    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(timers.run)
            yield SharedThread(timers, patience_seconds), Outcomes()
            nursery.cancel_scope.cancel()


async def until_count(values: list[object], count: int) -> None:
    while len(values) < count:
        await trio.sleep(0.001)


async def test_work_that_is_started_together_shares_a_thread() -> None:
    async with shared_thread() as (thread, outcomes):
        release = threading.Event()
        assert thread.start(release.wait, outcomes.deliver)
        for _ in range(20):
            assert thread.start(threading.get_ident, outcomes.deliver)
        release.set()
        await until_count(outcomes.values, 21)
        assert len(set(outcomes.values[1:])) == 1
        assert threading.get_ident() not in outcomes.values


async def test_nothing_is_lost_whenever_it_is_started() -> None:
    async with shared_thread(PATIENCE_SECONDS) as (thread, outcomes):
        pauses = random.Random(7)
        for number in range(500):
            assert thread.start(lambda number=number: number, outcomes.deliver)  # type: ignore[misc]
            await trio.sleep(pauses.choice([0, 0, 0, 0.0001, 0.001]))
        await until_count(outcomes.values, 500)
        assert set(outcomes.values) == set(range(500))


async def test_errors_are_delivered() -> None:
    async with shared_thread() as (thread, outcomes):
        assert thread.start(lambda: 1 // 0, outcomes.deliver)
        assert thread.start(lambda: "next", outcomes.deliver)
        await until_count(outcomes.values, 1)
        assert [type(error) for error in outcomes.errors] == [ZeroDivisionError]


async def test_work_behind_one_that_hangs_goes_on_in_another_thread() -> None:
    async with shared_thread(PATIENCE_SECONDS) as (thread, outcomes):
        release = threading.Event()
        assert thread.start(lambda: "before", outcomes.deliver)
        assert thread.start(release.wait, outcomes.deliver)
        assert thread.start(lambda: "behind", outcomes.deliver)
        await until_count(outcomes.values, 2)
        assert thread.start(lambda: "later", outcomes.deliver)
        await until_count(outcomes.values, 3)
        assert outcomes.values == ["before", "behind", "later"]
        release.set()
        await until_count(outcomes.values, 4)


async def test_work_waits_if_no_other_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    async with shared_thread(PATIENCE_SECONDS) as (thread, outcomes):
        release = threading.Event()
        with monkeypatch.context() as patch:
            assert thread.start(release.wait, outcomes.deliver)
            patch.setattr(trio.lowlevel, "start_thread_soon", refuse)
            assert thread.start(lambda: "behind", outcomes.deliver)
            await trio.sleep(3 * PATIENCE_SECONDS)
            assert outcomes.values == []
        await until_count(outcomes.values, 1)
        release.set()
        await until_count(outcomes.values, 2)
        assert outcomes.values == ["behind", True]


async def test_start_fails_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    async with shared_thread() as (thread, outcomes):
        with monkeypatch.context() as patch:
            patch.setattr(trio.lowlevel, "start_thread_soon", refuse)
            assert not thread.start(lambda: "refused", outcomes.deliver)
        assert thread.start(lambda: "done", outcomes.deliver)
        await until_count(outcomes.values, 1)
        assert outcomes.values == ["done"]


class CountedThreads(TrioThreads):
    """Counts the threads that are not shared."""

    started = 0

    def start(self, *arguments: object) -> bool:
        self.started += 1
        return super().start(*arguments)  # type: ignore[arg-type]


class CountedSharedThread(SharedThread):
    """Counts what the shared thread is asked to do."""

    started = 0

    def start(self, *arguments: object) -> bool:
        self.started += 1
        return super().start(*arguments)  # type: ignore[arg-type]


async def test_regular_scans_of_many_folders_share_a_thread(tmp_path: Path) -> None:
    """They still find what nobody has reported."""
    async with trio.open_nursery() as nursery:
        timers, threads = Timers(), CountedThreads()
        nursery.start_soon(timers.run)
        thread = CountedSharedThread(timers)
        roots = [tmp_path / str(number) for number in range(8)]
        events: list[TailEvent] = []

        async def collect(root: Path) -> None:
            root.mkdir()
            tail = FolderTail(
                root,
                suffixes=(".slp",),
                rewritable_bytes=REWRITABLE,
                notifications=Notifications(None, timers, thread),
                scan_seconds=0.1,
                threads=threads,
            )
            async with tail:
                async for event in tail:
                    events.append(event)  # noqa: PERF401 -- the test looks at them meanwhile

        with trio.fail_after(DEADLINE):
            for root in roots:
                nursery.start_soon(collect, root)
            while thread.started < 10 * len(roots):
                await trio.sleep(0.01)
            append(roots[3] / "a.slp", b"unnoticed")
            while not any(isinstance(event, Grew) for event in events):
                await trio.sleep(0.01)
            assert threads.started < thread.started / 2, "only the first scans, and those that follow news"
        nursery.cancel_scope.cancel()
