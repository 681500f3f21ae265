"""Changes of files and folders on macOS. We use a kqueue with a vnode filter for each open file and each folder.

Watchdog uses FSEvents, but these don't report appends while the writer has the file open, and they are collected before
they are reported. A kqueue, on the other hand, reports each append immediately. It needs a descriptor for each file and
folder, which is not a problem, because open files already have one and there are only a few folders.

For a folder, a kqueue only tells you that some name was added or removed. To find out which one, we list the names
again in a thread and compare them with the previous ones.

The event loop can wait for the descriptor of a kqueue in the same way as for a socket. FreeBSD documents this but macOS
does not, though its kernel has always supported it.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

import trio

from slpstream.sources.tail.changes import ChangeListener, OpenFile
from slpstream.sources.tail.identity import identity_of
from slpstream.sources.tail.notifications import Strategy

_EVENTS_AT_ONCE: Final = 256

_Names: TypeAlias = Mapping[str, tuple[int, bool]]
"""For each name in a folder, the inode, and whether it is a folder."""


class _Folder:
    """A folder that is watched for one listener."""

    def __init__(self, listener: ChangeListener, path: str) -> None:
        """Open the folder. Raises `OSError` if that isn't possible."""
        self.listener = listener
        self.path = path
        flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_DIRECTORY", 0)
        # O_EVTONLY does not keep a disk from being ejected.
        self.descriptor = os.open(path, flags | getattr(os, "O_EVTONLY", 0))
        self.identity = identity_of(os.fstat(self.descriptor))
        self.names: _Names | None = None
        """The names in the last listing, or `None` before the first."""


class KqueueReader:
    """One kqueue for all roots. It is both a `ChangeReader` and a `GrowthReader`.

    If the system has no more kqueues, creating it raises `OSError`.
    """

    def __init__(self, kernel: Any = select) -> None:
        """`kernel` is an object with the functions and constants that the module `select` has on macOS."""
        self._kernel = kernel
        self._growth = kernel.KQ_NOTE_WRITE | kernel.KQ_NOTE_EXTEND
        self._moves = kernel.KQ_NOTE_DELETE | kernel.KQ_NOTE_RENAME
        self._lock = threading.Lock()
        self._files: dict[int, tuple[ChangeListener, OpenFile]] = {}
        self._descriptors: dict[OpenFile, int] = {}
        self._folders: dict[int, _Folder] = {}
        self._watched: dict[ChangeListener, dict[str, _Folder]] = {}
        self._to_list: dict[_Folder, None] = {}
        self._has_to_list = trio.Event()
        self._queue = kernel.kqueue()
        self._closed = False

    def watch(self, listener: ChangeListener, folder: str) -> OSError | None:
        """See `ChangeReader.watch`."""
        with self._lock:
            watched = self._watched.get(listener, {}).get(folder)
        # Never block while holding the lock, which the event loop takes too.
        try:
            if watched is not None and identity_of(os.stat(folder)) == watched.identity:
                return None
            new = _Folder(listener, folder)
        except OSError as error:
            return error
        with self._lock:
            if watched is not None:
                self._drop(watched)
            if self._closed:
                os.close(new.descriptor)
                return None
            self._folders[new.descriptor] = new
            self._watched.setdefault(listener, {})[folder] = new
        try:
            self._register(new.descriptor, self._kernel.KQ_NOTE_WRITE | self._moves)
            new.names = _names_in(folder)  # after the registration, so that no name is missed in between
        except OSError as error:
            with self._lock:
                self._drop(new)
            return error
        return None

    def keep(self, listener: ChangeListener, folders: Collection[str]) -> None:
        """See `ChangeReader.keep`."""
        with self._lock:
            for path, watched in list(self._watched.get(listener, {}).items()):
                if path not in folders:
                    self._drop(watched)

    def follow(self, listener: ChangeListener, file: OpenFile) -> None:
        """See `GrowthReader.follow`.

        If the kernel runs out of memory, we don't notice the growth until the next regular poll.
        """
        descriptor = file.fileno()
        with self._lock:
            if self._closed:
                return
            try:
                self._register(descriptor, self._growth | self._moves)
            except OSError:
                return
            self._files[descriptor] = (listener, file)
            self._descriptors[file] = descriptor
        listener.grew(file.path)  # it may have grown before the registration

    def unfollow(self, file: OpenFile) -> None:
        """See `GrowthReader.unfollow`. To take the file out of the kqueue, it is enough to close its descriptor."""
        with self._lock:
            descriptor = self._descriptors.pop(file, None)
            if descriptor is not None:
                self._files.pop(descriptor, None)

    async def run(self) -> None:
        """See `ChangeReader.run`."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._list_changed_folders)
            while True:
                await trio.lowlevel.wait_readable(self._queue.fileno())
                for event in self._queue.control(None, _EVENTS_AT_ONCE, 0):
                    self._take(event.ident, event.fflags)
                await trio.lowlevel.checkpoint()

    def close(self) -> None:
        """See `ChangeReader.close`."""
        with self._lock:
            self._closed = True
            for folder in list(self._folders.values()):
                self._drop(folder)
            self._files.clear()
            self._descriptors.clear()
            self._queue.close()

    def _register(self, descriptor: int, notes: int) -> None:
        kernel = self._kernel
        # With EV_CLEAR an event is reported once, and not until its cause is gone.
        event = kernel.kevent(
            descriptor, filter=kernel.KQ_FILTER_VNODE, flags=kernel.KQ_EV_ADD | kernel.KQ_EV_CLEAR, fflags=notes
        )
        self._queue.control([event], 0)

    def _drop(self, folder: _Folder) -> None:
        """Stop watching a folder."""
        if self._folders.get(folder.descriptor) is not folder:
            return  # already closed, and the descriptor may be that of another folder by now
        del self._folders[folder.descriptor]
        folders = self._watched[folder.listener]
        folders.pop(folder.path, None)
        if not folders:
            del self._watched[folder.listener]
        self._to_list.pop(folder, None)
        os.close(folder.descriptor)

    def _take(self, descriptor: int, notes: int) -> None:
        if descriptor in self._files:
            listener, file = self._files[descriptor]
            if notes & self._growth:
                listener.grew(file.path)
            if notes & self._moves:
                listener.changed(file.path)
            return
        with self._lock:
            folder = self._folders.get(descriptor)
            if folder is None:
                return
            if notes & self._moves:
                self._drop(folder)
            else:
                self._to_list[folder] = None
                self._has_to_list.set()
        if notes & self._moves:
            folder.listener.tree_changed()

    async def _list_changed_folders(self) -> None:
        while True:
            await self._has_to_list.wait()
            self._has_to_list = trio.Event()
            while self._to_list:
                with self._lock:
                    folder = next(iter(self._to_list))
                    del self._to_list[folder]
                try:
                    names = await trio.to_thread.run_sync(_names_in, folder.path)
                except OSError:
                    folder.listener.tree_changed()  # the scan will find the reason
                    continue
                except RuntimeError:  # no thread can be started
                    folder.listener.tree_changed()
                    continue
                self._compare(folder, names)

    def _compare(self, folder: _Folder, names: _Names) -> None:
        """Compare the names in a folder with the previous ones, and report the differences."""
        before, folder.names = folder.names, names
        if before is None:
            return  # the scan that watches the folder lists it after this
        for name in before.keys() | names.keys():
            old, new = before.get(name), names.get(name)
            if old == new:
                continue
            if (old is not None and old[1]) or (new is not None and new[1]):
                folder.listener.tree_changed()
            else:
                folder.listener.changed(f"{folder.path}/{name}")


def _names_in(folder: str) -> _Names:
    """Return the names in the given folder. This blocks, and raises `OSError` if it fails."""
    with os.scandir(folder) as entries:
        return {entry.name: (entry.inode(), entry.is_dir(follow_symlinks=False)) for entry in entries}


def readers(token: trio.lowlevel.TrioToken) -> tuple[Strategy, KqueueReader, KqueueReader]:
    """Return the readers for names and for growth. Raises `OSError` if the system has no kqueue left."""
    reader = KqueueReader()
    return "kqueue", reader, reader
