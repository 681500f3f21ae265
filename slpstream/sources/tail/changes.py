"""The interface through which the operating system tells us about changes to files and folders.

Each platform has its own `ChangeReader`, and `watcher` chooses the right one when it starts. On some platforms, such as
Windows, the growth of files is reported in a different way than changes to their names. These also have a
`GrowthReader`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class ChangeListener(Protocol):
    """Gets told about changes. All methods are called in the event loop."""

    def grew(self, path: str, now: float | None = None) -> None:
        """Called when something has written to a file, or changed its permissions.

        `now` is the time on trio's clock, or shortly before, if the caller knows it.
        """
        ...

    def changed(self, path: str) -> None:
        """Called when a file was created or deleted, or when it was moved to this path or away from it."""
        ...

    def tree_changed(self) -> None:
        """Called when folders were added or removed, or when some changes were lost."""
        ...


class OpenFile(Protocol):
    """A file that is open, and that is being read while it grows."""

    path: str
    """Its current path."""

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        ...

    def note_unchanged(self, at: float) -> None:
        """Note that at this moment (on trio's clock), the file had not grown yet."""
        ...


class GrowthReader(Protocol):
    """Reports when open files have grown.

    You have to call its methods in the event loop. None of them waits.
    """

    def follow(self, listener: ChangeListener, file: OpenFile) -> None:
        """Report to `listener` when a file has grown, until you call `unfollow`."""
        ...

    def unfollow(self, file: OpenFile) -> None:
        """Stop reporting the growth of the given file. You have to call this before you close the file.

        It's fine to call this with a file that isn't followed.
        """
        ...


class ChangeReader(Protocol):
    """Reports changes in folders. At the very least, it reports names that are added and removed."""

    def watch(self, listener: ChangeListener, folder: str) -> OSError | None:
        """Report to `listener` everything that happens in the given folder. If the folder can't be watched, this
        returns the error.

        This blocks, so you should call it in a thread. Each scan has to call it again, first with the root and then
        with each folder in it, because if a folder was replaced by another one with the same name, it needs a new
        watch.
        """
        ...

    def keep(self, listener: ChangeListener, folders: Collection[str]) -> None:
        """Stop reporting to `listener` about all folders except these. You can call this from any thread."""
        ...

    async def run(self) -> None:
        """Report changes to the listeners until cancelled."""
        ...

    def close(self) -> None:
        """Free all resources. Before you call this, `run` must have ended."""
        ...
