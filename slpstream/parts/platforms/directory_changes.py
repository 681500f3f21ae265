"""Changes of files and folders on Windows. The event loop itself calls ReadDirectoryChangesW to find them.

We don't use watchdog for this, because it needs a thread for every root, and by default it collects changes for a
second before it reports them. Instead, trio waits on its completion port for the changes of each root, and the kernel
buffers the changes that happen between two reads. As long as a writer has a file open, NTFS does not report that the
file grows. That's the job of `size_polling`.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final

import trio

assert sys.platform == "win32"  # noqa: S101 -- type checkers skip the rest of this file on other systems

from slpstream.sources.tail.changes import ChangeListener  # noqa: E402
from slpstream.sources.tail.identity import identity_of  # noqa: E402
from slpstream.sources.tail.notifications import Strategy  # noqa: E402
from slpstream.sources.tail.size_polling import SizePolling  # noqa: E402
from slpstream.system import windows  # noqa: E402

_BUFFER_BYTES: Final = 64 * 1024
"""The size of the buffer. Folders on a file server refuse a larger one."""
_HEADER: Final = struct.Struct("<III")
_FILE_NAMES: Final = 0x1
_FOLDER_NAMES: Final = 0x2
_GROWTH: Final = 0x8 | 0x10
"""This is FILE_NOTIFY_CHANGE_SIZE and FILE_NOTIFY_CHANGE_LAST_WRITE."""
_MODIFIED: Final = 3
_STOPPED: Final = "the watcher has stopped"


class _Root:
    """One root of a listener. It has a handle for changes of files, and another one for changes of folders.

    It needs both because a change doesn't tell you whether its name belongs to a file or a folder.
    """

    def __init__(self, listener: ChangeListener, folder: str) -> None:
        """Open the handles. Raises `OSError` if that isn't possible."""
        self.listener = listener
        self.folder = folder
        self.identity = identity_of(os.stat(folder))
        self.scope = trio.CancelScope()
        self.ended = False
        flags = windows.FILE_FLAG_BACKUP_SEMANTICS | windows.FILE_FLAG_OVERLAPPED
        self.files = windows.create_file(folder, windows.FILE_LIST_DIRECTORY, flags)
        try:
            self.folders = windows.create_file(folder, windows.FILE_LIST_DIRECTORY, flags)
        except OSError:
            windows.close_handle(self.files)
            raise

    def is_above(self, folder: str) -> bool:
        """Whether a folder is inside of this root."""
        return folder.startswith(self.folder.rstrip(os.sep) + os.sep)

    def is_current(self) -> bool:
        """Whether the root is still being read and its path still leads to the same folder. This blocks."""
        try:
            return not self.ended and identity_of(os.stat(self.folder)) == self.identity
        except OSError:
            return False

    def take_files(self, changes: bytes) -> None:
        """Report changes of files to the listener."""
        if self.ended:
            return
        for action, name in parse_changes(changes):
            path = os.path.join(self.folder, name)  # noqa: PTH118
            if action == _MODIFIED:
                self.listener.grew(path)
            else:
                self.listener.changed(path)

    def take_folders(self, changes: bytes) -> None:
        """Report to the listener that folders were added or removed."""
        if changes and not self.ended:
            self.listener.tree_changed()


class DirectoryChangesReader:
    """A `ChangeReader` that reads the changes of any number of roots."""

    def __init__(self, token: trio.lowlevel.TrioToken, *, growth: bool = True) -> None:
        """If you pass `growth=False`, it only reports changes of names.

        NTFS does the same while a writer has the file open.
        """
        self._token = token
        self._growth = _GROWTH if growth else 0
        self._lock = threading.Lock()
        self._roots: dict[ChangeListener, _Root] = {}
        self._nursery: trio.Nursery | None = None
        self._running = trio.Event()

    def watch(self, listener: ChangeListener, folder: str) -> OSError | None:
        """See `ChangeReader.watch`. The first folder is the root. Watching it includes all folders in it."""
        with self._lock:
            root = self._roots.get(listener)
        if root is not None and (root.is_above(folder) or (root.folder == folder and root.is_current())):
            return None
        self.keep(listener, ())
        try:
            root = _Root(listener, folder)
            error = trio.from_thread.run(self._start, root, trio_token=self._token)
        except OSError as refused:
            return refused
        except (trio.RunFinishedError, trio.Cancelled):
            return OSError(_STOPPED)
        if error is not None:
            return error
        with self._lock:
            self._roots[listener] = root
        return None

    def keep(self, listener: ChangeListener, folders: Collection[str]) -> None:
        """See `ChangeReader.keep`."""
        with self._lock:
            root = self._roots.get(listener)
            if root is None or root.folder in folders:
                return
            del self._roots[listener]
            root.ended = True
        try:
            self._token.run_sync_soon(root.scope.cancel)
        except trio.RunFinishedError:
            return

    async def run(self) -> None:
        """See `ChangeReader.run`."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._running.set()
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None  # it accepts no tasks after this one has left

    def close(self) -> None:
        """See `ChangeReader.close`. At this point, the tasks of `run` have already closed all handles."""
        with self._lock:
            self._roots.clear()
        try:
            self._token.run_sync_soon(self._running.set)  # a scan may be waiting for a `run` that never began
        except trio.RunFinishedError:
            return

    async def _start(self, root: _Root) -> OSError | None:
        """Begin to read a root, so that from now on we don't miss any change.

        If that is not possible, this returns the error.
        """
        await self._running.wait()
        if self._nursery is None:
            return OSError(_STOPPED)
        error: OSError | None = await self._nursery.start(self._read_root, root)
        return error

    async def _read_root(self, root: _Root, *, task_status: trio.TaskStatus[OSError | None]) -> None:
        errors: list[OSError] = []
        has_begun = False
        try:
            with root.scope:
                async with trio.open_nursery() as nursery:
                    for handle, changes, take in (
                        (root.files, _FILE_NAMES | self._growth, root.take_files),
                        (root.folders, _FOLDER_NAMES, root.take_folders),
                    ):
                        read = partial(_read_changes, handle, changes, root, take, errors.append)
                        await nursery.start(read)
                    has_begun = not errors
                    if errors:
                        root.scope.cancel()
                    else:
                        task_status.started()
        finally:
            root.ended = True
            for handle in (root.files, root.folders):
                windows.close_handle(handle)
        if not has_begun:
            task_status.started(errors[0] if errors else OSError(_STOPPED))
        elif errors:
            root.listener.tree_changed()  # the scan watches the root again, if it is there


async def _read_changes(
    handle: int,
    changes: int,
    root: _Root,
    take: Callable[[bytes], None],
    fail: Callable[[OSError], None],
    *,
    task_status: trio.TaskStatus[None],
) -> None:
    """Read changes until the scope of the root is cancelled. If there's an error, this is the end of the root."""
    buffer = ctypes.create_string_buffer(_BUFFER_BYTES)
    overlapped = windows.Overlapped()
    has_begun = False
    try:
        trio.lowlevel.register_with_iocp(handle)
        while True:
            windows.begin_reading_changes(handle, buffer, changes, overlapped)
            if not has_begun:
                has_begun = True
                task_status.started()
            # No checkpoint in between: trio drops the completion of an operation that has no waiter yet.
            done: Any = await trio.lowlevel.wait_overlapped(handle, ctypes.addressof(overlapped))
            count = done.dwNumberOfBytesTransferred
            if count:
                take(buffer.raw[:count])
            else:
                root.listener.tree_changed()  # there were more changes than the buffer holds
    except OSError as error:
        fail(error)
        if has_begun:
            root.scope.cancel()
        else:
            task_status.started()


def parse_changes(changes: bytes) -> list[tuple[int, str]]:
    """Parse a buffer of FILE_NOTIFY_INFORMATION, and return the actions together with the relative names."""
    found: list[tuple[int, str]] = []
    offset = 0
    while True:
        distance, action, length = _HEADER.unpack_from(changes, offset)
        start = offset + _HEADER.size
        found.append((action, changes[start : start + length].decode("utf-16-le", "surrogatepass")))
        if not distance:
            return found
        offset += distance


def readers(token: trio.lowlevel.TrioToken) -> tuple[Strategy, DirectoryChangesReader, SizePolling]:
    """Return the readers for names and for growth."""
    return "directory changes", DirectoryChangesReader(token), SizePolling(token)
