"""The watcher and the tail together, on the real clock, with real notifications and threads.

Determinism: nothing is asserted about times, except that a generous deadline was met. Tests that prove notifications
set the poll and scan intervals so long that neither can have found the change.
"""

from __future__ import annotations

import errno
import importlib
import os
import random
import shutil
import struct
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import pytest
import trio
import trio.testing
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
)
from slpstream.sources.tail import watcher as watcher_module
from slpstream.sources.tail.inotify import InotifyReader
from slpstream.sources.tail.kqueue import KqueueReader
from slpstream.sources.tail.notifications import Strategy
from slpstream.sources.tail.threads import TrioThreads
from slpstream.sources.tail.timers import Timers
from tests.sources.tail.driver import REWRITABLE

pytestmark = [
    pytest.mark.trio,
    # Watchdog warns when it sees a new folder twice. This is harmless, but as an error it would end its thread.
    pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning"),
]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify exists only on Linux")
on_windows = pytest.mark.skipif(sys.platform != "win32", reason="ReadDirectoryChangesW exists only on Windows")

NEVER = 1000.0
real_readers = watcher_module._readers
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


class Consumer:
    """Iterates a tail and keeps all events and bytes."""

    handed_over: ClassVar[bool] = False
    """Whether it has growth handed over as soon as it is reported."""

    def __init__(self, tail: FolderTail) -> None:
        self.tail = tail
        self.events: list[TailEvent] = []
        self.data: dict[TailedFile, bytearray] = {}
        self.taken_at_once = 0
        self._received = trio.Event()
        if self.handed_over:
            tail.hand_over_growth(self._take_at_once)

    async def run(self) -> None:
        async for event in self.tail:
            self._take(event)

    def _take_at_once(self, event: TailEvent) -> None:
        assert isinstance(event, Grew)
        self.taken_at_once += 1
        self._take(event)

    def _take(self, event: TailEvent) -> None:
        self.events.append(event)
        if isinstance(event, Opened):
            self.data[event.file] = bytearray()
        elif isinstance(event, Grew):
            assert event.offset == len(self.data[event.file])
            self.data[event.file] += event.data
        elif isinstance(event, Rewritten):
            self.data[event.file][: len(event.data)] = event.data
        self._received.set()

    async def until(self, kind: type, count: int = 1) -> TailEvent:
        """Wait for the nth event of a kind."""
        while True:
            found = [event for event in self.events if isinstance(event, kind)]
            if len(found) >= count:
                return found[count - 1]
            self._received = trio.Event()
            await self._received.wait()

    async def until_data(self, name: str, data: bytes) -> None:
        """Wait until a file has this name and these bytes were delivered. (A rename causes no event.)"""
        while not any(file.path.name == name and bytes(got) == data for file, got in self.data.items()):
            await trio.sleep(0.001)


@asynccontextmanager
async def consuming(tail: FolderTail) -> AsyncIterator[Consumer]:
    """A consumer that runs, and has already received `Settled`."""
    consumer = Consumer(tail)
    with trio.fail_after(DEADLINE):
        async with tail, trio.open_nursery() as nursery:
            nursery.start_soon(consumer.run)
            await consumer.until(Settled)
            yield consumer
            nursery.cancel_scope.cancel()


@pytest.fixture(params=["yielded", "handed over", "watchdog", "kqueue"], autouse=True)
def growth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with all events yielded, with growth handed over at once, and with what other systems have in place
    of inotify."""
    monkeypatch.setattr(Consumer, "handed_over", request.param == "handed over")
    if request.param in ("watchdog", "kqueue") and sys.platform != "linux":
        pytest.skip("Windows has a reader of its own, and the stand-in for kqueue is made of inotify")
    if request.param == "watchdog":
        monkeypatch.setattr(watcher_module, "InotifyReader", none_left)
    if request.param == "kqueue":
        monkeypatch.setattr(watcher_module, "_readers", kqueue_readers)


def kqueue_readers(token: trio.lowlevel.TrioToken) -> tuple[Strategy, KqueueReader, KqueueReader]:
    """As on macOS."""
    from tests.sources.tail import fake_kqueue

    reader = KqueueReader(fake_kqueue.kernel())
    return "kqueue", reader, reader


@pytest.fixture
def with_inotify(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of inotify: all runs use it."""
    if sys.platform != "linux":
        pytest.skip("inotify exists only on Linux")
    monkeypatch.setattr(watcher_module, "InotifyReader", InotifyReader)
    monkeypatch.setattr(watcher_module, "_readers", real_readers)


@pytest.fixture
def with_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of watchdog: all runs use it, as on other systems, and while no inotify instance is left."""
    if sys.platform != "linux":
        pytest.skip("inotify is taken away, which Windows does not have")
    monkeypatch.setattr(watcher_module, "InotifyReader", none_left)
    monkeypatch.setattr(watcher_module, "_readers", real_readers)


def none_left() -> InotifyReader:
    """Stand for a system that has no inotify instances left."""
    raise OSError(errno.EMFILE, "Too many open files")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "replays"
    folder.mkdir()
    return folder


def append(path: Path, data: bytes) -> None:
    with path.open("ab", buffering=0) as file:
        file.write(data)


def observers() -> list[threading.Thread]:
    """The threads of watchdog. (Trio's worker threads linger on purpose.)"""
    return [thread for thread in threading.enumerate() if type(thread).__module__.startswith("watchdog")]


async def test_append_is_delivered(root: Path) -> None:
    path = root / "a.slp"
    append(path, b"one")
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        assert consumer.tail._notifications.degraded is None
        append(path, b"two")
        await consumer.until_data("a.slp", b"onetwo")
        with path.open("r+b", buffering=0) as file:
            file.write(b"ONE")
        await consumer.until(Rewritten)
        await consumer.until_data("a.slp", b"ONEtwo")


@on_linux
@pytest.mark.usefixtures("with_inotify")
async def test_growth_is_handed_over_while_the_iteration_waits(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consumer, "handed_over", True)
    path = root / "a.slp"
    append(path, b"0")
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        if not next(iter(consumer.tail._table.open)).nowait:
            pytest.skip(f"files in {root} can only be read in threads")
        for count in range(1, 10):
            append(path, b"%d" % count)
            await consumer.until_data("a.slp", bytes(range(ord("0"), ord("0") + count + 1)))
        assert consumer.taken_at_once >= 8
        path.unlink()
        await consumer.until(Lost)
        append(root / "b.slp", b"x")
        await consumer.until_data("b.slp", b"x")


@on_linux
@pytest.mark.usefixtures("with_inotify")
async def test_error_while_growth_is_handed_over_is_raised_by_the_iteration(root: Path) -> None:
    """Not by the task that reports the growth of all files."""
    path = root / "a.slp"
    append(path, b"0")
    async with Watcher() as watcher, tail_of(root, watcher.watch(root)) as tail:

        def fail(event: TailEvent) -> None:
            raise ZeroDivisionError

        tail.hand_over_growth(fail)
        with trio.fail_after(DEADLINE), pytest.raises(ZeroDivisionError):
            async for event in tail:
                if isinstance(event, Settled):
                    if not next(iter(tail._table.open)).nowait:
                        pytest.skip(f"files in {root} can only be read in threads")
                    append(path, b"1")
        (root / "b.slp").write_bytes(b"x")
        with trio.fail_after(DEADLINE):
            async for event in tail:
                if isinstance(event, Grew) and event.file.path.name == "b.slp":
                    break


@on_linux
async def test_truncation_is_yielded_though_growth_is_handed_over(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consumer, "handed_over", True)
    path = root / "a.slp"
    append(path, b"long enough")
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        with path.open("r+b") as file:
            file.truncate(3)
        lost = await consumer.until(Lost)
        assert isinstance(lost, Lost)
        assert lost.error.code == "truncated"
        await consumer.until_data("a.slp", b"lon")


async def test_new_file_is_delivered(root: Path) -> None:
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        append(root / "a.slp", b"one")
        append(root / "other.txt", b"one")
        await consumer.until_data("a.slp", b"one")
        (root / "a.slp").rename(root / "b.slp")
        append(root / "b.slp", b"two")
        await consumer.until_data("b.slp", b"onetwo")
        assert len(consumer.data) == 1


async def test_files_in_new_folders(root: Path) -> None:
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        (root / "2026" / "11").mkdir(parents=True)
        append(root / "2026" / "11" / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")
        (root / "2026" / "12").mkdir()
        append(root / "2026" / "12" / "b.slp", b"one")
        await consumer.until_data("b.slp", b"one")


async def test_file_in_a_renamed_folder(root: Path) -> None:
    (root / "x").mkdir()
    append(root / "x" / "a.slp", b"one")
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        (file,) = consumer.tail.active
        (root / "x").rename(root / "y")
        append(root / "y" / "a.slp", b"two")
        while file.path != root / "y" / "a.slp":
            await trio.sleep(0.01)
        await consumer.until_data("a.slp", b"onetwo")
        assert list(consumer.tail.active) == [file]


async def test_deleted_file_is_lost(root: Path) -> None:
    append(root / "a.slp", b"one")
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        (root / "a.slp").unlink()
        lost = await consumer.until(Lost)
        assert isinstance(lost, Lost)
        assert isinstance(lost.error, Vanished)


async def test_root_deleted_and_recreated(root: Path) -> None:
    append(root / "a.slp", b"one")
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root), scan=0.2)) as consumer:
        shutil.rmtree(root)
        await consumer.until(Lost)
        while consumer.tail.root_present:
            await trio.sleep(0.01)
        assert consumer.tail._notifications.degraded
        root.mkdir()
        while consumer.tail._notifications.degraded:
            await trio.sleep(0.01)
        append(root / "a.slp", b"new")
        await consumer.until_data("a.slp", b"new")
        append(root / "a.slp", b"er")
        await consumer.until_data("a.slp", b"newer")


async def test_replaced_root_is_watched_again(root: Path, tmp_path: Path) -> None:
    """Inotify would follow the old folder to its new name."""
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root), scan=0.2)) as consumer:
        root.rename(tmp_path / "moved")
        root.mkdir()
        append(root / "a.slp", b"one")
        append(tmp_path / "moved" / "b.slp", b"not ours")
        await consumer.until_data("a.slp", b"one")
        append(root / "a.slp", b"two")
        await consumer.until_data("a.slp", b"onetwo")
        assert len(consumer.data) == 1


async def test_root_created_later(tmp_path: Path) -> None:
    root = tmp_path / "later" / "replays"
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        assert consumer.events == [Scanned(()), Settled()]
        root.mkdir(parents=True)
        append(root / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")


async def test_root_that_is_a_link(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    append(root / "a.slp", b"one")
    async with Watcher() as watcher, consuming(tail_of(link, watcher.watch(link))) as consumer:
        append(root / "a.slp", b"two")
        await consumer.until_data("a.slp", b"onetwo")
        append(root / "b.slp", b"one")
        await consumer.until_data("b.slp", b"one")
        assert {file.path.parent for file in consumer.data} == {link}


async def test_two_tails_of_one_root_and_one_inside_it(root: Path) -> None:
    (root / "sub").mkdir()
    async with (
        Watcher() as watcher,
        consuming(tail_of(root, watcher.watch(root))) as one,
        consuming(tail_of(root, watcher.watch(root))) as two,
        consuming(tail_of(root / "sub", watcher.watch(root / "sub"))) as inner,
    ):
        append(root / "sub" / "a.slp", b"one")
        for consumer in (one, two, inner):
            await consumer.until_data("a.slp", b"one")
        append(root / "sub" / "a.slp", b"two")
        for consumer in (one, two, inner):
            await consumer.until_data("a.slp", b"onetwo")


async def test_unwatched_notifications_cost_nothing(root: Path) -> None:
    async with Watcher() as watcher:
        idle = len(observers())
        for count in range(3):  # a root can be watched again
            path = root / f"{count}.slp"
            gone, stays = watcher.watch(root), watcher.watch(root)
            async with consuming(tail_of(root, gone)):
                pass
            async with consuming(tail_of(root, stays)) as consumer:
                watcher.unwatch(gone)
                append(path, b"one")
                await consumer.until(Grew)
                assert str(path) not in gone.take().paths
                gone.watch_root()
                gone.watch_folder(str(root))
                gone.keep_folders([str(root)])
            path.unlink()
            inotify = watcher._system.reader
            if isinstance(inotify, KqueueReader):
                assert list(inotify._watched) == [stays]
            elif inotify is None:
                assert len(observers()) > idle
            elif isinstance(inotify, InotifyReader):
                assert list(inotify._watches) == [stays]
            watcher.unwatch(stays)
            watcher.unwatch(stays)
            with trio.fail_after(DEADLINE):
                while len(observers()) > idle:
                    await trio.sleep(0.001)
            assert not watcher._roots
            assert not isinstance(inotify, InotifyReader) or not (inotify._watches or inotify._listeners)
            assert not isinstance(inotify, KqueueReader) or not (inotify._watched or inotify._folders)


async def test_polling_alone_finds_everything(root: Path) -> None:
    async with Watcher(polling_only=True) as watcher:
        notifications = watcher.watch(root)
        assert notifications.degraded == "polling was asked for"
        assert not observers()
        async with consuming(tail_of(root, notifications, poll=0.02, scan=0.1)) as consumer:
            append(root / "a.slp", b"one")
            await consumer.until_data("a.slp", b"one")
            append(root / "a.slp", b"two")
            await consumer.until_data("a.slp", b"onetwo")
            (root / "a.slp").unlink()
            await consumer.until(Lost)


@pytest.mark.usefixtures("with_watchdog")
async def test_watchdog_reports_appends_without_inotify(root: Path) -> None:
    path = root / "a.slp"
    append(path, b"one")
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        assert watcher._system.reader is None
        append(path, b"two")
        await consumer.until_data("a.slp", b"onetwo")


@pytest.mark.usefixtures("with_watchdog")
async def test_notifications_come_back_after_enospc(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = True
    real = BaseObserver.schedule

    def schedule(*args: object, **options: object) -> object:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(BaseObserver, "schedule", schedule)
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root), poll=0.02, scan=0.1)) as consumer:
        notifications = consumer.tail._notifications
        assert notifications.degraded == "no notifications: No space left on device"
        append(root / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")
        full = False
        while notifications.degraded is not None:
            await trio.sleep(0.01)


@pytest.mark.usefixtures("with_watchdog")
async def test_polling_when_the_observer_cannot_start_a_thread(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with hundreds of subfolders as stations and a limit of tasks (systemd, `TasksMax`)."""

    def schedule(*_: object, **__: object) -> object:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(BaseObserver, "schedule", schedule)
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root), poll=0.02, scan=0.1)) as consumer:
        assert consumer.tail._notifications.degraded == "no notifications: can't start new thread"
        append(root / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")


@pytest.mark.usefixtures("with_watchdog")
async def test_threads_are_left_for_other_work_than_watching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_module, "_SPARE_THREADS", 3)
    real = BaseObserver.schedule
    watched = 0

    def schedule(*args: object, **options: object) -> object:
        nonlocal watched
        if watched == 6:
            raise RuntimeError("can't start new thread")
        watched += 1
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(BaseObserver, "schedule", schedule)
    async with Watcher() as watcher:
        listeners: list[Notifications] = []
        for number in range(9):
            (tmp_path / str(number)).mkdir()
            listeners.append(watcher.watch(tmp_path / str(number)))
        for _ in range(2):  # at the second scan, no watch is tried again
            for notifications in listeners:
                await trio.to_thread.run_sync(notifications.watch_root)
            working = [notifications.degraded is None for notifications in listeners]
            assert working == [True] * 3 + [False] * 6
            assert "threads" in (listeners[-1].degraded or "")
            system = watcher._system
            assert system.observer is not None
            assert len(system.observer.emitters) == len(system.watched) == 3
        await trio.to_thread.run_sync(watcher.unwatch, listeners[0])
        await trio.to_thread.run_sync(listeners[8].watch_root)
        assert "can't start" in (listeners[8].degraded or ""), "there is room for one, and the limit still holds"


async def test_work_waits_until_a_thread_can_be_started(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.sources.tail.threads._RETRY_SECONDS", 0.02)
    monkeypatch.setattr("slpstream.sources.tail.folder._MISSING_SECONDS", 0.02)
    real = trio.lowlevel.start_thread_soon
    failures, chance = 0, random.Random(1)

    def start_thread_soon(*args: object, **options: object) -> None:
        nonlocal failures
        if chance.random() < 0.6:
            failures += 1
            raise RuntimeError("can't start new thread")
        real(*args, **options)  # type: ignore[arg-type]

    for module in (trio.lowlevel, trio._threads):
        monkeypatch.setattr(module, "start_thread_soon", start_thread_soon)
    append(root / "a.slp", b"one")
    async with consuming(tail_of(root, None, poll=0.02, scan=0.05)) as consumer:
        await consumer.until_data("a.slp", b"one")
        append(root / "b.slp", b"two")
        await consumer.until_data("b.slp", b"two")
    assert failures


async def test_runtime_errors_of_the_work_itself_are_raised() -> None:
    def work() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await TrioThreads().run(work)


@asynccontextmanager
async def nested_folders(root: Path, depth: int) -> AsyncIterator[None]:
    """Nested folders for the duration of the block. `shutil.rmtree` could not remove them: it is recursive too."""
    innermost = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=innermost)
        outer, innermost = innermost, os.open("d", os.O_RDONLY, dir_fd=innermost)
        os.close(outer)
    try:
        yield
    finally:
        for _ in range(depth):
            inner, innermost = innermost, os.open("..", os.O_RDONLY, dir_fd=innermost)
            os.close(inner)
            os.rmdir("d", dir_fd=innermost)
        os.close(innermost)


@on_linux
@pytest.mark.usefixtures("with_watchdog")
async def test_polling_when_folders_are_nested_too_deeply(root: Path) -> None:
    """Deeper than watchdog's search can recurse."""
    async with (
        nested_folders(root, depth=1200),
        Watcher() as watcher,
        consuming(tail_of(root, watcher.watch(root), poll=0.02, scan=0.1)) as consumer,
    ):
        if sys.version_info < (3, 12):  # since then, the search does not recurse, and the folder is watched
            assert "recursion" in (consumer.tail._notifications.degraded or "")
        append(root / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")


@pytest.mark.usefixtures("with_watchdog")
@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "no notifications: Too many open files"),
        (RuntimeError("can't start new thread"), "no notifications: can't start new thread"),
    ],
)
async def test_polling_when_no_observer_can_be_started(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def no_observer() -> BaseObserver:
        raise error

    monkeypatch.setattr(watcher_module, "Observer", no_observer)
    async with Watcher() as watcher:
        notifications = watcher.watch(root)
        assert notifications.degraded == reason
        async with consuming(tail_of(root, notifications, poll=0.02, scan=0.1)) as consumer:
            append(root / "a.slp", b"one")
            await consumer.until_data("a.slp", b"one")


@pytest.mark.usefixtures("with_watchdog")
@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), RuntimeError("no thread")])
async def test_notifications_begin_when_the_observer_can_be_started(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    tries = 0

    def no_observer() -> BaseObserver:
        nonlocal tries
        tries += 1
        raise error

    monkeypatch.setattr(watcher_module, "Observer", no_observer)
    async with Watcher() as watcher:
        tail = tail_of(root, watcher.watch(root), poll=NEVER, scan=0.05)
        async with consuming(tail) as consumer:
            threads = threading.active_count()
            notifications = tail._notifications
            while tries < 5:
                await trio.sleep(0.01)
            assert notifications.degraded
            assert threading.active_count() <= threads, "a failure costs no thread"
            monkeypatch.setattr(watcher_module, "Observer", Observer)
            while notifications.degraded:
                await trio.sleep(0.01)
            tail._scan_seconds = NEVER
            await trio.sleep(0.2)
            append(root / "a.slp", b"one")
            await consumer.until_data("a.slp", b"one")
            append(root / "a.slp", b"two")
            await consumer.until_data("a.slp", b"onetwo")
    assert not observers()


@on_linux
@pytest.mark.usefixtures("with_watchdog")
async def test_notifications_come_from_inotify_once_an_instance_is_left(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root), scan=0.05)) as consumer:
        append(root / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")
        monkeypatch.setattr(watcher_module, "InotifyReader", InotifyReader)
        while not isinstance(reader := watcher._system.reader, InotifyReader) or not reader._watches:
            await trio.sleep(0.01)
        while consumer.tail._notifications.degraded is not None:
            await trio.sleep(0.01)
        append(root / "a.slp", b"two")
        await consumer.until_data("a.slp", b"onetwo")
        assert watcher._system.observer is not None
        assert not watcher._system.observer.emitters
        consumer.tail._scan_seconds = NEVER
        await trio.sleep(0.2)
        append(root / "b.slp", b"one")
        await consumer.until_data("b.slp", b"one")


@on_linux
@pytest.mark.usefixtures("with_inotify")
async def test_polling_when_no_inotify_watches_are_left(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InotifyReader, "watch", lambda *_: OSError(errno.ENOSPC, "No space left on device"))
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root), poll=0.02)) as consumer:
        assert consumer.tail._notifications.degraded == "no notifications: No space left on device"
        append(root / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")


@on_linux
@pytest.mark.usefixtures("with_inotify")
async def test_notifications_come_back_when_inotify_watches_are_left_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "sub").mkdir()
    full = True
    real = InotifyReader.watch

    def watch(reader: InotifyReader, listener: Notifications, folder: str) -> OSError | None:
        if full and folder != str(root):
            return OSError(errno.ENOSPC, "No space left on device")
        return real(reader, listener, folder)

    monkeypatch.setattr(InotifyReader, "watch", watch)
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root), poll=0.02, scan=0.1)) as consumer:
        notifications = consumer.tail._notifications
        while "No space left" not in (notifications.degraded or ""):
            await trio.sleep(0.001)
        append(root / "sub" / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")
        full = False
        while consumer.tail._notifications.degraded is not None:
            await trio.sleep(0.01)
        consumer.tail._scan_seconds = consumer.tail._poll_seconds = NEVER
        await trio.sleep(0.2)
        append(root / "sub" / "b.slp", b"one")
        await consumer.until_data("b.slp", b"one")


@on_linux
@pytest.mark.usefixtures("with_inotify")
async def test_deeply_nested_folders_are_watched(root: Path) -> None:
    async with (
        nested_folders(root, depth=1200),
        Watcher() as watcher,
        consuming(tail_of(root, watcher.watch(root))) as consumer,
    ):
        assert consumer.tail._notifications.degraded is None
        path = root.joinpath(*["d"] * 1200, "a.slp")
        append(path, b"one")
        await consumer.until_data("a.slp", b"one")
        path.unlink()
        await consumer.until(Lost)


@on_linux
@pytest.mark.usefixtures("with_inotify")
async def test_inotify_takes_no_thread_however_many_roots_there_are(tmp_path: Path) -> None:
    before = observers()
    async with Watcher() as watcher:
        for number in range(20):
            folder = tmp_path / str(number)
            folder.mkdir()
            notifications = watcher.watch(folder)
            await trio.to_thread.run_sync(notifications.watch_root)
            assert notifications.degraded is None
        assert observers() == before


@on_linux
@pytest.mark.usefixtures("with_inotify")
async def test_deleted_and_replaced_folders_leave_no_watches(root: Path, tmp_path: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
        inotify = watcher._system.reader
        assert isinstance(inotify, InotifyReader)

        async def until_watched(*folders: Path) -> None:
            names = {str(root), *map(str, folders)}
            while set(inotify._watches[consumer.tail._notifications]) != names or len(inotify._listeners) != len(names):
                await trio.sleep(0.001)

        await until_watched(root / "a", root / "a" / "b")
        (root / "a").rename(root / "c")
        await until_watched(root / "c", root / "c" / "b")
        (root / "c").rename(tmp_path / "moved")
        (root / "c").mkdir()
        await until_watched(root / "c")
        append(tmp_path / "moved" / "b" / "a.slp", b"not ours")
        append(root / "c" / "b.slp", b"one")
        await consumer.until_data("b.slp", b"one")
        (root / "c" / "b.slp").unlink()
        (root / "c").rmdir()
        await until_watched()
        assert len(consumer.data) == 1


@on_linux
async def test_inotify_drops_folders_and_reports_overflow(root: Path) -> None:
    (root / "sub").mkdir()
    inotify = InotifyReader()
    one, two = Notifications(None), Notifications(None)
    assert inotify.watch(one, str(root)) is None
    assert inotify.watch(one, str(root / "sub")) is None
    assert inotify.watch(two, str(root)) is None
    assert inotify.watch(one, str(root / "missing")) is not None
    inotify.keep(one, [str(root / "sub"), str(root / "missing")])
    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(inotify.run)
            append(root / "a.slp", b"x")
            append(root / "sub" / "b.slp", b"x")
            await one.wait(trio.current_time() + DEADLINE)
            await two.wait(trio.current_time() + DEADLINE)
            nursery.cancel_scope.cancel()
    assert one.take().paths == {str(root / "sub" / "b.slp")}
    assert two.take().paths == {str(root / "a.slp")}
    await inotify._dispatch(struct.pack("iIII", -1, 0x4000, 0, 0))
    assert one.take().rescan
    assert two.take().rescan
    inotify.close()
    assert inotify.watch(one, str(root)) is None
    inotify.keep(one, ())


@on_windows
@pytest.mark.parametrize("has_run", [True, False])
async def test_a_scan_that_is_late_finds_the_reader_of_changes_stopped(root: Path, has_run: bool) -> None:
    """It falls between the end of `run` and `close`, or waits for a `run` that never comes."""
    directory_changes = importlib.import_module("slpstream.sources.tail.directory_changes")
    reader = directory_changes.DirectoryChangesReader(trio.lowlevel.current_trio_token())
    listener = Notifications(None)
    answers: list[OSError | None] = []

    async def scan() -> None:
        answers.append(await trio.to_thread.run_sync(reader.watch, listener, str(root)))

    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            if has_run:
                async with trio.open_nursery() as running:
                    running.start_soon(reader.run)
                    await scan()
                    running.cancel_scope.cancel()
                reader.keep(listener, ())
            nursery.start_soon(scan)
            await trio.testing.wait_all_tasks_blocked(0.05)
            reader.close()
    assert [str(answer) for answer in answers] == [*(["None"] if has_run else []), "the watcher has stopped"]


@pytest.mark.usefixtures("with_watchdog")
async def test_observer_ends_with_the_watcher(root: Path) -> None:
    before = observers()
    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))):
        assert len(observers()) > len(before)
    assert observers() == before


async def test_tail_goes_on_by_polling_after_the_watcher_ends(root: Path) -> None:
    """Notifications are never required."""
    events: deque[TailEvent] = deque()

    async def follow(tail: FolderTail) -> None:
        async for event in tail:
            events.append(event)

    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            async with Watcher() as watcher:
                notifications = watcher.watch(root)
                tail = tail_of(root, notifications, poll=0.02, scan=0.05)
                nursery.start_soon(follow, tail)
                while not any(isinstance(event, Settled) for event in events):
                    await trio.sleep(0.01)
            assert notifications.degraded is not None
            (root / "a.slp").write_bytes(b"x")
            while not any(isinstance(event, Grew) for event in events):
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()


async def test_no_threads_or_descriptors_leak(root: Path) -> None:
    append(root / "a.slp", b"one")
    (root / "sub").mkdir()

    async def once() -> None:
        async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root))) as consumer:
            append(root / "sub" / "b.slp", b"two")
            await consumer.until(Opened, 2 if list((root / "sub").iterdir()) else 1)

    def descriptors() -> int:
        folder = Path("/proc/self/fd")
        return len(list(folder.iterdir())) if folder.is_dir() else 0

    await once()
    before, threads = descriptors(), len(observers())
    for _ in range(20):
        await once()
    assert descriptors() <= before  # a thread may still have closed some
    assert len(observers()) == threads


async def test_repeatedly_cancelled_consumer_loses_nothing(root: Path) -> None:
    path = root / "a.slp"
    written = bytearray()
    received = bytearray()
    done = False

    async def write() -> None:
        nonlocal done
        for number in range(100):
            piece = bytes([number]) * 50
            append(path, piece)
            written.extend(piece)
            await trio.sleep(0.002)
        done = True

    async with Watcher() as watcher, tail_of(root, watcher.watch(root), poll=0.02, scan=0.05) as tail:
        with trio.fail_after(DEADLINE):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(write)
                while not done or received != written:
                    with trio.move_on_after(0.0007):
                        async for event in tail:
                            if isinstance(event, Grew):
                                assert event.offset == len(received)
                                received += event.data
    assert len(received) == 5000


async def test_release_from_another_task_while_a_thread_reads(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads go through threads here, and no descriptor may be closed while a thread uses it."""

    def unsupported(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "preadv", unsupported, raising=False)
    for number in range(5):
        append(root / f"{number}.slp", b"x")

    async def append_and_release(tail: FolderTail) -> None:
        for number in range(200):
            append(root / f"{number % 5}.slp", b"x" * 100)
            await trio.sleep(0.001)
            for file in list(tail.active)[:1]:
                tail.release(file)

    async with Watcher() as watcher, consuming(tail_of(root, watcher.watch(root), poll=0.01, scan=0.02)) as consumer:
        await append_and_release(consumer.tail)
        while len(consumer.tail.active) < 5:
            append(root / f"{len(consumer.events) % 5}.slp", b"x")
            await trio.sleep(0.01)
        contents = {file.path: bytes(consumer.data.get(file, b"")) for file in consumer.tail.active}
        while any(path.read_bytes() != data for path, data in contents.items()):
            await trio.sleep(0.01)
            contents = {file.path: bytes(consumer.data.get(file, b"")) for file in consumer.tail.active}
        assert not any(isinstance(event, Lost) for event in consumer.events)


async def test_error_in_the_consumer_propagates_unchanged(root: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        async with Watcher() as watcher, tail_of(root, watcher.watch(root)) as tail:
            async for _ in tail:
                raise ZeroDivisionError
    with pytest.raises(StopAsyncIteration):
        await tail.__anext__()


async def test_events_after_the_end_of_the_event_loop_are_dropped(root: Path) -> None:
    """The observer's thread can briefly outlive the event loop."""
    token: trio.lowlevel.TrioToken | None = None

    async def other_loop() -> None:
        nonlocal token
        token = trio.lowlevel.current_trio_token()

    await trio.to_thread.run_sync(lambda: trio.run(other_loop))
    assert token is not None
    system = watcher_module._System(on_reader=lambda: None)
    watched = watcher_module._WatchedRoot(str(root), system, Timers(), token)
    notifications = watched.add_listener()
    watched._report(str(root / "a.slp"))
    assert notifications.take().paths == {str(root / "a.slp")}
