"""The entries that wait for the writer of the index.

They are kept by file: repeated reports about a file make one entry, so there are never more entries than files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import trio

from slpstream.store.game_record import Entry


class PendingEntries:
    """Entries to write, and files to remove from the index."""

    def __init__(self, on_change: Callable[[str | None], None]) -> None:
        """`on_change` is called with the station whose games have changed; `None` if the station is not known."""
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
        """Write an entry, instead of one for the same file that waits."""
        self._entries[entry.path] = entry
        self.wake_writer()
        self._on_change(entry.station)

    def update(self, entry: Entry) -> None:
        """Write an entry, combined with one for the same file that waits."""
        known = self._entries.get(entry.path)
        self.put(entry if known is None else known.updated(entry))

    def remove(self, paths: Iterable[bytes]) -> None:
        """Remove files from the index."""
        self._entries.update(dict.fromkeys(paths))
        self.wake_writer()
        self._on_change(None)

    def take(self) -> dict[bytes, Entry | None]:
        """Return the entries by file, and forget them. The entry of a file to remove is `None`."""
        entries, self._entries = self._entries, {}
        return entries

    def wake_writer(self) -> None:
        """Let `work` return, and `written` wait."""
        if self._idle.is_set():
            self._idle = trio.Event()
        self._work.set()

    async def work(self) -> None:
        """Wait until there is work for the writer."""
        await self._work.wait()

    def begin_writing(self) -> None:
        """Let `work` wait for further work."""
        self._work = trio.Event()

    def end_writing(self) -> None:
        """Let `written` return."""
        self._idle.set()

    async def written(self) -> None:
        """Wait until all entries are in the database."""
        await self._idle.wait()
