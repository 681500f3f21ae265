"""Where hints come from: the operating system's notifications, for all roots of the process.

One watchdog `Observer` serves all roots (there are 128 inotify instances per user) and tells which names come and go;
on Linux, what is appended to files comes a shorter way, see `growth`. The observer's thread does as little as can be:
it adds a path to a set, and wakes trio when that set was empty before. Whatever goes wrong here (no such folder, no
inotify watches left, a root deleted and made again) degrades a root to polling, and is tried again with each scan.

Only events that a reader cares about are subscribed to, which narrows the inotify mask: our own opening and closing
of files makes no noise.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

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

from slpstream.sources.tail.identity import FileIdentity, identity_of
from slpstream.sources.tail.inotify import InotifyReader
from slpstream.sources.tail.notifications import Notifications
from slpstream.sources.tail.timers import Timers

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

_STOP_SECONDS: Final = 5.0
_NAMES: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
_NAMES_AND_GROWTH: Final[list[type[FileSystemEvent]]] = [*_NAMES, FileModifiedEvent, FileAttribEvent]


class Watcher:
    """Gives hints about many roots. One for each process; an asynchronous context manager."""

    def __init__(self, *, polling_only: bool = False) -> None:
        """`polling_only` is for folders of which the system tells nothing, or too much."""
        self._polling_only = polling_only
        self._reason = "polling was asked for"
        self._observer: BaseObserver | None = None
        self._growth: InotifyReader | None = None
        self._alarms = Timers()
        self._running: trio.CancelScope | None = None
        self._ran = trio.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._roots: dict[str, _WatchedRoot] = {}

    async def __aenter__(self) -> Self:
        self._token = trio.lowlevel.current_trio_token()
        if not self._polling_only:
            await trio.to_thread.run_sync(self._start)
            if self._observer is not None:
                self._running = trio.CancelScope()
                trio.lowlevel.spawn_system_task(self._run, self._running)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with trio.move_on_after(_STOP_SECONDS, shield=True):
            if self._running is not None:
                self._running.cancel()
                await self._ran.wait()
                for watched in self._roots.values():
                    watched.fall_silent()
            if self._growth is not None:
                self._growth.close()
            await trio.to_thread.run_sync(self._stop, abandon_on_cancel=True)

    def watch(self, root: Path) -> Notifications:
        """Hints about everything below a folder, which need not exist yet. Watching begins with the first `refresh`."""
        if self._observer is None or self._token is None:
            return Notifications(self._reason)
        name = os.fspath(root)
        watched = self._roots.get(name)
        if watched is None:
            watched = _WatchedRoot(name, self._observer, self._growth, self._alarms, self._token)
            self._roots[name] = watched
        return watched.listen()

    def unwatch(self, notifications: Notifications) -> None:
        """Nobody listens to these any more. Blocks: call it in a thread, when nobody refreshes them any more."""
        for name, watched in list(self._roots.items()):
            if watched.dismiss(notifications):
                del self._roots[name]
        if self._growth is not None:
            self._growth.watch(notifications, ())

    def _start(self) -> None:
        try:
            observer = Observer()
            observer.start()
        except OSError as error:
            self._reason = f"no notifications: {error.strerror or error}"
            return
        self._observer = observer
        with contextlib.suppress(OSError):  # then watchdog tells of growth too
            self._growth = InotifyReader()

    def _stop(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    async def _run(self, running: trio.CancelScope) -> None:
        with running:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._alarms.run)
                if self._growth is not None:
                    nursery.start_soon(self._growth.run)
        self._ran.set()


class _WatchedRoot(FileSystemEventHandler):
    """One root under the observer, and those who listen. `dispatch` runs in the observer's thread, `refresh` in any."""

    def __init__(
        self,
        root: str,
        observer: BaseObserver,
        growth: InotifyReader | None,
        alarms: Timers,
        token: trio.lowlevel.TrioToken,
    ) -> None:
        self._root = root
        self._observer = observer
        self._growth = growth
        self._alarms = alarms
        self._events = _NAMES_AND_GROWTH if growth is None else _NAMES
        self._token = token
        self._listeners: tuple[Notifications, ...] = ()
        self._lock = threading.Lock()
        self._watch: ObservedWatch | None = None
        self._identity: FileIdentity | None = None
        self._deaf = False
        # The observer is given the resolved folder, since inotify would watch a link and not what it points to.
        self._real = root

    def listen(self) -> Notifications:
        """Hints for one more who wants to hear."""
        notifications = Notifications("not watched yet", self._alarms)
        notifications.refresh = self.refresh
        growth = self._growth
        if growth is not None:

            def attend(folders: Iterable[str]) -> None:
                failure = growth.watch(notifications, folders)
                if failure is not None:
                    notifications.degraded = f"no notifications: {failure.strerror}"

            notifications.attend = attend
        self._listeners += (notifications,)
        return notifications

    def dismiss(self, notifications: Notifications) -> bool:
        """One fewer listens. True when that was the last one: then nothing is watched any more."""
        if notifications not in self._listeners:
            return False
        self._listeners = tuple(other for other in self._listeners if other is not notifications)
        notifications.forget()
        if self._listeners:
            return False
        with self._lock:
            self._unwatch()
        return True

    def fall_silent(self) -> None:
        """Nobody gives hints any more: those who wait for some have timers of their own from now on."""
        self._say("nobody watches any more")
        for notifications in self._listeners:
            notifications.forget()
            notifications.ring()

    def dispatch(self, event: FileSystemEvent) -> None:
        """Watchdog's entry point, for each event."""
        if event.is_directory:
            if isinstance(event, DirDeletedEvent) and event.src_path == self._real:
                self._deaf = True  # its emitter ends with this event
            self._touch_everything()
        else:
            self._touch(event.src_path)
            if event.dest_path:
                self._touch(event.dest_path)

    def refresh(self) -> None:
        """Watch the root, if it is there and is not watched, or is not the folder any more that was watched."""
        with self._lock:
            try:
                real = os.path.realpath(self._root)
                identity = identity_of(os.stat(real))
            except OSError as error:
                self._unwatch()
                self._say(f"the folder cannot be watched: {error.strerror}")
                return
            if not self._hears() or identity != self._identity or real != self._real:
                self._unwatch()
                self._real, self._identity = real, identity
                try:
                    self._watch = self._observer.schedule(self, real, recursive=True, event_filter=self._events)
                except OSError as error:
                    # No inotify watches left (ENOSPC), no descriptors (EMFILE), or the folder has just gone.
                    self._say(f"no notifications: {error.strerror}")
                    return
            self._say(None)

    def _touch(self, path: str | bytes) -> None:
        if self._real != self._root:
            if not isinstance(path, str) or not path.startswith(self._real + os.sep):
                self._touch_everything()
                return
            path = self._root + path[len(self._real) :]
        for notifications in self._listeners:
            if notifications.add(os.fsdecode(path)):
                self._wake(notifications)

    def _touch_everything(self) -> None:
        for notifications in self._listeners:
            if notifications.add_everything():
                self._wake(notifications)

    def _wake(self, notifications: Notifications) -> None:
        # The observer can outlive the event loop by a moment.
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(notifications.ring, idempotent=True)

    def _hears(self) -> bool:
        if self._watch is None or self._deaf:
            return False
        emitters = self._observer.emitters.copy()
        return any(emitter.watch == self._watch and emitter.is_alive() for emitter in emitters)

    def _unwatch(self) -> None:
        if self._watch is not None:
            with contextlib.suppress(KeyError):  # the observer has been stopped, and has forgotten all watches
                self._observer.unschedule(self._watch)
            self._watch = None
        self._deaf = False

    def _say(self, degraded: str | None) -> None:
        for notifications in self._listeners:
            notifications.degraded = degraded
