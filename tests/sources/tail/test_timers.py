"""Timeouts kept by one task: only the newest deadline of each waiter counts, and it is met exactly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing
from outcome import Outcome, capture

from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.notifications import Notifications, Touched
from slpstream.sources.tail.threads import T
from slpstream.sources.tail.timers import Timers
from tests.sources.tail.driver import REWRITABLE, InlineThreads


class Recorder:
    """Records when it is called."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def call(self) -> None:
        self.times.append(trio.current_time())


@asynccontextmanager
async def running() -> AsyncIterator[Timers]:
    timers = Timers()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        await trio.testing.wait_all_tasks_blocked()
        yield timers
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_each_callback_is_called_once_at_its_deadline(autojump_clock: trio.testing.MockClock) -> None:
    one, two = Recorder(), Recorder()
    async with running() as timers:
        began = trio.current_time()
        timers.set(two.call, began + 7)
        timers.set(one.call, began + 3)  # earlier than the deadline for which the task sleeps
        await trio.sleep(20)
        assert [time - began for time in one.times] == [3]
        assert [time - began for time in two.times] == [7]


@pytest.mark.trio
async def test_only_the_newest_deadline_counts(autojump_clock: trio.testing.MockClock) -> None:
    recorder = Recorder()
    async with running() as timers:
        began = trio.current_time()
        for step in range(10):
            timers.set(recorder.call, began + step + 5)
            await trio.sleep(1)
        assert recorder.times == []
        await trio.sleep(20)
        assert [time - began for time in recorder.times] == [14]
        timers.set(recorder.call, began + 2)  # already past
        await trio.testing.wait_all_tasks_blocked()
        assert [time - began for time in recorder.times] == [14, 30]


@pytest.mark.trio
@pytest.mark.parametrize("detached", [False, True])
async def test_notifications_wait_until_the_deadline(autojump_clock: trio.testing.MockClock, detached: bool) -> None:
    async with running() as timers:
        notifications = Notifications(None, timers)
        began = trio.current_time()
        await notifications.wait(began + 5)
        assert trio.current_time() == began + 5
        if detached:
            notifications.detach()
        with trio.move_on_after(1):
            await notifications.wait(began + 9)
        assert trio.current_time() == began + 6, "a wait can be cancelled"
        await notifications.wait(began + 8)
        assert trio.current_time() == began + 8
        notifications.wake()
        await notifications.wait(began + 50)
        notifications.grew("a.slp")
        for _ in range(2):  # there is still something to take
            await notifications.wait(began + 50)
        assert trio.current_time() == began + 8
        notifications.take()
        await notifications.wait(began + 10)
        assert trio.current_time() == began + 10


class SlowThreads(InlineThreads):
    """A scan takes three seconds, as on a slow network share."""

    def __init__(self, nursery: trio.Nursery) -> None:
        super().__init__()
        self._nursery = nursery

    def start(self, work: Callable[[], T], deliver: Callable[[Outcome[T]], None]) -> bool:
        async def scan() -> None:
            await trio.sleep(3)
            deliver(capture(work))

        self._nursery.start_soon(scan)
        return True


@pytest.mark.trio
@pytest.mark.parametrize("degraded", [None, "polling was asked for"])
async def test_tail_does_not_spin_during_a_slow_scan(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, degraded: str | None
) -> None:
    """Each pass either has work or waits, even while folders cannot be checked."""
    passes = 0

    class Counting(Notifications):
        """Counts the passes, each of which takes the reports once."""

        def take(self) -> Touched:
            nonlocal passes
            passes += 1
            assert passes < 300
            return super().take()

    async with running() as timers, trio.open_nursery() as nursery:
        tail = FolderTail(
            tmp_path,
            suffixes=(".slp",),
            rewritable_bytes=REWRITABLE,
            notifications=Counting(degraded, timers),
            threads=SlowThreads(nursery),
        )
        async with tail:
            with trio.move_on_after(20):
                async for _ in tail:
                    pass
        assert 3 <= passes <= 60
        nursery.cancel_scope.cancel()
