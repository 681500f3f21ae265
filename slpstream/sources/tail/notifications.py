"""Notifications about one root, which tell us the paths that we should check before the next poll.

We never rely on notifications, because we also poll. This means that they can be late, duplicated, wrong or missing
without doing any harm. All they do is reduce the delay.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Final, Literal, NamedTuple, TypeAlias

import trio

from slpstream.sources.tail.changes import OpenFile
from slpstream.sources.tail.shared_thread import SharedThread
from slpstream.sources.tail.timers import Timers

Strategy: TypeAlias = Literal["inotify", "directory changes", "kqueue", "watchdog", "polling"]
"""How changes are noticed: on Linux, Windows, macOS, other systems, and without any notifications."""
# Beyond this many paths, scanning the whole tree is cheaper.
_MAX_PATHS: Final = 4096


class Touched(NamedTuple):
    """Everything that notifications have reported since the last time you called `Notifications.take`."""

    paths: set[str]
    rescan: bool
    """Whether to scan the whole tree: folders were added or removed, or there were too many paths."""


class Connection(NamedTuple):
    """The functions through which a listener uses a watcher."""

    watch_root: Callable[[], None]
    """Make sure that the root is being watched. Blocks."""
    watch_folder: Callable[[str], None]
    """Watch a folder. Blocks."""
    keep_folders: Callable[[Collection[str]], None]
    """Stop watching all folders except these. Blocks."""
    follow: Callable[[OpenFile], None]
    """Report growth of an open file. Call it in the event loop."""
    unfollow: Callable[[OpenFile], None]
    """Stop reporting growth of a file that is about to be closed. Call it in the event loop."""


class Notifications:
    """The notifications about one root. If there's no watcher, this is just a timer.

    As long as notifications work, `degraded` is `None`. Otherwise, it is the reason why only polling finds changes.
    Every scan has to call `connection.watch_root` first, then `watch_folder` with each folder before it lists the names
    in it, and finally `keep_folders` with all folders that it has found.
    """

    def __init__(
        self, degraded: str | None, timers: Timers | None = None, scan_thread: SharedThread | None = None
    ) -> None:
        """If there are many waiters, you should pass `timers`, because these make timeouts cheap.

        Otherwise, each wait has a timeout of its own.
        """
        self.degraded = degraded
        self.strategy: Strategy = "polling"
        """How changes are noticed while notifications work."""
        self._timers = timers
        self.scan_thread = scan_thread
        """The thread for those scans that are not urgent, if the roots share one."""
        self.read_now: Callable[[str, float | None], bool] | None = None
        """Reads a file as soon as its growth is reported, and returns whether it did. Called in the event loop with the
        path and, if it is known, the time; this saves a task switch for every frame."""
        self._recompute: Callable[[], float] | None = None
        self.connection: Connection | None = None
        """The connection to a watcher, if there is one."""
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._rescan = False
        self._wakeup = trio.Event()

    def detach(self) -> None:
        """Cut the connection to the watcher. After this, only a timer remains."""
        self.connection = None
        self._timers = None
        self.scan_thread = None
        self.read_now = None

    @property
    def report_first_bytes(self) -> bool:
        """Whether you get notified when a file grows that isn't open."""
        return self.degraded is None and self.strategy == "inotify"

    def take(self) -> Touched:
        """Return everything that was reported since the last call."""
        with self._lock:
            touched = Touched(self._paths, self._rescan)
            self._paths, self._rescan = set(), False
        return touched

    async def wait(self, deadline: float, recompute: Callable[[], float] | None = None) -> None:
        """Wait until there is something to take, `wake` is called, or trio's clock reaches `deadline`.

        If you pass `recompute`, then it is called at the deadline to get the current one. If this is later, we wait for
        it.
        """
        timers = self._timers  # `detach` may be called in a thread
        if self._paths or self._rescan:
            # The wakeup may have been consumed by a wait that was cancelled.
            await trio.lowlevel.checkpoint()
        elif timers is not None:
            self._recompute = recompute
            timers.set(self._on_deadline, deadline)
            await self._wakeup.wait()
        else:
            with trio.CancelScope(deadline=deadline):
                await self._wakeup.wait()
        if self._wakeup.is_set():
            self._wakeup = trio.Event()

    def _on_deadline(self) -> None:
        if self._recompute is not None and self._timers is not None:
            deadline = self._recompute()
            if deadline > trio.current_time():
                self._timers.set(self._on_deadline, deadline)
                return
        self.wake()

    def wake(self) -> None:
        """End the wait. You have to call this in the event loop."""
        self._wakeup.set()

    def add(self, path: str) -> bool:
        """Report that a file was touched. You can call this from any thread.

        If it returns True, you have to make sure that `wake` gets called.
        """
        with self._lock:
            first = not self._paths and not self._rescan
            if len(self._paths) < _MAX_PATHS:
                self._paths.add(path)
            else:
                self._paths.clear()
                self._rescan = True
        return first

    def add_rescan(self) -> bool:
        """Ask for a scan of the whole tree. You can call this from any thread.

        If it returns True, you have to make sure that `wake` gets called.
        """
        with self._lock:
            first = not self._paths and not self._rescan
            self._rescan = True
        return first

    def grew(self, path: str, now: float | None = None) -> None:
        """Report that something has written to a file. You have to call this in the event loop.

        `now` is the time on trio's clock, or shortly before, if you know it.
        """
        if self.read_now is not None and self.read_now(path, now):
            return
        self.changed(path)

    def changed(self, path: str) -> None:
        """Report that a file has appeared under this path or left it. You have to call this in the event loop."""
        if self.add(path):
            self._wakeup.set()

    def tree_changed(self) -> None:
        """Report that folders were added or removed, or that notifications were lost.

        You have to call this in the event loop.
        """
        self.add_rescan()
        self._wakeup.set()
