"""Hints: what the operating system tells about a folder, so that growth is read at once and not at the next poll.

One watchdog `Observer` serves all roots (there are 128 inotify instances per user). Its thread does as little as can be: it adds a path
to a set, and wakes trio when that set was empty before. A hint is never needed: whoever takes hints also polls. So anything that
goes wrong here (no such folder, no inotify watches left, a root deleted and made again) degrades a root to polling, and is tried
again with each scan.

Only events that a reader cares about are subscribed to, which narrows the inotify mask: our own opening and closing of files
makes no noise.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

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

from slpstream.tail.identity import FileIdentity, identity_of

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

# More names than this between two looks: looking at everything is cheaper.
_MOST_PATHS: Final = 4096
_STOP_SECONDS: Final = 5.0
_EVENTS: Final[list[type[FileSystemEvent]]] = [
    FileModifiedEvent,
    FileCreatedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    FileAttribEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]


class Touched(NamedTuple):
    """What has been hinted at since the last time."""

    paths: set[str]
    rescan: bool
    """Folders have come or gone, or there were too many names: look at everything."""


class Hints:
    """The hints for one root. With nobody to give any, it is a bell and a timer."""

    def __init__(self, degraded: str | None) -> None:
        self.degraded = degraded
        """Why only polling finds anything; `None` while notifications work."""
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._rescan = False
        self._bell = trio.Event()
        self.refresh: Callable[[], None] = _nothing
        """Make sure that the root is being watched. Blocks; called before each scan, in a thread."""

    def take(self) -> Touched:
        """What has been touched since the last call."""
        with self._lock:
            touched = Touched(self._paths, self._rescan)
            self._paths, self._rescan = set(), False
        return touched

    async def wait(self, timeout_seconds: float) -> None:
        """Wait until there is something to take, or someone rings, or the time is up."""
        with trio.move_on_after(timeout_seconds):
            await self._bell.wait()
        if self._bell.is_set():
            self._bell = trio.Event()

    def ring(self) -> None:
        """End the wait. In the event loop."""
        self._bell.set()

    def add(self, path: str) -> bool:
        """From any thread: this file was touched. True when the event loop has to be woken."""
        with self._lock:
            paths = self._paths
            first = not paths and not self._rescan
            if len(paths) < _MOST_PATHS:
                paths.add(path)
            else:
                paths.clear()
                self._rescan = True
        return first

    def add_everything(self) -> bool:
        """From any thread: look at the whole tree. True when the event loop has to be woken."""
        with self._lock:
            first = not self._paths and not self._rescan
            self._rescan = True
        return first


def _nothing() -> None:
    """Nothing is there to be watched again."""


class Watcher:
    """Gives hints about many roots. One for each process; an asynchronous context manager."""

    def __init__(self, *, polling_only: bool = False) -> None:
        self._polling_only = polling_only
        self._observer: BaseObserver | None = None
        self._reason = "polling was asked for"
        self._roots: dict[str, _WatchedRoot] = {}
        self._token: trio.lowlevel.TrioToken | None = None

    async def __aenter__(self) -> Self:
        self._token = trio.lowlevel.current_trio_token()
        if not self._polling_only:
            await trio.to_thread.run_sync(self._start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with trio.move_on_after(_STOP_SECONDS, shield=True):
            await trio.to_thread.run_sync(self._stop, abandon_on_cancel=True)

    def watch(self, root: Path) -> Hints:
        """Hints about everything below a folder, which need not exist yet. Watching begins with the first `refresh`."""
        if self._observer is None:
            return Hints(self._reason)
        name = os.fspath(root)
        watched = self._roots.get(name)
        if watched is None:
            assert self._token is not None
            watched = self._roots[name] = _WatchedRoot(name, self._observer, self._token)
        hints = Hints("not watched yet")
        hints.refresh = watched.refresh
        watched.listeners += (hints,)
        return hints

    def _start(self) -> None:
        try:
            observer = Observer()
            observer.start()
        except OSError as error:
            self._reason = f"no notifications: {error.strerror or error}"
        else:
            self._observer = observer

    def _stop(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()


class _WatchedRoot(FileSystemEventHandler):
    """One root under the observer, and those who listen. `dispatch` runs in the observer's thread, `refresh` in any."""

    def __init__(self, root: str, observer: BaseObserver, token: trio.lowlevel.TrioToken) -> None:
        self.listeners: tuple[Hints, ...] = ()
        self._root = root
        self._observer = observer
        self._token = token
        self._lock = threading.Lock()
        self._watch: ObservedWatch | None = None
        self._identity: FileIdentity | None = None
        self._deaf = False
        # The observer is given the resolved folder, since inotify would watch a link instead of what it points to.
        self._real = root

    def dispatch(self, event: FileSystemEvent) -> None:
        """Watchdog's entry point, for each event."""
        kind = type(event)
        if kind is FileModifiedEvent:
            self._touch(event.src_path)
        elif kind is DirDeletedEvent and event.src_path == self._real:
            self._deaf = True
            self._touch_everything()
        elif event.is_directory:
            self._touch_everything()
        else:
            self._touch(event.src_path)
            if event.dest_path:
                self._touch(event.dest_path)

    def _touch(self, path: str | bytes) -> None:
        assert isinstance(path, str)  # bytes come only to those who watch bytes
        if self._real is not self._root:
            if not path.startswith(self._real):
                self._touch_everything()
                return
            path = self._root + path[len(self._real) :]
        for hints in self.listeners:
            if hints.add(path):
                self._wake(hints)

    def _touch_everything(self) -> None:
        for hints in self.listeners:
            if hints.add_everything():
                self._wake(hints)

    def _wake(self, hints: Hints) -> None:
        try:
            self._token.run_sync_soon(hints.ring, idempotent=True)
        except trio.RunFinishedError:
            return  # the observer outlived the event loop by a moment

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
            if self._hears() and identity == self._identity and real == self._real:
                return
            self._unwatch()
            try:
                self._real = self._root if real == self._root else real
                self._watch = self._observer.schedule(self, real, recursive=True, event_filter=_EVENTS)
            except OSError as error:
                # No inotify watches left (ENOSPC), no descriptors (EMFILE), or the folder has just gone.
                self._say(f"no notifications: {error.strerror}")
                return
            self._identity = identity
            self._say(None)

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
        for hints in self.listeners:
            hints.degraded = degraded
