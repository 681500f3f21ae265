"""Growth, on Linux: inotify read by the event loop itself, for the one kind of event that comes sixty times a second.

Watchdog carries an event through three threads before it reaches us. For folders and names that come and go that does
not matter. For appends it does: 64 files of 60 appends a second cost more than one core, nearly all of it for the
way. So on Linux watchdog keeps the tree, and appends come from here: a second inotify instance, whose descriptor trio
waits for like for a socket. It watches the folders that a scan has found, so it has no tree to keep.

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
# What comes in so short a time is told together. With many files this saves a third of all work; one frame lasts 16.7
# ms. With few there is nothing to gather, and to wake up once more would be half of all work.
_PAUSE_SECONDS: Final = 0.001
_BUSY_SECONDS: Final = 0.004


class Listener(Protocol):
    """Who is told. Called in the event loop."""

    def grew(self, path: str) -> None:
        """A file was written to, or its permissions have changed."""
        ...

    def overflowed(self) -> None:
        """Events were lost."""
        ...


class InotifyReader:
    """One inotify instance. Raises `OSError` when there is none to be had. `watch` may be called from any thread."""

    def __init__(self) -> None:
        if sys.platform != "linux":
            raise OSError("inotify is Linux's")
        from watchdog.observers import inotify_c  # noqa: PLC0415 -- cannot be imported elsewhere

        self._libc = inotify_c
        constants = inotify_c.InotifyConstants
        self._mask = inotify_c.Mask(constants.IN_MODIFY | constants.IN_ATTRIB | constants.IN_ONLYDIR)
        self._overflow = int(constants.IN_Q_OVERFLOW)
        self._ignored = int(constants.IN_IGNORED)
        self._lock = threading.Lock()
        self._folders: dict[Listener, dict[str, int]] = {}
        # Values are replaced, never changed: the event loop reads them without the lock.
        self._told: dict[int, dict[Listener, str]] = {}
        self._descriptor = inotify_c.inotify_init()
        if self._descriptor < 0:
            raise _error()
        os.set_inheritable(self._descriptor, False)
        os.set_blocking(self._descriptor, False)

    def watch(self, listener: Listener, folders: Iterable[str]) -> OSError | None:
        """From now on, tell `listener` about the files in these folders, and no others. The first folder's error is
        returned, if any."""
        failure: OSError | None = None
        with self._lock:
            if self._descriptor < 0:
                return None
            before = self._folders.get(listener, {})
            after: dict[str, int] = {}
            for folder in folders:
                # Asked for each time: a folder that was made again under its old name is another one.
                watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), self._mask)
                if watch < 0:
                    failure = failure or _error()
                    continue
                after[folder] = watch
                self._told[watch] = {**self._told.get(watch, {}), listener: folder}
            if after:
                self._folders[listener] = after
            else:
                self._folders.pop(listener, None)
            for gone in set(before.values()) - set(after.values()):
                rest = {other: folder for other, folder in self._told.pop(gone, {}).items() if other is not listener}
                if rest:
                    self._told[gone] = rest
                else:
                    self._libc.inotify_rm_watch(self._descriptor, self._libc.WatchDescriptor(gone))
        return failure

    async def run(self) -> None:
        """Tell the listeners, until cancelled."""
        told_at = -math.inf
        while True:
            await trio.lowlevel.wait_readable(self._descriptor)
            try:
                events = os.read(self._descriptor, _READ_BYTES)
            except BlockingIOError:
                continue
            self._tell(events)
            before, told_at = told_at, trio.current_time()
            if told_at - before < _BUSY_SECONDS:
                await trio.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Give the instance back. Nobody may be in `run`."""
        with self._lock:
            os.close(self._descriptor)
            self._descriptor = -1

    def _tell(self, events: bytes) -> None:
        offset, size = 0, _EVENT.size
        while offset < len(events):
            watch, mask, _, length = _EVENT.unpack_from(events, offset)
            begin = offset + size
            offset = begin + length
            if mask & self._overflow:
                for listener in list(self._folders):
                    listener.overflowed()
            elif mask & self._ignored:
                self._told.pop(watch, None)
            elif length:
                name = os.fsdecode(events[begin:offset].rstrip(b"\0"))
                for listener, folder in self._told.get(watch, {}).items():
                    listener.grew(f"{folder}/{name}")


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
