"""The entries that are waiting until the index writes them.

There is only one for each file. If a file is reported again, this updates its entry, so we never have more entries than
files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import trio

from slpstream.store.game_record import Entry


class PendingEntries:
    """Entries that have to be written, and files that have to be removed from the index."""

    def __init__(self, on_change: Callable[[str | None], None]) -> None:
        """`on_change` is called with the station whose games have changed, or with `None` if the station isn't
        known.
        """
        self._on_change = on_change
        self._entries: dict[bytes, Entry | None] = {}
        self._work = trio.Event()
        self._idle = trio.Event()
        self._idle.set()

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __contains__(self, path: bytes) -> bool:
        return path in self._entries

    def put(self, entry: Entry) -> None:
        """Write an entry. If there's already one for the same file, it is replaced."""
        self._entries[entry.path] = entry
        self.wake_writer()
        self._on_change(entry.station)

    def update(self, entry: Entry) -> None:
        """Write an entry. If there's already one for the same file, they are combined."""
        known = self._entries.get(entry.path)
        self.put(entry if known is None else known.updated(entry))

    def remove(self, paths: Iterable[bytes]) -> None:
        """Remove files from the index."""
        self._entries.update(dict.fromkeys(paths))
        self.wake_writer()
        self._on_change(None)

    def take(self) -> dict[bytes, Entry | None]:
        """Return all entries by file, and forget them. If a file should be removed, its entry is `None`."""
        entries, self._entries = self._entries, {}
        return entries

    def wake_writer(self) -> None:
        """Make `work` return, and `written` wait."""
        if self._idle.is_set():
            self._idle = trio.Event()
        self._work.set()

    async def work(self) -> None:
        """Wait until there's something to do for the writer."""
        await self._work.wait()

    def begin_writing(self) -> None:
        """Make `work` wait until there's something else to do."""
        self._work = trio.Event()

    def end_writing(self) -> None:
        """Make `written` return."""
        self._idle.set()

    async def written(self) -> None:
        """Wait until all entries have arrived in the database."""
        await self._idle.wait()
