"""A stand-in for the part of the module `select` on macOS that `KqueueReader` uses, for real files on Linux.

It imitates what kqueue(2) of macOS and FreeBSD documents:

- EV_ADD registers a descriptor; adding it again changes the registration and does not duplicate it.
- NOTE_WRITE and NOTE_EXTEND are reported for an append, and NOTE_WRITE alone for a write inside the file. For a folder,
  NOTE_WRITE is reported when a name in it comes or goes, without the name, and not when a file in it grows.
- NOTE_DELETE is reported when the last name is removed, and NOTE_RENAME when the file is renamed.
- EV_CLEAR resets the state once an event was retrieved. Until then, notes of one descriptor are combined in one event.
- "Calling close() on a file descriptor will remove any kevents that reference the descriptor", also those that are
  waiting. A descriptor that is not open gives EBADF.
- The queue has a separate descriptor, which is readable while events wait.

The changes come from inotify, which reports them immediately and in order, as kqueue does.
"""

from __future__ import annotations

import ctypes
import os
import select
import stat
import struct
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from watchdog.observers import inotify_c

KQ_FILTER_VNODE = -4
KQ_EV_ADD, KQ_EV_DELETE, KQ_EV_CLEAR = 0x1, 0x2, 0x20
KQ_NOTE_DELETE, KQ_NOTE_WRITE, KQ_NOTE_EXTEND, KQ_NOTE_ATTRIB, KQ_NOTE_LINK, KQ_NOTE_RENAME = 1, 2, 4, 8, 16, 32
_EVENT = struct.Struct("iIII")
_MODIFY, _ATTRIB, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = (
    2,
    4,
    64,
    128,
    256,
    512,
    1024,
    2048,
)
_NAMES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE


class kevent(NamedTuple):
    """An event or a registration."""

    ident: int
    filter: int = KQ_FILTER_VNODE
    flags: int = KQ_EV_ADD
    fflags: int = 0


class _Registration:
    def __init__(self, watch: int, fflags: int, status: os.stat_result) -> None:
        self.watch = watch
        self.fflags = fflags
        self.identity = (status.st_dev, status.st_ino)
        self.is_folder = stat.S_ISDIR(status.st_mode)
        self.size_bytes = status.st_size
        self.is_deleted = False
        self.waiting = 0


class kqueue:
    """A queue of kernel events."""

    def __init__(self) -> None:
        self._inotify = inotify_c.inotify_init()
        os.set_blocking(self._inotify, False)
        self._registrations: dict[int, _Registration] = {}

    def fileno(self) -> int:
        return self._inotify

    def close(self) -> None:
        os.close(self._inotify)

    def control(self, changes: Sequence[kevent] | None, max_events: int, timeout: float | None = None) -> list[kevent]:
        for change in changes or ():
            assert change.filter == KQ_FILTER_VNODE
            assert change.flags == KQ_EV_ADD | KQ_EV_CLEAR
            self._add(change.ident, change.fflags)
        if not max_events:
            return []
        assert timeout == 0, "the event loop must not wait here"
        self._drain()
        events: list[kevent] = []
        for descriptor, registration in list(self._registrations.items()):
            if registration.waiting and not self._is_open(descriptor, registration):
                del self._registrations[descriptor]
            elif registration.waiting and len(events) < max_events:
                events.append(kevent(descriptor, KQ_FILTER_VNODE, KQ_EV_ADD | KQ_EV_CLEAR, registration.waiting))
                registration.waiting = 0
        return events

    def _add(self, descriptor: int, fflags: int) -> None:
        status = os.fstat(descriptor)  # EBADF
        mask = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF | (_NAMES if stat.S_ISDIR(status.st_mode) else 0)
        watch = inotify_c.inotify_add_watch(self._inotify, f"/proc/self/fd/{descriptor}".encode(), inotify_c.Mask(mask))
        if watch < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._registrations[descriptor] = _Registration(watch, fflags, status)

    def _is_open(self, descriptor: int, registration: _Registration) -> bool:
        """Whether the descriptor is still that of the registered file."""
        try:
            status = os.fstat(descriptor)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == registration.identity

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self._inotify, 65536)
            except BlockingIOError:
                return
            offset = 0
            while offset < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, offset)
                offset += _EVENT.size + length
                for descriptor, registration in list(self._registrations.items()):
                    if registration.watch == watch:
                        self._note(descriptor, registration, mask)

    def _note(self, descriptor: int, registration: _Registration, mask: int) -> None:
        if not self._is_open(descriptor, registration):
            del self._registrations[descriptor]
            return
        notes = 0
        if registration.is_folder:
            notes |= KQ_NOTE_WRITE if mask & _NAMES else 0
        elif mask & _MODIFY:
            size_bytes = os.fstat(descriptor).st_size
            notes |= KQ_NOTE_WRITE | (KQ_NOTE_EXTEND if size_bytes > registration.size_bytes else 0)
            registration.size_bytes = size_bytes
        elif mask & _ATTRIB:  # inotify reports a removed name this way, and IN_DELETE_SELF only after the last close
            is_deleted = os.fstat(descriptor).st_nlink == 0
            notes |= KQ_NOTE_DELETE if is_deleted and not registration.is_deleted else KQ_NOTE_ATTRIB
            registration.is_deleted = is_deleted
        if mask & _MOVE_SELF:
            notes |= KQ_NOTE_RENAME
        if mask & _DELETE_SELF and registration.is_folder:
            notes |= KQ_NOTE_DELETE
        registration.waiting |= notes & registration.fflags


def kernel() -> Any:
    """The part of the module `select` that `KqueueReader` uses."""
    names = [name for name in globals() if name.startswith("KQ_")]
    return SimpleNamespace(
        kqueue=kqueue, kevent=kevent, select=select.select, **{name: globals()[name] for name in names}
    )
