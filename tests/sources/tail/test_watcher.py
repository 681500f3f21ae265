"""The watcher and the tail together, on the real clock, with real notifications and threads.

Determinism: nothing is asserted about times, except that a generous deadline was met. Tests of notifications use poll
and scan intervals so long that neither can find the change.
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
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
import trio
import trio.testing
from watchdog.observers.api import BaseObserver

from slpstream.formats.kernel import kernel
from slpstream.model.errors import Vanished
from slpstream.sources.tail import scanning, threads
from slpstream.sources.tail import watcher as watcher_module
from slpstream.sources.tail.changes import ChangeReader, GrowthReader
from slpstream.sources.tail.events import Grew, Lost, Opened, Rewritten, Settled, TailedFile, TailEvent
from slpstream.sources.tail.folder import FolderTail
from slpstream.sources.tail.inotify import InotifyReader
from slpstream.sources.tail.notifications import Connection, Notifications, Strategy
from slpstream.sources.tail.threads import TrioThreads
from slpstream.sources.tail.watcher import ReadersOf, Watcher, readers_of_platform
from tests.project import has_part
from tests.sources.tail.driver import REWRITABLE, append

pytestmark = [
    pytest.mark.trio,
    # Watchdog warns when it sees a new folder twice. This is harmless, but as an error it would end its thread.
    pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning"),
]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify exists only on Linux")
on_windows = pytest.mark.skipif(sys.platform != "win32", reason="ReadDirectoryChangesW exists only on Windows")

NEVER = 1000.0
DEADLINE = 60.0

Readers = tuple[Strategy, ChangeReader | None, GrowthReader | None]


def kqueue_readers(token: trio.lowlevel.TrioToken) -> Readers:
    """As on macOS."""
    from slpstream.parts.platforms.kqueue import KqueueReader
    from tests.sources.tail import fake_kqueue  # it needs Linux

    reader = KqueueReader(fake_kqueue.kernel())
    return "kqueue", reader, reader


def no_readers(token: trio.lowlevel.TrioToken) -> Readers:
    """Simulates a system without free inotify instances: watchdog replaces them."""
    raise OSError(errno.EMFILE, "Too many open files")


class Way(NamedTuple):
    """A way in which a tail learns of changes."""

    strategy: Strategy
    readers_of: ReadersOf = readers_of_platform
    hands_over: bool = False
    """Whether growth is handed over as soon as it is reported."""


ON_PLATFORM: Strategy = {"linux": "inotify", "win32": "directory changes"}.get(sys.platform, "kqueue")  # type: ignore[assignment]
WAYS = [
    Way(ON_PLATFORM),
    Way(ON_PLATFORM, hands_over=True),
    *([Way("watchdog", no_readers)] if sys.platform == "linux" else []),
    *([Way("kqueue", kqueue_readers)] if sys.platform == "linux" and has_part("platforms") else []),
]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: f"{way.strategy}{'-handed-over' * way.hands_over}")


class Consumer:
    """Iterates a tail and keeps all events and bytes."""

    def __init__(self, tail: FolderTail, notifications: Notifications, hands_over: bool) -> None:
        self.tail = tail
        self.notifications = notifications
        self.events: list[TailEvent] = []
        self.data: dict[TailedFile, bytearray] = {}
        self.handed_over = 0
        if hands_over:
            tail.hand_over_growth(self._take_growth)

    async def run(self) -> None:
        async for event in self.tail:
            self._take(event)

    def _take_growth(self, event: TailEvent) -> None:
        assert isinstance(event, Grew)
        self.handed_over += 1
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

    async def until(self, kind: type) -> TailEvent:
        """Wait for the first event of a kind."""
        await until(lambda: any(isinstance(event, kind) for event in self.events))
        return next(event for event in self.events if isinstance(event, kind))

    async def until_data(self, name: str, data: bytes) -> None:
        """Wait until a file has this name and these bytes were delivered."""
        await until(lambda: any(file.path.name == name and bytes(got) == data for file, got in self.data.items()))


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await trio.sleep(0.001)


async def rename_folder(folder: Path, target: Path) -> None:
    """Rename a folder. Wine refuses to do this while a scan reads the names in it, so we try until it works."""
    platform: str = sys.platform  # annotated, so that mypy checks the lines for Windows too

    def is_renamed() -> bool:
        try:
            folder.rename(target)
        except PermissionError:
            if platform != "win32":
                raise
            return False
        return True

    await until(is_renamed)


@asynccontextmanager
async def consuming(
    root: Path, notifications: Notifications, *, poll: float = NEVER, scan: float = NEVER, hands_over: bool = False
) -> AsyncIterator[Consumer]:
    """A running consumer that has already received `Settled`."""
    tail = FolderTail(
        root,
        suffixes=(".slp",),
        rewritable_bytes=REWRITABLE,
        notifications=notifications,
        poll_seconds=poll,
        scan_seconds=scan,
    )
    consumer = Consumer(tail, notifications, hands_over)
    with trio.fail_after(DEADLINE):
        async with tail, trio.open_nursery() as nursery:
            nursery.start_soon(consumer.run)
            await consumer.until(Settled)
            yield consumer
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def following(root: Path, way: Way, **seconds: float) -> AsyncIterator[Consumer]:
    """A consumer of a watched folder."""
    async with (
        Watcher(readers_of=way.readers_of) as watcher,
        consuming(root, watcher.watch(root), hands_over=way.hands_over, **seconds) as consumer,
    ):
        yield consumer


def connection_of(notifications: Notifications) -> Connection:
    assert notifications.connection is not None
    return notifications.connection


async def scan(notifications: Notifications, *folders: Path) -> None:
    """Use notifications as each scan does."""

    def watch() -> None:
        connection = notifications.connection
        if connection is None:
            return
        connection.watch_root()
        for path in map(str, folders):
            connection.watch_folder(path)
        connection.keep_folders(list(map(str, folders)))

    await trio.to_thread.run_sync(watch)


def observers() -> list[threading.Thread]:
    """The threads of watchdog. (Trio's worker threads linger on purpose.)"""
    return [thread for thread in threading.enumerate() if type(thread).__module__.startswith("watchdog")]


def descriptors() -> int:
    """The number of open descriptors."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def watches() -> int:
    """The number of inotify watches of the process."""
    return sum(path.read_text().count("inotify wd:") for path in Path("/proc/self/fdinfo").iterdir() if path.exists())


def reads_at_once(path: Path) -> bool:
    """Whether the file system supports reads that do not wait; tmpfs does not."""
    with path.open("rb") as file:
        try:
            return os.preadv(file.fileno(), [bytearray(1)], 0, os.RWF_NOWAIT) >= 0
        except (OSError, AttributeError):
            return sys.platform == "win32"


@each_way
async def test_append_is_delivered(root: Path, way: Way) -> None:
    path = root / "a.slp"
    append(path, b"one")
    async with following(root, way) as consumer:
        assert (consumer.notifications.strategy, consumer.notifications.degraded) == (way.strategy, None)
        assert bool(observers()) == (way.strategy == "watchdog")
        for count in range(1, 10):
            append(path, b"two")
            await consumer.until_data("a.slp", b"one" + b"two" * count)
        assert bool(consumer.handed_over) == (way.hands_over and reads_at_once(path))
        with path.open("r+b", buffering=0) as file:
            file.write(b"ONE")
        await consumer.until_data("a.slp", b"ONE" + b"two" * 9)


@on_linux
async def test_error_while_growth_is_handed_over_is_raised_by_the_iteration(root: Path) -> None:
    """Not by the task that reports the growth of all files."""
    path = root / "a.slp"
    append(path, b"0")
    if not reads_at_once(path):
        pytest.skip(f"files in {root} can only be read in threads")

    def fail(event: TailEvent) -> None:
        raise ZeroDivisionError

    with trio.fail_after(DEADLINE):
        async with Watcher() as watcher:
            tail = FolderTail(root, suffixes=(".slp",), rewritable_bytes=REWRITABLE, notifications=watcher.watch(root))
            tail.hand_over_growth(fail)
            async with tail:
                with pytest.raises(ZeroDivisionError):
                    async for event in tail:
                        if isinstance(event, Settled):
                            append(path, b"1")
                append(root / "b.slp", b"x")
                async for event in tail:
                    if isinstance(event, Grew) and event.file.path.name == "b.slp":
                        break


@on_linux
@pytest.mark.skipif(kernel is None, reason="the kernel is not built, or turned off by SLPSTREAM_PURE=1")
async def test_frames_are_read_by_the_kernel_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / "a.slp"
    append(path, bytes(1000))
    if not reads_at_once(path):
        pytest.skip(f"files in {root} can only be read in threads")
    async with following(root, WAYS[1]) as consumer:

        def fail(*arguments: object) -> int:
            raise AssertionError("the frame was read in Python")

        monkeypatch.setattr(os, "preadv", fail)
        data = bytes(1000)
        for number in range(3):
            append(path, bytes([number]) * 700)
            data += bytes([number]) * 700
            await consumer.until_data("a.slp", data)
        assert consumer.handed_over == 3


@on_linux
async def test_truncation_is_yielded_though_growth_is_handed_over(root: Path) -> None:
    path = root / "a.slp"
    append(path, b"long enough")
    async with following(root, WAYS[1]) as consumer:
        os.truncate(path, 3)
        lost = await consumer.until(Lost)
        assert isinstance(lost, Lost)
        assert lost.error.code == "truncated"
        await consumer.until_data("a.slp", b"lon")


@pytest.mark.not_on_windows("Wine keeps the name of a deleted file until it is closed, as Windows did before 10")
@each_way
async def test_new_file_is_delivered_until_it_is_deleted(root: Path, way: Way) -> None:
    async with following(root, way) as consumer:
        append(root / "a.slp", b"one")
        append(root / "other.txt", b"one")
        await consumer.until_data("a.slp", b"one")
        (root / "a.slp").rename(root / "b.slp")
        append(root / "b.slp", b"two")
        await consumer.until_data("b.slp", b"onetwo")
        assert len(consumer.data) == 1
        (root / "b.slp").unlink()
        lost = await consumer.until(Lost)
        assert isinstance(lost, Lost)
        assert isinstance(lost.error, Vanished)


@each_way
async def test_files_in_new_and_renamed_folders(root: Path, way: Way) -> None:
    async with following(root, way) as consumer:
        (root / "2026" / "11").mkdir(parents=True)
        append(root / "2026" / "11" / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")
        (root / "2026" / "12").mkdir()
        append(root / "2026" / "12" / "b.slp", b"one")
        await consumer.until_data("b.slp", b"one")
        followed = list(consumer.tail.active)
        await rename_folder(root / "2026", root / "2027")
        append(root / "2027" / "11" / "a.slp", b"two")
        await until(lambda: {file.path.parent.parent for file in followed} == {root / "2027"})
        await consumer.until_data("a.slp", b"onetwo")
        assert list(consumer.tail.active) == followed


@pytest.mark.not_on_windows("Wine keeps the name of a deleted file until it is closed, as Windows did before 10")
@each_way
async def test_root_deleted_and_recreated(root: Path, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deletion is reported, and a missing folder is looked for."""
    monkeypatch.setattr(scanning, "MISSING_SECONDS", 0.05)
    append(root / "a.slp", b"one")
    async with following(root, way) as consumer:
        shutil.rmtree(root)
        await consumer.until(Lost)
        await until(lambda: not consumer.tail.root_present)
        assert consumer.notifications.degraded
        root.mkdir()
        await until(lambda: not consumer.notifications.degraded)
        append(root / "a.slp", b"new")
        await consumer.until_data("a.slp", b"new")
        append(root / "a.slp", b"er")
        await consumer.until_data("a.slp", b"newer")


@each_way
async def test_root_created_during_a_scan_is_watched(tmp_path: Path, way: Way) -> None:
    """Otherwise only polling would find changes until the next scan."""
    root = tmp_path / "root"
    async with Watcher(readers_of=way.readers_of) as watcher:
        notifications = watcher.watch(root)
        connection = connection_of(notifications)
        await trio.to_thread.run_sync(connection.watch_root)
        root.mkdir()
        await trio.to_thread.run_sync(connection.watch_folder, str(root))
        await trio.to_thread.run_sync(connection.keep_folders, [str(root)])
        assert notifications.degraded is None
        append(root / "a.slp", b"one")
        await until(lambda: str(root / "a.slp") in notifications.take().paths)


@each_way
async def test_replaced_root_is_watched_again(root: Path, tmp_path: Path, way: Way) -> None:
    """Inotify would follow the old folder to its new name."""
    async with following(root, way, scan=0.2) as consumer:
        await rename_folder(root, tmp_path / "moved")
        root.mkdir()
        append(root / "a.slp", b"one")
        append(tmp_path / "moved" / "b.slp", b"not ours")
        await consumer.until_data("a.slp", b"one")
        append(root / "a.slp", b"two")
        await consumer.until_data("a.slp", b"onetwo")
        assert len(consumer.data) == 1


@pytest.mark.not_on_windows("Wine does not make symbolic links as Windows has them")
@each_way
async def test_root_that_is_a_link(root: Path, tmp_path: Path, way: Way) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    append(root / "a.slp", b"one")
    async with following(link, way) as consumer:
        append(root / "a.slp", b"two")
        await consumer.until_data("a.slp", b"onetwo")
        append(root / "b.slp", b"one")
        await consumer.until_data("b.slp", b"one")
        assert {file.path.parent for file in consumer.data} == {link}


@each_way
async def test_two_tails_of_one_root_and_one_inside_it(root: Path, way: Way) -> None:
    (root / "sub").mkdir()
    async with (
        Watcher(readers_of=way.readers_of) as watcher,
        consuming(root, watcher.watch(root)) as one,
        consuming(root, watcher.watch(root)) as two,
        consuming(root / "sub", watcher.watch(root / "sub")) as inner,
    ):
        for piece, whole in ((b"one", b"one"), (b"two", b"onetwo")):
            append(root / "sub" / "a.slp", piece)
            for consumer in (one, two, inner):
                await consumer.until_data("a.slp", whole)


@on_linux
@each_way
async def test_unwatched_notifications_cost_nothing(root: Path, way: Way) -> None:
    cost = {"watchdog": lambda: len(observers()), "kqueue": descriptors, "inotify": watches}[way.strategy]
    async with Watcher(readers_of=way.readers_of) as watcher:
        idle = cost()
        for count in range(3):  # a root can be watched again
            gone, stays = watcher.watch(root), watcher.watch(root)
            async with consuming(root, gone):
                pass
            async with consuming(root, stays) as consumer:
                watcher.unwatch(gone)
                append(root / f"{count}.slp", b"one")
                await consumer.until_data(f"{count}.slp", b"one")
                assert str(root / f"{count}.slp") not in gone.take().paths
                await scan(gone, root)
                assert cost() > idle
            watcher.unwatch(stays)
            watcher.unwatch(stays)
            with trio.fail_after(DEADLINE):
                await until(lambda: cost() == idle)


@pytest.mark.not_on_windows("Wine keeps the name of a deleted file until it is closed, as Windows did before 10")
async def test_polling_alone_finds_everything(root: Path) -> None:
    async with Watcher(polling_only=True) as watcher:
        notifications = watcher.watch(root)
        assert notifications.degraded == "polling was asked for"
        assert not observers()
        async with consuming(root, notifications, poll=0.02, scan=0.1) as consumer:
            append(root / "a.slp", b"one")
            await consumer.until_data("a.slp", b"one")
            append(root / "a.slp", b"two")
            await consumer.until_data("a.slp", b"onetwo")
            (root / "a.slp").unlink()
            await consumer.until(Lost)


# Resources that the system refuses and later grants.


@contextmanager
def refusing(owner: object, name: str, refuse: Callable[..., object]) -> Iterator[None]:
    """While the block runs, a function raises or returns the result of `refuse`, unless that is `None`."""
    real = getattr(owner, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, lambda *args, **options: refuse(*args) or real(*args, **options))
        yield


def raising(error: Exception) -> Callable[..., object]:
    def fail(*_: object) -> object:
        raise error

    return fail


NO_SPACE = OSError(errno.ENOSPC, "No space left on device")
NO_FILES = OSError(errno.EMFILE, "Too many open files")
NO_THREAD = RuntimeError("can't start new thread")


@on_linux
@pytest.mark.parametrize(
    ("readers_of", "owner", "name", "refuse", "reason"),
    [
        (no_readers, BaseObserver, "schedule", raising(NO_SPACE), "No space left on device"),
        (no_readers, watcher_module, "Observer", raising(NO_FILES), "Too many open files"),
        (no_readers, watcher_module, "Observer", raising(NO_THREAD), "can't start new thread"),
        (readers_of_platform, InotifyReader, "watch", lambda *_: NO_SPACE, "No space left on device"),
        (
            readers_of_platform,
            InotifyReader,
            "watch",
            lambda reader, listener, folder: NO_SPACE if folder.endswith("sub") else None,
            "No space left on device",
        ),
    ],
    ids=["full", "no observer", "no thread", "no watch", "no watch for a subfolder"],
)
async def test_polling_until_there_are_notifications_again(
    root: Path, readers_of: ReadersOf, owner: object, name: str, refuse: Callable[..., object], reason: str
) -> None:
    (root / "sub").mkdir()
    with ExitStack() as refusal:
        refusal.enter_context(refusing(owner, name, refuse))
        async with (
            Watcher(readers_of=readers_of) as watcher,
            consuming(root, watcher.watch(root), poll=0.02, scan=0.05) as polled,
            consuming(root, watcher.watch(root)) as notified,
        ):
            for consumer in (polled, notified):
                assert consumer.notifications.degraded == f"no notifications: {reason}"
            append(root / "sub" / "a.slp", b"one")
            await polled.until_data("a.slp", b"one")
            refusal.close()
            await until(lambda: polled.notifications.degraded is None)
            await scan(notified.notifications, root, root / "sub")
            assert notified.notifications.degraded is None
            append(root / "sub" / "b.slp", b"one")
            await notified.until_data("b.slp", b"one")
            append(root / "sub" / "b.slp", b"two")
            await notified.until_data("b.slp", b"onetwo")
    assert not observers()


@on_linux
async def test_watching_leaves_threads_for_other_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hundreds of subfolders as stations and a limit of tasks (systemd, `TasksMax`)."""
    monkeypatch.setattr(watcher_module, "SPARE_THREADS", 3)
    scheduled: list[BaseObserver] = []

    def refuse(observer: BaseObserver, *_: object) -> None:
        if len(scheduled) == 6:
            raise NO_THREAD
        scheduled.append(observer)

    with refusing(BaseObserver, "schedule", refuse):
        async with Watcher(readers_of=no_readers) as watcher:
            listeners: list[Notifications] = []
            for number in range(9):
                (tmp_path / str(number)).mkdir()
                listeners.append(watcher.watch(tmp_path / str(number)))
            for _ in range(2):  # at the second scan, no watch is tried again
                for notifications in listeners:
                    await trio.to_thread.run_sync(connection_of(notifications).watch_root)
                working = [notifications.degraded is None for notifications in listeners]
                assert working == [True] * 3 + [False] * 6
                assert "threads" in (listeners[-1].degraded or "")
                assert len(scheduled[0].emitters) == 3
            await trio.to_thread.run_sync(watcher.unwatch, listeners[0])
            await trio.to_thread.run_sync(connection_of(listeners[8]).watch_root)
            assert "can't start" in (listeners[8].degraded or ""), "there is room for one, and the limit still holds"


async def test_work_waits_until_a_thread_can_be_started(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(scanning, "MISSING_SECONDS", 0.02)
    chance = random.Random(1)
    failures: set[str] = set()

    def refuse_of(name: str) -> Callable[..., object]:
        def refuse(*_: object) -> None:
            if chance.random() < 0.6:
                failures.add(name)
                raise NO_THREAD

        return refuse

    append(root / "a.slp", b"one")
    with (
        refusing(trio.lowlevel, "start_thread_soon", refuse_of("start")),
        refusing(trio.to_thread, "run_sync", refuse_of("run")),
    ):
        async with consuming(root, Notifications("polling was asked for"), poll=0.02, scan=0.05) as consumer:
            await consumer.until_data("a.slp", b"one")
            append(root / "b.slp", b"two")
            await consumer.until_data("b.slp", b"two")
            await until(lambda: failures == {"start", "run"})


async def test_runtime_errors_of_the_work_itself_are_raised() -> None:
    def work() -> None:
        raise RuntimeError("a bug")

    with trio.fail_after(DEADLINE), pytest.raises(RuntimeError, match="a bug"):
        await TrioThreads().run(work)


@on_linux
async def test_inotify_is_used_once_an_instance_is_free(root: Path) -> None:
    is_left = False
    scheduled: list[BaseObserver] = []

    def readers_of(token: trio.lowlevel.TrioToken) -> Readers:
        return readers_of_platform(token) if is_left else no_readers(token)

    with refusing(BaseObserver, "schedule", lambda observer, *_: scheduled.append(observer)):
        async with (
            Watcher(readers_of=readers_of) as watcher,
            consuming(root, watcher.watch(root)) as consumer,
        ):
            append(root / "a.slp", b"one")
            await consumer.until_data("a.slp", b"one")
            is_left = True
            await scan(consumer.notifications, root)
            assert (consumer.notifications.strategy, consumer.notifications.degraded) == ("inotify", None)
            assert not scheduled[0].emitters
            append(root / "a.slp", b"two")
            await consumer.until_data("a.slp", b"onetwo")
            append(root / "b.slp", b"one")
            await consumer.until_data("b.slp", b"one")


@contextmanager
def nested_folders(root: Path, depth: int) -> Iterator[None]:
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
@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["inotify", "watchdog"])
async def test_deeply_nested_folders_are_followed(root: Path, strategy: str) -> None:
    """Deeper than watchdog's search can recurse: then polling finds the files."""
    readers_of = readers_of_platform if strategy == "inotify" else no_readers
    with nested_folders(root, depth=1200):
        async with (
            Watcher(readers_of=readers_of) as watcher,
            consuming(root, watcher.watch(root), poll=0.02, scan=0.5 if strategy == "watchdog" else NEVER) as consumer,
        ):
            degraded = consumer.notifications.degraded or ""
            # Since Python 3.12 the search of watchdog does not recurse.
            assert ("recursion" in degraded) == (strategy == "watchdog" and sys.version_info < (3, 12))
            path = root.joinpath(*["d"] * 1200, "a.slp")
            append(path, b"one")
            await consumer.until_data("a.slp", b"one")
            path.unlink()
            await consumer.until(Lost)


@on_linux
async def test_deleted_and_replaced_folders_leave_no_watches(root: Path, tmp_path: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    before = watches()
    async with following(root, WAYS[0]) as consumer:
        await until(lambda: watches() == before + 3)
        (root / "a").rename(root / "c")
        append(root / "c" / "b" / "a.slp", b"one")
        await consumer.until_data("a.slp", b"one")
        await until(lambda: watches() == before + 3)
        (root / "c").rename(tmp_path / "moved")
        (root / "c").mkdir()
        await until(lambda: watches() == before + 2)
        append(tmp_path / "moved" / "b" / "b.slp", b"not ours")
        append(root / "c" / "c.slp", b"one")
        await consumer.until_data("c.slp", b"one")
        (root / "c" / "c.slp").unlink()
        (root / "c").rmdir()
        await until(lambda: watches() == before + 1)
        assert {file.path.name for file in consumer.data} == {"a.slp", "c.slp"}


class Descriptor(int):
    """A watch descriptor. `hashed` counts how often any of them was stored or looked up in a set or dictionary."""

    hashed = 0

    def __hash__(self) -> int:
        Descriptor.hashed += 1
        return super().__hash__()


@on_linux
async def test_watching_many_folders_again_takes_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from watchdog.observers import inotify_c  # it cannot be imported on other systems

    add_watch = inotify_c.inotify_add_watch
    monkeypatch.setattr(inotify_c, "inotify_add_watch", lambda *arguments: Descriptor(add_watch(*arguments)))
    paths = [tmp_path / str(number) for number in range(1000)]
    for path in paths:
        path.mkdir()
    inotify = InotifyReader()
    listener = Notifications(None)

    def hashed_for(count: int) -> int:
        folders = dict.fromkeys(map(str, paths[:count]))
        before = Descriptor.hashed
        for folder in folders:
            assert inotify.watch(listener, folder) is None
        inotify.keep(listener, folders)
        return Descriptor.hashed - before

    hashed_for(1000)
    many = hashed_for(1000)
    inotify.keep(listener, ())
    hashed_for(100)
    few = hashed_for(100)
    assert 0 < many <= 10 * few
    inotify.keep(listener, ())
    inotify.close()


@on_linux
async def test_inotify_reports_overflow_to_all_listeners(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inotify = InotifyReader()
    listeners = [Notifications(None), Notifications(None)]
    for notifications in listeners:
        assert inotify.watch(notifications, str(root)) is None
        assert inotify.watch(notifications, str(root / "missing")) is not None
    overflow = struct.pack("iIII", -1, 0x4000, 0, 0)
    monkeypatch.setattr(os, "read", lambda descriptor, size: overflow)
    with trio.fail_after(DEADLINE):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(inotify.run)
            append(root / "a.slp", b"x")
            for notifications in listeners:
                await notifications.wait(trio.current_time() + DEADLINE)
                assert notifications.take() == (set(), True)
            nursery.cancel_scope.cancel()
    inotify.close()
    assert inotify.watch(listeners[0], str(root)) is None
    inotify.keep(listeners[0], ())


@on_windows
@pytest.mark.parts("platforms")
@pytest.mark.parametrize("has_run", [True, False])
async def test_late_scan_finds_the_reader_stopped(root: Path, has_run: bool) -> None:
    """It falls between the end of `run` and `close`, or waits for a `run` that never comes."""
    directory_changes = importlib.import_module("slpstream.parts.platforms.directory_changes")
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


# The end.


async def test_tail_polls_after_the_watcher_ends(root: Path) -> None:
    """Notifications are never required."""
    watcher = Watcher()
    await watcher.__aenter__()
    async with consuming(root, watcher.watch(root), poll=0.02, scan=0.05) as consumer:
        await watcher.__aexit__(None, None, None)
        assert consumer.notifications.degraded is not None
        append(root / "a.slp", b"x")
        await consumer.until_data("a.slp", b"x")


@on_linux
@each_way
async def test_no_threads_or_descriptors_leak(root: Path, way: Way) -> None:
    append(root / "a.slp", b"one")
    (root / "sub").mkdir()

    async def once(number: int) -> None:
        async with following(root, way) as consumer:
            append(root / "sub" / f"{number}.slp", b"two")
            await consumer.until_data(f"{number}.slp", b"two")

    await once(0)
    before = descriptors()
    for number in range(1, 11):
        await once(number)
    assert descriptors() <= before  # a thread may still have closed some
    assert not observers()


async def test_repeatedly_cancelled_consumer_loses_nothing(root: Path) -> None:
    path = root / "a.slp"
    written = bytearray()
    received = bytearray()

    async def write() -> None:
        for number in range(100):
            piece = bytes([number]) * 50
            append(path, piece)
            written.extend(piece)
            await trio.sleep(0.002)

    async with Watcher() as watcher:
        tail = FolderTail(
            root,
            suffixes=(".slp",),
            rewritable_bytes=REWRITABLE,
            notifications=watcher.watch(root),
            poll_seconds=0.02,
            scan_seconds=0.05,
        )
        with trio.fail_after(DEADLINE):
            async with tail, trio.open_nursery() as nursery:
                nursery.start_soon(write)
                while len(received) < 5000:
                    with trio.move_on_after(0.0007):
                        async for event in tail:
                            if isinstance(event, Grew):
                                assert event.offset == len(received)
                                received += event.data
    assert received == written


@pytest.mark.parametrize("hands_over", [False, True])
async def test_release_from_another_task_while_a_thread_reads(
    root: Path, monkeypatch: pytest.MonkeyPatch, hands_over: bool
) -> None:
    """Reads go through threads here, and no descriptor may be closed while a thread uses it."""

    def unsupported(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "preadv", unsupported, raising=False)
    for number in range(5):
        append(root / f"{number}.slp", b"x")
    way = Way(ON_PLATFORM, hands_over=hands_over)
    async with following(root, way, poll=0.01, scan=0.02) as consumer:
        for number in range(200):
            append(root / f"{number % 5}.slp", b"x" * 100)
            await trio.sleep(0.001)
            for file in list(consumer.tail.active)[:1]:
                consumer.tail.release(file)
        while len(consumer.tail.active) < 5:
            append(root / f"{len(consumer.events) % 5}.slp", b"x")
            await trio.sleep(0.01)
        await until(
            lambda: all(bytes(consumer.data.get(file, b"")) == file.path.read_bytes() for file in consumer.tail.active)
        )
        assert not any(isinstance(event, Lost) for event in consumer.events)


async def test_error_in_the_consumer_propagates_unchanged(root: Path) -> None:
    tail = FolderTail(root, suffixes=(".slp",), rewritable_bytes=REWRITABLE, notifications=None)
    with pytest.raises(ZeroDivisionError):
        async with tail:
            async for _ in tail:
                raise ZeroDivisionError
    with pytest.raises(StopAsyncIteration):
        await tail.__anext__()


@on_linux
async def test_events_after_the_end_of_the_event_loop_are_dropped(root: Path) -> None:
    """The observer's thread can briefly outlive the event loop."""
    scheduled: list[BaseObserver] = []

    async def other_loop() -> Notifications:
        watcher = Watcher(readers_of=no_readers)
        await watcher.__aenter__()
        notifications = watcher.watch(root)
        await scan(notifications, root)
        return notifications

    with refusing(BaseObserver, "schedule", lambda observer, *_: scheduled.append(observer)):
        notifications: Notifications = await trio.to_thread.run_sync(trio.run, other_loop)
    try:
        for path in (root / "a.slp", root / "b.slp"):
            append(path, b"x")
            with trio.fail_after(DEADLINE):
                while str(path) not in notifications.take().paths:
                    await trio.sleep(0.001)
    finally:
        for observer in scheduled:
            await trio.to_thread.run_sync(observer.stop)
            await trio.to_thread.run_sync(observer.join)
