"""The interface to the operating system's reports about files and folders.

Each platform has its own `ChangeReader`, which `watcher` chooses at the start. Where growth comes from a different
source than names, as on Windows, a `GrowthReader` reports it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class ChangeListener(Protocol):
    """Receives changes, in the event loop."""

    def grew(self, path: str) -> None:
        """A file was written to, or its permissions have changed."""
        ...

    def changed(self, path: str) -> None:
        """A file was created, deleted, or moved to this path or away from it."""
        ...

    def tree_changed(self) -> None:
        """Folders were added or removed, or changes were lost."""
        ...


class OpenFile(Protocol):
    """A file that is open and read as it grows."""

    path: str
    """Its current path."""

    def fileno(self) -> int:
        """Its descriptor."""
        ...

    def note_unchanged(self, at: float) -> None:
        """The file had not grown yet at this moment, on trio's clock."""
        ...


class GrowthReader(Protocol):
    """Reports growth of the files that are open. Its methods do not wait; call them in the event loop."""

    def follow(self, listener: ChangeListener, file: OpenFile) -> None:
        """Report growth of a file to `listener`, until `unfollow`."""
        ...

    def unfollow(self, file: OpenFile) -> None:
        """Stop reporting growth of a file, before it is closed. Does nothing for a file that is not followed."""
        ...


class ChangeReader(Protocol):
    """Reports changes in folders: at least the names that are added and removed."""

    def watch(self, listener: ChangeListener, folder: str) -> OSError | None:
        """Report what happens in a folder to `listener`. Returns the error if the folder cannot be watched.

        Blocks; call it in a thread. Every scan watches the root and then each folder in it again: one that was replaced
        under its old name needs a new watch.
        """
        ...

    def keep(self, listener: ChangeListener, folders: Collection[str]) -> None:
        """Stop reporting folders to `listener`, except these. May be called from any thread."""
        ...

    async def run(self) -> None:
        """Report changes to the listeners, until cancelled."""
        ...

    def close(self) -> None:
        """Free the reader's resources. `run` must have ended."""
        ...
