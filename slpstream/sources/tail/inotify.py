"""Writes to files on Linux: inotify, read by the event loop itself.

Watchdog passes an event through three threads before it arrives. That does not matter for files and folders that come
and go, but it does for appends: 64 files with 60 appends a second took more than one core, nearly all of it for the
hand-overs. So on Linux watchdog keeps track of the tree, and appends come from here: a second inotify instance, whose
descriptor trio waits for as it does for a socket. It watches the folders that a scan has found, so it has no tree to
maintain.

The three functions of libc and the constants are watchdog's.
"""

from __future__ import annotations

import ctypes
import math
import os
import struct
import sys
import threading
from collections.abc import Iterable
from typing import Final, Protocol

import trio

_EVENT: Final = struct.Struct("iIII")
_READ_BYTES: Final = 65536
# Under load, a pause after each read collects several events into one. With many files this saves a third of all work;
# one frame lasts 16.7 ms. With few files there is nothing to collect, and the extra wakeup would be half of all work.
_PAUSE_SECONDS: Final = 0.001
_BUSY_SECONDS: Final = 0.004
# Listeners may read and publish at once. After this time, other tasks run.
_TURN_SECONDS: Final = 0.004


class InotifyListener(Protocol):
    """Receives the events of an `InotifyReader`, in the event loop."""

    def grew(self, path: str) -> None:
        """A file was written to, or its permissions have changed."""
        ...

    def overflowed(self) -> None:
        """Events were lost."""
        ...


class InotifyReader:
    """One inotify instance. Raises `OSError` if the system has none left. `watch` may be called from any thread."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError("inotify exists only on Linux")
        from watchdog.observers import inotify_c  # noqa: PLC0415 -- cannot be imported on other systems

        self._libc = inotify_c
        constants = inotify_c.InotifyConstants
        self._mask = inotify_c.Mask(constants.IN_MODIFY | constants.IN_ATTRIB | constants.IN_ONLYDIR)
        self._overflow = int(constants.IN_Q_OVERFLOW)
        self._ignored = int(constants.IN_IGNORED)
        self._lock = threading.Lock()
        self._watches: dict[InotifyListener, dict[str, int]] = {}
        """For each listener, the watch descriptors of its folders."""
        # Values are replaced, never changed: the event loop reads them without the lock.
        self._listeners: dict[int, dict[InotifyListener, str]] = {}
        """For each watch descriptor, its listeners and the path by which they know the folder."""
        self._descriptor = inotify_c.inotify_init()
        if self._descriptor < 0:
            raise _last_error()
        os.set_inheritable(self._descriptor, False)
        os.set_blocking(self._descriptor, False)

    def watch(self, listener: InotifyListener, folders: Iterable[str]) -> OSError | None:
        """Report the files in these folders, and in no others, to `listener`.

        Returns the error of the first folder that cannot be watched, if there is one.
        """
        failure: OSError | None = None
        with self._lock:
            if self._descriptor < 0:
                return None
            before = self._watches.get(listener, {})
            after: dict[str, int] = {}
            for folder in folders:
                # Added every time: a folder that was deleted and recreated under its old name needs a new watch.
                watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), self._mask)
                if watch < 0:
                    failure = failure or _last_error()
                    continue
                after[folder] = watch
                self._listeners[watch] = {**self._listeners.get(watch, {}), listener: folder}
            if after:
                self._watches[listener] = after
            else:
                self._watches.pop(listener, None)
            for gone in set(before.values()) - set(after.values()):
                others = self._listeners.pop(gone, {})
                rest = {other: folder for other, folder in others.items() if other is not listener}
                if rest:
                    self._listeners[gone] = rest
                else:
                    self._libc.inotify_rm_watch(self._descriptor, self._libc.WatchDescriptor(gone))
        return failure

    async def run(self) -> None:
        """Report events to the listeners, until cancelled."""
        read_at = -math.inf
        while True:
            await trio.lowlevel.wait_readable(self._descriptor)
            try:
                events = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                continue
            await self._dispatch(events)
            previous, read_at = read_at, trio.current_time()
            if read_at - previous < _BUSY_SECONDS:
                await trio.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Close the instance. `run` must have ended."""
        with self._lock:
            os.close(self._descriptor)
            self._descriptor = -1

    async def _dispatch(self, events: bytes) -> None:
        grown: dict[tuple[InotifyListener, str], None] = {}
        offset, size = 0, _EVENT.size
        while offset < len(events):
            watch, mask, _, length = _EVENT.unpack_from(events, offset)
            start = offset + size
            offset = start + length
            if mask & self._overflow:
                for listener in list(self._watches):
                    listener.overflowed()
            elif mask & self._ignored:
                self._listeners.pop(watch, None)
            elif length:
                name = os.fsdecode(events[start:offset].rstrip(b"\0"))
                for listener, folder in self._listeners.get(watch, {}).items():
                    grown[listener, f"{folder}/{name}"] = None
        began = trio.current_time()
        for listener, path in grown:  # a file that has grown several times is read once
            listener.grew(path)
            if trio.current_time() - began > _TURN_SECONDS:
                await trio.lowlevel.checkpoint()
                began = trio.current_time()


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
