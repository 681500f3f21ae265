"""Changes of files and folders on Linux. The event loop itself reads them from inotify.

Watchdog would start a thread or two for every root, and pass each event through three threads before it arrives. With
64 files and 60 appends a second, this took more than one core, and nearly all of the time was spent on switching
between threads. So on Linux, we use a single inotify instance for all roots, and trio waits for its descriptor in the
same way as for a socket. The instance doesn't keep track of the tree. Instead, every scan watches each folder before it
lists the names in it, so no name can appear unnoticed in between. When a folder appears or disappears, we scan the
whole tree again.

We take the three functions of libc and the constants from watchdog.
"""

from __future__ import annotations

import ctypes
import math
import os
import struct
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

import trio

from slpstream.sources.tail.changes import ChangeListener

_EVENT: Final = struct.Struct("iIII")
_READ_BYTES: Final = 65536
# Under load, reads are up to this far apart, so that each collects several events. With many files, this saves a third
# of all work; one frame lasts 16.7 ms. With few files, there is little to collect, so their frames don't wait as long.
_PERIOD_SECONDS: Final = 0.003
_BUSY_SECONDS: Final = 0.004
# From this many files a second that have grown, reads are `_PERIOD_SECONDS` apart. 33 games write as many.
_MANY_PER_SECOND: Final = 2000
# A listener may read and publish within the call. After this time, other tasks run.
_TURN_SECONDS: Final = 0.004
_MAX_KNOWN: Final = 1024

Grown: TypeAlias = tuple[ChangeListener, str]
"""A listener, and the path of a file that has grown."""


class InotifyReader:
    """A `ChangeReader` that uses one inotify instance to find out about both names and growth.

    If the system has no more instances, creating it raises `OSError`. You can call `watch` from any thread.
    """

    def __init__(self) -> None:
        platform: str = sys.platform  # annotated, so that mypy checks the rest on other platforms too
        if platform != "linux":
            raise OSError("inotify exists only on Linux")
        from watchdog.observers import inotify_c  # noqa: PLC0415 -- cannot be imported on other systems

        self._libc = inotify_c
        constants = inotify_c.InotifyConstants
        names = constants.IN_CREATE | constants.IN_DELETE | constants.IN_MOVE
        itself = constants.IN_DELETE_SELF | constants.IN_MOVE_SELF
        growth = constants.IN_MODIFY | constants.IN_ATTRIB
        self._mask = inotify_c.Mask(growth | names | itself | constants.IN_ONLYDIR)
        self._names = int(names)
        self._itself = int(itself | constants.IN_UNMOUNT)
        self._is_folder = int(constants.IN_ISDIR)
        self._overflow = int(constants.IN_Q_OVERFLOW)
        self._ignored = int(constants.IN_IGNORED)
        self._lock = threading.Lock()
        self._watches: dict[ChangeListener, dict[str, int]] = {}
        """For each listener, its folders with their watch descriptors."""
        self._replaced: dict[ChangeListener, set[int]] = {}
        """For each listener, the watches of folders that were replaced since the last `keep`."""
        # Values are replaced, never changed: the event loop reads them without the lock.
        self._listeners: dict[int, dict[ChangeListener, str]] = {}
        """For each watch descriptor, its listeners and the path by which they know the folder."""
        self._known: dict[bytes, Mapping[Grown, None]] = {}
        """The files that events report as grown, by the bytes of the event. A game writes sixty times a second, and
        each time, the bytes are the same. Replaced when the listeners change."""
        self._descriptor = inotify_c.inotify_init()
        if self._descriptor < 0:
            raise _last_error()
        os.set_inheritable(self._descriptor, False)
        set_blocking: Callable[[int, bool], None] = getattr(os, "set_blocking")  # noqa: B009 -- not on Windows
        set_blocking(self._descriptor, False)

    def watch(self, listener: ChangeListener, folder: str) -> OSError | None:
        """Report to `listener` everything that happens in the given folder. If the folder can't be watched, this
        returns the error.

        With each scan, you should watch every folder again, because if a folder was replaced by another one with the
        same name, it needs a new watch. Since a scan can find thousands of folders, the old watches are not ended here,
        but all together with the next `keep`.
        """
        with self._lock:
            if self._descriptor < 0:
                return None
            watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), self._mask)
            if watch < 0:
                return _last_error()
            listeners = self._listeners.get(watch, {})
            if listeners.get(listener) != folder:
                self._listeners[watch] = {**listeners, listener: folder}
                self._known = {}
            folders = self._watches.setdefault(listener, {})
            previous = folders.get(folder, watch)
            folders[folder] = watch
            if previous != watch:
                self._replaced.setdefault(listener, set()).add(previous)
        return None

    def keep(self, listener: ChangeListener, folders: Collection[str]) -> None:
        """Stop reporting to `listener` about all folders except these."""
        with self._lock:
            if self._descriptor < 0:
                return
            watches = self._watches.pop(listener, {})
            kept = {folder: watch for folder, watch in watches.items() if folder in folders}
            if kept:
                self._watches[listener] = kept
            self._release(listener, {*watches.values(), *self._replaced.pop(listener, ())})

    def _release(self, listener: ChangeListener, watches: Iterable[int]) -> None:
        """Remove the listener from these watches, but not from those that it still uses for a folder."""
        used = set(self._watches.get(listener, {}).values())
        unused = set(watches) - used
        for watch in unused:
            listeners = self._listeners.pop(watch, {})
            others = {other: folder for other, folder in listeners.items() if other is not listener}
            if others:
                self._listeners[watch] = others
            else:
                self._libc.inotify_rm_watch(self._descriptor, self._libc.WatchDescriptor(watch))
        if unused:
            self._known = {}

    async def run(self) -> None:
        """Report events to the listeners until cancelled."""
        clock, read_at = trio.lowlevel.current_clock(), -math.inf
        while True:
            await trio.lowlevel.wait_readable(self._descriptor)
            try:
                events = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                continue
            previous, read_at = read_at, clock.current_time()
            known = self._known  # another thread may replace it
            grown = known[events] if events in known else self._report(events)  # usually just one event
            began, is_first = read_at, True
            for listener, path in grown:
                if not is_first and clock.current_time() - began > _TURN_SECONDS:
                    await trio.lowlevel.checkpoint()
                    began = clock.current_time()
                is_first = False
                listener.grew(path, began)
            interval = read_at - previous
            if 0 < interval < _BUSY_SECONDS:
                load = len(grown) / interval / _MANY_PER_SECOND
                await trio.sleep_until(read_at + _PERIOD_SECONDS * min(1.0, load))

    def close(self) -> None:
        """Close the instance. Before you call this, `run` must have ended."""
        with self._lock:
            os.close(self._descriptor)
            self._descriptor = -1

    def _report(self, events: bytes) -> Mapping[Grown, None]:
        """Report events to the listeners, except for growth.

        Returns the files that have grown, each once even if there are several events about it.
        """
        known = self._known  # another thread may replace it
        grown: dict[Grown, None] = {}
        begin = 0
        while begin < len(events):
            watch, mask, _, length = _EVENT.unpack_from(events, begin)
            end = begin + _EVENT.size + length
            event = events[begin:end]
            files = known.get(event)
            if files is None:
                files = self._report_event(watch, mask, event[_EVENT.size :])
                if files and len(known) < _MAX_KNOWN:
                    known[event] = files
            grown |= files
            begin = end
        return grown

    def _report_event(self, watch: int, mask: int, padded_name: bytes) -> Mapping[Grown, None]:
        """Report an event, unless it is growth. Returns the files that have grown, once for each listener."""
        if mask & self._overflow:
            for listener in list(self._watches):
                listener.tree_changed()
        elif mask & self._ignored:
            self._listeners.pop(watch, None)
            self._known = {}
        elif mask & self._itself or (mask & self._is_folder and mask & self._names):
            for listener in self._listeners.get(watch, {}):
                listener.tree_changed()
        elif padded_name:
            name = os.fsdecode(padded_name.rstrip(b"\0"))
            files = [(listener, f"{folder}/{name}") for listener, folder in self._listeners.get(watch, {}).items()]
            if not mask & self._names:
                return dict.fromkeys(files)
            for listener, path in files:
                listener.changed(path)
        return {}


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
