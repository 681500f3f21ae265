"""Timers that are kept by one task: only the newest time of each waiter counts, and it is kept to the instant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
import trio.testing
from outcome import Outcome, capture

from slpstream.sources.tail import FolderTail
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.threads import T
from slpstream.sources.tail.timers import Timers
from tests.sources.tail.driver import REWRITABLE, InLine


class Bell:
    """When it was rung."""

    def __init__(self) -> None:
        self.rung: list[float] = []

    def ring(self) -> None:
        self.rung.append(trio.current_time())


@asynccontextmanager
async def running() -> AsyncIterator[Timers]:
    alarms = Timers()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(alarms.run)
        await trio.testing.wait_all_tasks_blocked()
        yield alarms
        nursery.cancel_scope.cancel()


@pytest.mark.trio
async def test_each_is_rung_once_at_its_time(autojump_clock: trio.testing.MockClock) -> None:
    one, two = Bell(), Bell()
    async with running() as alarms:
        began = trio.current_time()
        alarms.set(two.ring, began + 7)
        alarms.set(one.ring, began + 3)  # earlier than what the task sleeps for
        await trio.sleep(20)
        assert [at - began for at in one.rung] == [3]
        assert [at - began for at in two.rung] == [7]


@pytest.mark.trio
async def test_only_the_newest_time_counts(autojump_clock: trio.testing.MockClock) -> None:
    bell = Bell()
    async with running() as alarms:
        began = trio.current_time()
        for step in range(10):
            alarms.set(bell.ring, began + step + 5)
            await trio.sleep(1)
        assert bell.rung == []
        await trio.sleep(20)
        assert [at - began for at in bell.rung] == [14]
        alarms.set(bell.ring, began + 2)  # over already
        await trio.testing.wait_all_tasks_blocked()
        assert [at - began for at in bell.rung] == [14, 30]


@pytest.mark.trio
@pytest.mark.parametrize("forgotten", [False, True])
async def test_hints_wait_until_their_time(autojump_clock: trio.testing.MockClock, forgotten: bool) -> None:
    async with running() as alarms:
        notifications = Notifications(None, alarms)
        began = trio.current_time()
        await notifications.wait(began + 5)
        assert trio.current_time() == began + 5
        if forgotten:
            notifications.forget()
        with trio.move_on_after(1):
            await notifications.wait(began + 9)
        assert trio.current_time() == began + 6, "a wait can be given up"
        await notifications.wait(began + 8)
        assert trio.current_time() == began + 8
        notifications.grew("a.slp")
        await notifications.wait(began + 50)
        assert trio.current_time() == began + 8


class SlowScans(InLine):
    """A share on which a scan takes three seconds."""

    def __init__(self, nursery: trio.Nursery) -> None:
        super().__init__()
        self._nursery = nursery

    def start(self, work: Callable[[], T], deliver: Callable[[Outcome[T]], None]) -> None:
        async def scan() -> None:
            await trio.sleep(3)
            deliver(capture(work))

        self._nursery.start_soon(scan)


@pytest.mark.trio
@pytest.mark.parametrize("degraded", [None, "polling was asked for"])
async def test_a_slow_scan_is_waited_for(
    autojump_clock: trio.testing.MockClock, tmp_path: Path, degraded: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass has something to do, or waits: also while the folders cannot be looked at."""
    passes: list[float] = []
    advance = FolderTail._advance

    async def counted(self: FolderTail, at: float) -> None:
        passes.append(at)
        assert len(passes) < 300
        await advance(self, at)

    monkeypatch.setattr(FolderTail, "_advance", counted)
    async with running() as alarms, trio.open_nursery() as nursery:
        tail = FolderTail(
            tmp_path,
            suffixes=(".slp",),
            rewritable_bytes=REWRITABLE,
            notifications=Notifications(degraded, alarms),
            threads=SlowScans(nursery),
        )
        async with tail:
            with trio.move_on_after(20):
                async for _ in tail:
                    pass
        assert 3 <= len(passes) <= 60
        nursery.cancel_scope.cancel()
