"""The watcher and the tail together, on the real clock, with real notifications and threads.

What keeps these tests deterministic: nothing is asserted about a time, except that a deadline far beyond it was kept.
Where notifications are to be proven, polls and scans are so far apart that they cannot have been it.
"""

from __future__ import annotations

import errno
import os
import shutil
import struct
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from slpstream.model.errors import Vanished
from slpstream.sources.tail import (
    FolderTail,
    Grew,
    Lost,
    Notifications,
    Opened,
    Rewritten,
    Scanned,
    Settled,
    TailedFile,
    TailEvent,
    Watcher,
    watcher,
)
from slpstream.sources.tail.inotify import InotifyReader
from slpstream.sources.tail.timers import Timers
from tests.sources.tail.driver import REWRITABLE

pytestmark = [
    pytest.mark.trio,
    # Watchdog, when it sees a new folder twice. It does no harm, but an error in its thread would.
    pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning"),
]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

NEVER = 1000.0
DEADLINE = 10.0


def tail_of(root: Path, notifications: Notifications | None, *, poll: float = NEVER, scan: float = NEVER) -> FolderTail:
    return FolderTail(
        root,
        suffixes=(".slp",),
        rewritable_bytes=REWRITABLE,
        notifications=notifications,
        poll_seconds=poll,
        scan_seconds=scan,
    )


class Heard:
    """What a consumer has heard so far."""

    def __init__(self, tail: FolderTail) -> None:
        self.tail = tail
        self.events: list[TailEvent] = []
        self.data: dict[TailedFile, bytearray] = {}
        self._news = trio.Event()

    async def listen(self) -> None:
        async for event in self.tail:
            self.events.append(event)
            if isinstance(event, Opened):
                self.data[event.file] = bytearray()
            elif isinstance(event, Grew):
                assert event.offset == len(self.data[event.file])
                self.data[event.file] += event.data
            elif isinstance(event, Rewritten):
                self.data[event.file][: len(event.data)] = event.data
            self._news.set()

    async def until(self, kind: type, count: int = 1) -> TailEvent:
        """Wait for the nth event of a kind."""
        while True:
            found = [event for event in self.events if isinstance(event, kind)]
            if len(found) >= count:
                return found[count - 1]
            self._news = trio.Event()
            await self._news.wait()

    async def until_data(self, name: str, data: bytes) -> None:
        """Wait until a file has this name and has been delivered so far. Of a new name there is no event."""
        while not any(file.path.name == name and bytes(got) == data for file, got in self.data.items()):
            await trio.sleep(0.001)


@asynccontextmanager
async def listening(tail: FolderTail) -> AsyncIterator[Heard]:
    """Someone who listens, and who has heard that everything from before is there."""
    heard = Heard(tail)
    with trio.fail_after(DEADLINE):
        async with tail, trio.open_nursery() as nursery:
            nursery.start_soon(heard.listen)
            await heard.until(Settled)
            yield heard
            nursery.cancel_scope.cancel()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "replays"
    folder.mkdir()
    return folder


def append(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(data)


def observers() -> list[threading.Thread]:
    """Threads that would not be there without a watcher. (Trio's own worker threads linger, on purpose.)"""
    return [thread for thread in threading.enumerate() if type(thread).__module__.startswith("watchdog")]


async def test_an_append_is_told_of(root: Path) -> None:
    path = root / "a.slp"
    append(path, b"one")
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root))) as heard:
        assert heard.tail._notifications.degraded is None
        append(path, b"two")
        await heard.until_data("a.slp", b"onetwo")
        with path.open("r+b", buffering=0) as file:
            file.write(b"ONE")
        await heard.until(Rewritten)
        await heard.until_data("a.slp", b"ONEtwo")


async def test_a_new_file_is_told_of(root: Path) -> None:
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root))) as heard:
        append(root / "a.slp", b"one")
        append(root / "other.txt", b"one")
        await heard.until_data("a.slp", b"one")
        (root / "a.slp").rename(root / "b.slp")
        append(root / "b.slp", b"two")
        await heard.until_data("b.slp", b"onetwo")
        assert len(heard.data) == 1


async def test_files_in_folders_that_were_made_a_moment_ago(root: Path) -> None:
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root))) as heard:
        (root / "2026" / "11").mkdir(parents=True)
        append(root / "2026" / "11" / "a.slp", b"one")
        await heard.until_data("a.slp", b"one")
        (root / "2026" / "12").mkdir()
        append(root / "2026" / "12" / "b.slp", b"one")
        await heard.until_data("b.slp", b"one")


async def test_a_file_in_a_folder_that_is_moved(root: Path) -> None:
    (root / "x").mkdir()
    append(root / "x" / "a.slp", b"one")
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root))) as heard:
        (file,) = heard.tail.active
        (root / "x").rename(root / "y")
        append(root / "y" / "a.slp", b"two")
        while file.path != root / "y" / "a.slp":
            await trio.sleep(0.01)
        await heard.until_data("a.slp", b"onetwo")
        assert list(heard.tail.active) == [file]


async def test_a_file_that_is_deleted(root: Path) -> None:
    append(root / "a.slp", b"one")
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root))) as heard:
        (root / "a.slp").unlink()
        lost = await heard.until(Lost)
        assert isinstance(lost, Lost)
        assert isinstance(lost.error, Vanished)


async def test_a_root_that_is_deleted_and_made_again(root: Path) -> None:
    append(root / "a.slp", b"one")
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root), scan=0.2)) as heard:
        shutil.rmtree(root)
        await heard.until(Lost)
        while heard.tail.root_present:
            await trio.sleep(0.01)
        assert heard.tail._notifications.degraded
        root.mkdir()
        while heard.tail._notifications.degraded:
            await trio.sleep(0.01)
        append(root / "a.slp", b"new")
        await heard.until_data("a.slp", b"new")
        append(root / "a.slp", b"er")
        await heard.until_data("a.slp", b"newer")


async def test_a_root_that_is_replaced_is_watched_anew(root: Path, tmp_path: Path) -> None:
    """Inotify would follow the old folder to its new name."""
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root), scan=0.2)) as heard:
        root.rename(tmp_path / "moved")
        root.mkdir()
        append(root / "a.slp", b"one")
        append(tmp_path / "moved" / "b.slp", b"not ours")
        await heard.until_data("a.slp", b"one")
        append(root / "a.slp", b"two")
        await heard.until_data("a.slp", b"onetwo")
        assert len(heard.data) == 1


async def test_a_root_that_comes_later(tmp_path: Path) -> None:
    root = tmp_path / "later" / "replays"
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root))) as heard:
        assert heard.events == [Scanned(()), Settled()]
        root.mkdir(parents=True)
        append(root / "a.slp", b"one")
        await heard.until_data("a.slp", b"one")


async def test_a_root_that_is_a_link(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    append(root / "a.slp", b"one")
    async with Watcher() as watch, listening(tail_of(link, watch.watch(link))) as heard:
        append(root / "a.slp", b"two")
        await heard.until_data("a.slp", b"onetwo")
        append(root / "b.slp", b"one")
        await heard.until_data("b.slp", b"one")
        assert {file.path.parent for file in heard.data} == {link}


async def test_two_tails_of_one_root_and_one_inside_it(root: Path) -> None:
    (root / "sub").mkdir()
    async with (
        Watcher() as watch,
        listening(tail_of(root, watch.watch(root))) as one,
        listening(tail_of(root, watch.watch(root))) as two,
        listening(tail_of(root / "sub", watch.watch(root / "sub"))) as inner,
    ):
        append(root / "sub" / "a.slp", b"one")
        for heard in (one, two, inner):
            await heard.until_data("a.slp", b"one")
        append(root / "sub" / "a.slp", b"two")
        for heard in (one, two, inner):
            await heard.until_data("a.slp", b"onetwo")


async def test_who_does_not_listen_any_more_costs_nothing_and_disturbs_nobody(root: Path) -> None:
    async with Watcher() as watch:
        idle = len(observers())
        for _ in range(3):  # a root can be watched again
            gone, stays = watch.watch(root), watch.watch(root)
            async with listening(tail_of(root, gone)):
                pass
            async with listening(tail_of(root, stays)) as heard:
                watch.unwatch(gone)
                append(root / "a.slp", b"one")
                await heard.until(Grew)
                assert not gone.take().paths
                gone.refresh()
                gone.attend([str(root)])
            (root / "a.slp").unlink()
            assert len(observers()) > idle
            watch.unwatch(stays)
            watch.unwatch(stays)
            with trio.fail_after(DEADLINE):
                while len(observers()) > idle:
                    await trio.sleep(0.001)
            assert not watch._roots
            assert watch._growth is None or not watch._growth._folders


async def test_polling_alone_finds_everything(root: Path) -> None:
    async with Watcher(polling_only=True) as watch:
        notifications = watch.watch(root)
        assert notifications.degraded == "polling was asked for"
        assert not observers()
        async with listening(tail_of(root, notifications, poll=0.02, scan=0.1)) as heard:
            append(root / "a.slp", b"one")
            await heard.until_data("a.slp", b"one")
            append(root / "a.slp", b"two")
            await heard.until_data("a.slp", b"onetwo")
            (root / "a.slp").unlink()
            await heard.until(Lost)


async def test_watchdog_tells_of_growth_where_nobody_else_does(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows and macOS, and when there is no second inotify instance."""

    def none_left() -> InotifyReader:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(watcher, "InotifyReader", none_left)
    path = root / "a.slp"
    append(path, b"one")
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root))) as heard:
        append(path, b"two")
        await heard.until_data("a.slp", b"onetwo")


async def test_no_notifications_are_left_and_come_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = True
    real = BaseObserver.schedule

    def schedule(*args: object, **options: object) -> object:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(BaseObserver, "schedule", schedule)
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root), poll=0.02, scan=0.1)) as heard:
        notifications = heard.tail._notifications
        assert notifications.degraded == "no notifications: No space left on device"
        append(root / "a.slp", b"one")
        await heard.until_data("a.slp", b"one")
        full = False
        while notifications.degraded is not None:
            await trio.sleep(0.01)


async def test_no_observer_is_to_be_had(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left() -> BaseObserver:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(watcher, "Observer", none_left)
    async with Watcher() as watch:
        notifications = watch.watch(root)
        assert notifications.degraded == "no notifications: Too many open files"
        async with listening(tail_of(root, notifications, poll=0.02, scan=0.1)) as heard:
            append(root / "a.slp", b"one")
            await heard.until_data("a.slp", b"one")


@on_linux
async def test_no_watches_are_left_for_growth(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InotifyReader, "watch", lambda *_: OSError(errno.ENOSPC, "No space left on device"))
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root), poll=0.02)) as heard:
        assert heard.tail._notifications.degraded == "no notifications: No space left on device"
        append(root / "a.slp", b"one")
        await heard.until_data("a.slp", b"one")


@on_linux
async def test_growth_forgets_folders_and_says_when_it_was_overrun(root: Path) -> None:
    (root / "sub").mkdir()
    growth = InotifyReader()
    one, two = Notifications(None), Notifications(None)
    assert growth.watch(one, [str(root), str(root / "sub")]) is None
    assert growth.watch(two, [str(root)]) is None
    assert growth.watch(one, [str(root / "sub"), str(root / "missing")]) is not None
    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(growth.run)
            append(root / "a.slp", b"x")
            append(root / "sub" / "b.slp", b"x")
            await one.wait(trio.current_time() + DEADLINE)
            await two.wait(trio.current_time() + DEADLINE)
            nursery.cancel_scope.cancel()
    assert one.take().paths == {str(root / "sub" / "b.slp")}
    assert two.take().paths == {str(root / "a.slp")}
    growth._tell(struct.pack("iIII", -1, 0x4000, 0, 0))
    assert one.take().rescan
    assert two.take().rescan
    growth.close()
    assert growth.watch(one, [str(root)]) is None


async def test_the_observer_is_gone_when_the_watcher_is(root: Path) -> None:
    before = observers()
    async with Watcher() as watch, listening(tail_of(root, watch.watch(root))):
        assert len(observers()) > len(before)
    assert observers() == before


async def test_who_waits_longer_than_the_watcher_has_a_timer(root: Path) -> None:
    """Hints are never needed: also when nobody gives any more, what is there is found."""
    found: deque[TailEvent] = deque()

    async def follow(tail: FolderTail) -> None:
        async for event in tail:
            found.append(event)

    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            async with Watcher() as watching:
                notifications = watching.watch(root)
                tail = tail_of(root, notifications, poll=0.02, scan=0.05)
                nursery.start_soon(follow, tail)
                while not any(isinstance(event, Settled) for event in found):
                    await trio.sleep(0.01)
            assert notifications.degraded is not None
            (root / "a.slp").write_bytes(b"x")
            while not any(isinstance(event, Grew) for event in found):
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()


async def test_nothing_is_left_after_many_starts(root: Path) -> None:
    append(root / "a.slp", b"one")
    (root / "sub").mkdir()

    async def once() -> None:
        async with Watcher() as watch, listening(tail_of(root, watch.watch(root))) as heard:
            append(root / "sub" / "b.slp", b"two")
            await heard.until(Opened, 2 if list((root / "sub").iterdir()) else 1)

    def descriptors() -> int:
        folder = Path("/proc/self/fd")
        return len(list(folder.iterdir())) if folder.is_dir() else 0

    await once()
    before, threads = descriptors(), len(observers())
    for _ in range(20):
        await once()
    assert descriptors() == before
    assert len(observers()) == threads


async def test_a_consumer_that_is_cancelled_again_and_again_loses_nothing(root: Path) -> None:
    path = root / "a.slp"
    written = bytearray()
    heard = bytearray()
    done = False

    async def write() -> None:
        nonlocal done
        for number in range(100):
            piece = bytes([number]) * 50
            append(path, piece)
            written.extend(piece)
            await trio.sleep(0.002)
        done = True

    async with Watcher() as watch, tail_of(root, watch.watch(root), poll=0.02, scan=0.05) as tail:
        with trio.fail_after(DEADLINE):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write)
                while not done or heard != written:
                    with trio.move_on_after(0.0007):
                        async for event in tail:
                            if isinstance(event, Grew):
                                assert event.offset == len(heard)
                                heard += event.data
    assert len(heard) == 5000


async def test_release_from_another_task_while_a_thread_reads(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks go through threads here, and a descriptor may not be closed under one."""

    def unsupported(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "preadv", unsupported, raising=False)
    for number in range(5):
        append(root / f"{number}.slp", b"x")

    async def disturb(tail: FolderTail) -> None:
        for number in range(200):
            append(root / f"{number % 5}.slp", b"x" * 100)
            await trio.sleep(0.001)
            for file in list(tail.active)[:1]:
                tail.release(file)

    async with Watcher() as watch, listening(tail_of(root, watch.watch(root), poll=0.01, scan=0.02)) as heard:
        await disturb(heard.tail)
        while len(heard.tail.active) < 5:
            append(root / f"{len(heard.events) % 5}.slp", b"x")
            await trio.sleep(0.01)
        contents = {file.path: bytes(heard.data[file]) for file in heard.tail.active}
        while any(path.read_bytes() != data for path, data in contents.items()):
            await trio.sleep(0.01)
            contents = {file.path: bytes(heard.data[file]) for file in heard.tail.active}
        assert not any(isinstance(event, Lost) for event in heard.events)


async def test_an_error_of_the_consumer_arrives_as_it_is(root: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with Watcher() as watch, tail_of(root, watch.watch(root)) as tail:
            async for _ in tail:
                raise ZeroDivisionError
    with pytest.raises(StopAsyncIteration):
        await tail.__anext__()


async def test_events_for_those_who_watch_no_more_are_dropped(root: Path) -> None:
    """The observer's thread can be a moment behind the event loop's end."""
    token: trio.lowlevel.TrioToken | None = None

    async def other_loop() -> None:
        nonlocal token
        token = trio.lowlevel.current_trio_token()

    await trio.to_thread.run_sync(lambda: trio.run(other_loop))
    assert token is not None
    watched = watcher._WatchedRoot(str(root), Observer(), None, Timers(), token)
    notifications = watched.listen()
    watched._touch(str(root / "a.slp"))
    assert notifications.take().paths == {str(root / "a.slp")}
    watched._observer.stop()
