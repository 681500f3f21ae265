"""Timeouts kept by one task: only the newest deadline of each waiter counts, and it is met exactly."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import trio
import trio.testing
from outcome import Outcome, capture

from slpstream.sources.tail.events import Grew, TailEvent
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
        self.started = 0
        self._nursery = nursery

    def start(self, work: Callable[[], T], deliver: Callable[[Outcome[T]], None]) -> bool:
        async def scan() -> None:
            await trio.sleep(3)
            deliver(capture(work))

        self.started += 1
        self._nursery.start_soon(scan)
        return True


class CountingNotifications(Notifications):
    """Counts the passes of the iteration, each of which takes the reports once, and the times at which it wakes up."""

    passes = 0
    wakeups = 0

    async def wait(self, deadline: float, recompute: Callable[[], float] | None = None) -> None:
        def count() -> float:
            self.wakeups += 1
            assert recompute is not None
            return recompute()

        await super().wait(deadline, count)

    def take(self) -> Touched:
        self.passes += 1
        assert self.passes < 300
        return super().take()


class FollowedTail(NamedTuple):
    """A tail, its parts, and the events that it has had so far."""

    tail: FolderTail
    notifications: CountingNotifications
    threads: SlowThreads
    events: list[TailEvent]


@asynccontextmanager
async def following(root: Path, degraded: str | None) -> AsyncIterator[FollowedTail]:
    """A tail without a watcher, whose events are collected by another task."""
    events: list[TailEvent] = []

    async def collect(tail: FolderTail) -> None:
        async for event in tail:
            events.append(event)  # noqa: PERF401 -- while it runs, the test looks at them

    async with running() as timers, trio.open_nursery() as nursery:
        notifications, threads = CountingNotifications(degraded, timers), SlowThreads(nursery)
        tail = FolderTail(
            root, suffixes=(".slp",), rewritable_bytes=REWRITABLE, notifications=notifications, threads=threads
        )
        async with tail:
            nursery.start_soon(collect, tail)
            yield FollowedTail(tail, notifications, threads, events)
            nursery.cancel_scope.cancel()


@pytest.mark.trio
@pytest.mark.parametrize("degraded", [None, "polling was asked for"])
async def test_tail_does_not_spin_during_a_slow_scan(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, degraded: str | None
) -> None:
    """Each pass either has work or waits, even while folders cannot be checked."""
    async with following(tmp_path, degraded) as followed:
        await trio.sleep(20)
        assert followed.threads.started >= 4
        assert followed.notifications.passes <= (60 if degraded else 4)


@pytest.mark.trio
async def test_scans_without_news_do_not_wake_the_iteration(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """With notifications, a scan every five seconds only finds what nobody has reported."""
    async with following(tmp_path, None) as followed:
        await trio.sleep(20)
        passes, scans = followed.notifications.passes, followed.threads.started
        await trio.sleep(60)
        assert followed.notifications.passes == passes
        assert followed.threads.started == scans + 12
        (tmp_path / "Game_1.slp").write_bytes(b"{" * (2 * REWRITABLE))
        await trio.sleep(10)
        assert [file.path.name for file in followed.tail.active] == ["Game_1.slp"]
        assert any(isinstance(event, Grew) for event in followed.events)


@pytest.mark.trio
async def test_polls_of_a_file_that_is_notified_wait_for_the_scans(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """A paused game costs one wakeup for each scan, and none for its polls, whenever it was paused."""
    path = tmp_path / "Game_1.slp"
    async with following(tmp_path, None) as followed:
        await trio.sleep(10)
        for _ in range(200):
            with path.open("ab") as file:
                file.write(b"{")
            followed.notifications.grew(str(path))
            await trio.sleep(1 / 60)
        await trio.sleep(20)
        wakeups, scans = followed.notifications.wakeups, followed.threads.started
        await trio.sleep(60)
        assert followed.threads.started == scans + 12
        assert followed.notifications.wakeups == wakeups + 12
        with path.open("ab") as file:
            file.write(b"unnoticed")
        await trio.sleep(10)
        grew = followed.events[-1]
        assert isinstance(grew, Grew)
        assert grew.data == b"unnoticed"


@pytest.mark.trio
async def test_quiet_scan_notices_that_the_folder_is_gone(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    root = tmp_path / "Slippi"
    root.mkdir()
    troubles: list[str | None] = []
    async with following(root, None) as followed:
        await trio.sleep(30)
        troubles.append(followed.tail.root_trouble)
        root.rmdir()
        await trio.sleep(10)
        troubles.append(followed.tail.root_trouble)
        root.mkdir()
        await trio.sleep(10)
        troubles.append(followed.tail.root_trouble)
    assert troubles == [None, "the folder is missing", None]
