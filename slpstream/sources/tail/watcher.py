"""Notifications from the operating system, for all roots of the process.

Each platform has a strategy, which is chosen when the watcher starts:

- `inotify` on Linux: one instance reports everything to the event loop, without a thread (`InotifyReader`).
- `directory changes` on Windows and `kqueue` on macOS: the readers of the part `platforms`.
- `watchdog` on other systems, and while there is no inotify instance or kqueue left: one `Observer` with a thread or
  two for each root, and `SizePolling`. The observer's threads do as little as possible: they add a path to a set, and
  wake trio if the set was empty.

Many things can fail here: the folder might be missing, the system might have no inotify watches or instances left, or a
root might have been deleted and created again. Whatever it is, we poll the root instead, and every scan tries again.

We only subscribe to events that a reader needs. This keeps the inotify mask narrow, so that we don't cause events by
opening and closing files ourselves.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

import trio
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from slpstream.sources.tail.changes import ChangeReader, GrowthReader, OpenFile
from slpstream.sources.tail.identity import FileIdentity, identity_of
from slpstream.sources.tail.inotify import InotifyReader
from slpstream.sources.tail.notifications import Connection, Notifications, Strategy
from slpstream.sources.tail.scan import GONE
from slpstream.sources.tail.shared_thread import SharedThread
from slpstream.sources.tail.size_polling import SizePolling
from slpstream.sources.tail.timers import Timers

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

_STOP_SECONDS: Final = 5.0
SPARE_THREADS: Final = 64
"""When no more threads can be started, this many of the watched roots are polled instead."""
_NOT_YET: Final = "not watched yet"
_TOO_MANY: Final = "no notifications: no threads left for more folders"
_EVENTS: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileAttribEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_CANNOT_WATCH: Final = (OSError, RuntimeError)
"""The exceptions of watchdog when it cannot watch.

`OSError`: no inotify watches left (ENOSPC), no descriptors left (EMFILE), or the folder was just removed.
`RuntimeError`: no thread can be started, or (`RecursionError`) the folders are nested too deeply for its search.
"""
ReadersOf: TypeAlias = Callable[[trio.lowlevel.TrioToken], tuple[Strategy, ChangeReader | None, GrowthReader | None]]
"""Makes the readers of changes: one for both, or one for names and another for growth. Raises `OSError` if none is
left."""


class Watcher:
    """The source of notifications for any number of roots. You only need one of them per process.

    Use this as an asynchronous context manager.
    """

    def __init__(self, *, polling_only: bool = False, readers_of: ReadersOf | None = None) -> None:
        """Pass `polling_only=True` if the system doesn't report changes in your folders, or reports too many.

        `readers_of` makes the readers. By default, you get the readers of the platform.
        """
        self._polling_only = polling_only
        self._system = _System(self._on_reader, readers_of or readers_of_platform)
        self._reader_started = trio.Event()
        self._timers = Timers()
        self._scan_thread = SharedThread(self._timers)
        self._scope: trio.CancelScope | None = None
        self._ended = trio.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._roots: dict[str, _WatchedRoot] = {}

    async def __aenter__(self) -> Self:
        self._token = trio.lowlevel.current_trio_token()
        if not self._polling_only:
            await trio.to_thread.run_sync(self._system.start, self._token)
            self._scope = trio.CancelScope()
            trio.lowlevel.spawn_system_task(self._run, self._scope)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with trio.move_on_after(_STOP_SECONDS, shield=True):
            if self._scope is not None:
                self._scope.cancel()
                await self._ended.wait()
                for root in self._roots.values():
                    root.detach_all()
            await trio.to_thread.run_sync(self._system.stop, abandon_on_cancel=True)

    def watch(self, root: Path) -> Notifications:
        """Return notifications about everything below a folder, which doesn't even have to exist yet.

        Watching begins when `Connection.watch_root` is called for the first time.
        """
        if self._polling_only or self._token is None:
            return Notifications("polling was asked for")
        name = os.fspath(root)
        watched = self._roots.get(name)
        if watched is None:
            watched = _WatchedRoot(name, self._system, self._timers, self._scan_thread, self._token)
            self._roots[name] = watched
        return watched.add_listener()

    def unwatch(self, notifications: Notifications) -> None:
        """Stop sending these notifications.

        This blocks, so you should call it in a thread. Make sure that there won't be another scan that uses them.
        """
        for name, watched in list(self._roots.items()):
            if watched.remove_listener(notifications):
                del self._roots[name]
        if self._system.reader is not None:
            self._system.reader.keep(notifications, ())

    def _on_reader(self) -> None:
        """Tell the event loop that it can begin to read changes. This is called in a thread."""
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):
                self._token.run_sync_soon(self._reader_started.set)

    async def _run(self, scope: trio.CancelScope) -> None:
        with scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._timers.run)
                await self._reader_started.wait()
                if self._system.reader is not None:
                    nursery.start_soon(self._system.reader.run)
        self._ended.set()


def readers_of_platform(token: trio.lowlevel.TrioToken) -> tuple[Strategy, ChangeReader | None, GrowthReader | None]:
    """Return the readers for this platform (see `ReadersOf`)."""
    platform: str = sys.platform  # otherwise mypy checks the lines of one platform only
    if platform == "linux":
        return "inotify", InotifyReader(), None
    from slpstream.parts import registry  # noqa: PLC0415 -- on other systems only

    of_part: ReadersOf | None = registry.function(f"change_readers_{platform}")
    return ("watchdog", None, SizePolling(token)) if of_part is None else of_part(token)


class _System:
    """The reader of changes that the whole process shares. If there's none, this is an observer instead.

    It is started as soon as the system has the resources for it. All methods except `follow` and `unfollow` block, so
    call them in a thread.
    """

    def __init__(self, on_reader: Callable[[], None], readers_of: ReadersOf) -> None:
        """`on_reader` is called as soon as there is a reader to run. This happens in the same thread."""
        self.strategy: Strategy = "watchdog"
        self.observer: BaseObserver | None = None
        self.reader: ChangeReader | None = None
        self.growth: GrowthReader | None = None
        self.trouble: str | None = None
        """The reason why neither is running."""
        self.watched: dict[_WatchedRoot, None] = {}
        """The roots that the observer watches, in the order in which that began."""
        self.max_watched = sys.maxsize
        """Limit for their number: each takes a thread."""
        self._on_reader = on_reader
        self._readers_of = readers_of
        self._lock = threading.Lock()
        self._stopped = False

    def start(self, token: trio.lowlevel.TrioToken) -> None:
        """Start the reader or the observer if this has failed before.

        If it fails again, we have only lost one system call.
        """
        with self._lock:
            if self._stopped or self.reader is not None:
                return
            try:
                strategy, reader, growth = self._readers_of(token)
            except OSError:
                strategy, reader, growth = "watchdog", None, self.growth or SizePolling(token)
            if self.growth is None:
                self.growth = growth
            if reader is not None:
                if isinstance(self.growth, SizePolling) and self.growth is not growth:
                    self.growth.close()
                self.growth = growth
                self.strategy, self.reader, self.trouble = strategy, reader, None
                self._on_reader()
                return
            if self.observer is None:
                try:
                    observer = Observer()
                    observer.start()
                except _CANNOT_WATCH as error:
                    self.trouble = _reason_of(error)
                    return
                self.observer, self.trouble = observer, None

    def follow(self, notifications: Notifications, file: OpenFile) -> None:
        """Report when a file grows that was just opened, if the platform needs a reader for that.

        You have to call this in the event loop.
        """
        if self.growth is not None:
            self.growth.follow(notifications, file)

    def unfollow(self, file: OpenFile) -> None:
        """Stop reporting the growth of a file that is about to be closed. You have to call this in the event loop."""
        if self.growth is not None:
            self.growth.unfollow(file)

    def spare_threads(self) -> None:
        """Stop watching some of the roots, because no more threads can be started and we need some for other work
        too.
        """
        with self._lock:
            self.max_watched = min(self.max_watched, max(0, len(self.watched) - SPARE_THREADS))
            surplus = list(self.watched)[self.max_watched :]
            for root in surplus:
                self.watched.pop(root, None)
        for root in surplus:
            root.give_up(_TOO_MANY)

    def stop(self) -> None:
        """Stop the reader and the observer.

        They can't be started again. By now, the inotify instance must not be read any more.
        """
        with self._lock:
            self._stopped = True
            if isinstance(self.growth, SizePolling):
                self.growth.close()
            if self.reader is not None:
                self.reader.close()
            if self.observer is not None:
                self.observer.stop()
                self.observer.join()


class _WatchedRoot(FileSystemEventHandler):
    """One root with its listeners.

    If there is a reader, each listener has its own watches for the folders that its scans have found. Otherwise, the
    observer watches the root once for all of them, and calls `dispatch` in its own thread.
    """

    def __init__(
        self,
        root: str,
        system: _System,
        timers: Timers,
        scan_thread: SharedThread,
        token: trio.lowlevel.TrioToken,
    ) -> None:
        self._root = root
        self._system = system
        self._timers = timers
        self._scan_thread = scan_thread
        self._token = token
        self._listeners: tuple[Notifications, ...] = ()
        self._lock = threading.Lock()
        self._failures: dict[Notifications, OSError] = {}
        """For each listener, why a folder could not be watched in its last scan."""
        self._watch: ObservedWatch | None = None
        self._identity: FileIdentity | None = None
        self._emitter_ended = False
        # The observer gets the resolved folder: inotify would watch a link itself and not its target.
        self._real_root = root

    def add_listener(self) -> Notifications:
        """Return notifications for one more listener."""
        notifications = Notifications(self._system.trouble or _NOT_YET, self._timers, self._scan_thread)
        notifications.connection = Connection(
            watch_root=partial(self.watch_root, notifications),
            watch_folder=partial(self._watch_folder, notifications),
            keep_folders=partial(self._keep_folders, notifications),
            follow=partial(self._system.follow, notifications),
            unfollow=self._system.unfollow,
        )
        self._listeners += (notifications,)
        return notifications

    def remove_listener(self, notifications: Notifications) -> bool:
        """Remove a listener. If it was the last one, this returns True, and the root isn't watched any more."""
        if notifications not in self._listeners:
            return False
        self._listeners = tuple(other for other in self._listeners if other is not notifications)
        notifications.detach()
        if self._listeners:
            return False
        with self._lock:
            self._unwatch()
        return True

    def detach_all(self) -> None:
        """Let all listeners fall back to polling with their own timers, because the watcher has ended."""
        self._set_degraded("the watcher has stopped")
        listeners, self._listeners = self._listeners, ()
        for notifications in listeners:
            notifications.detach()
            notifications.wake()

    def dispatch(self, event: FileSystemEvent) -> None:
        """Handle one event. This is called by watchdog."""
        if event.is_directory:
            if isinstance(event, DirDeletedEvent) and event.src_path == self._real_root:
                self._emitter_ended = True  # watchdog's emitter ends with this event
            self._report_rescan()
        else:
            self._report(event.src_path)
            if event.dest_path:
                self._report(event.dest_path)

    def watch_root(self, notifications: Notifications) -> None:
        """Begin a scan for one listener, by watching the root if it exists. You can call this in any thread."""
        self._system.start(self._token)
        notifications.strategy = self._system.strategy
        if self._system.reader is None:
            self._observe_root()
            return
        if self._watch is not None:  # from a time when no reader was left
            with self._lock:
                self._unwatch()
            self._set_degraded(_NOT_YET)
        self._failures.pop(notifications, None)
        self._watch_folder(notifications, self._root)
        self._degrade(notifications)

    def _watch_folder(self, notifications: Notifications, folder: str) -> None:
        is_root = folder == self._root
        if self._system.reader is None:
            # The observer finds the folders below the root. The root itself may have been created after `watch_root`.
            if is_root and notifications.degraded is not None:
                self._observe_root()
            return
        error = self._system.reader.watch(notifications, folder)
        if error is None and is_root:
            self._failures.pop(notifications, None)  # created since `watch_root`
        elif error is not None and (is_root or error.errno not in GONE):
            self._failures.setdefault(notifications, error)

    def _keep_folders(self, notifications: Notifications, folders: Collection[str]) -> None:
        if self._system.reader is not None:
            self._system.reader.keep(notifications, folders)
            self._degrade(notifications)

    def _degrade(self, notifications: Notifications) -> None:
        """Set the reason why we have to poll. If the watcher has stopped, this does nothing."""
        if notifications not in self._listeners:
            return
        failure = self._failures.get(notifications)
        if failure is None:
            notifications.degraded = None
        elif failure.errno in GONE:
            notifications.degraded = f"the folder cannot be watched: {failure.strerror}"
        else:
            notifications.degraded = _reason_of(failure)

    def _observe_root(self) -> None:
        """Let the observer watch the root. If it is already watching the same folder, this does nothing."""
        with self._lock:
            try:
                real_root = os.path.realpath(self._root)
                identity = identity_of(os.stat(real_root))
            except OSError as error:
                self._unwatch()
                self._set_degraded(f"the folder cannot be watched: {error.strerror}")
                return
            system = self._system
            if system.observer is None:
                self._set_degraded(system.trouble)
                return
            is_same = identity == self._identity and real_root == self._real_root
            if not is_same or not self._is_watched():
                self._unwatch()
                self._real_root, self._identity = real_root, identity
                if len(system.watched) >= system.max_watched:
                    self._set_degraded(_TOO_MANY)
                    return
                try:
                    self._watch = system.observer.schedule(self, real_root, recursive=True, event_filter=_EVENTS)
                except _CANNOT_WATCH as error:
                    self._set_degraded(_reason_of(error))
                    if isinstance(error, RuntimeError) and not isinstance(error, RecursionError):
                        system.spare_threads()
                    return
                system.watched[self] = None
            self._set_degraded(None)

    def give_up(self, reason: str) -> None:
        """Stop watching the root. If there's a thread in `_observe_root`, this doesn't wait for it."""
        watch, observer = self._watch, self._system.observer
        self._emitter_ended = True
        if watch is not None and observer is not None:
            with contextlib.suppress(KeyError):
                observer.unschedule(watch)
        self._set_degraded(reason)

    def _report(self, path: str | bytes) -> None:
        if self._real_root != self._root:
            if not isinstance(path, str) or not path.startswith(self._real_root + os.sep):
                self._report_rescan()
                return
            path = self._root + path[len(self._real_root) :]
        for notifications in self._listeners:
            if notifications.add(os.fsdecode(path)):
                self._wake(notifications)

    def _report_rescan(self) -> None:
        for notifications in self._listeners:
            if notifications.add_rescan():
                self._wake(notifications)

    def _wake(self, notifications: Notifications) -> None:
        # The observer's thread can briefly outlive the event loop.
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(notifications.wake, idempotent=True)

    def _is_watched(self) -> bool:
        if self._watch is None or self._emitter_ended or self._system.observer is None:
            return False
        emitters = self._system.observer.emitters.copy()
        return any(emitter.watch == self._watch and emitter.is_alive() for emitter in emitters)

    def _unwatch(self) -> None:
        if self._watch is not None and self._system.observer is not None:
            with contextlib.suppress(KeyError):  # a stopped observer has forgotten all watches
                self._system.observer.unschedule(self._watch)
            self._watch = None
        self._system.watched.pop(self, None)
        self._emitter_ended = False

    def _set_degraded(self, reason: str | None) -> None:
        for notifications in self._listeners:
            notifications.degraded = reason


def _reason_of(error: OSError | RuntimeError) -> str:
    text = error.strerror if isinstance(error, OSError) else None
    return f"no notifications: {text or str(error).lower()}"
