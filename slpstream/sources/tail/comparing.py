"""Find out which listed files have changed in place, by comparing their bytes with those that were delivered."""

from __future__ import annotations

import math
import os

from slpstream.sources.tail.background_call import BackgroundCall
from slpstream.sources.tail.events import TailedFile, TailEvent, Touched
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.identity import Change
from slpstream.sources.tail.tailer import COARSE_SECONDS, change_of


class Comparisons:
    """Compares released files with their delivered bytes, one file at a time, and reopens those that have changed."""

    def __init__(
        self,
        root: str,
        table: FileTable,
        rewritable_bytes: int,
        call: BackgroundCall[tuple[TailedFile, Change]],
    ) -> None:
        self._root = root
        self._table = table
        self._rewritable_bytes = rewritable_bytes
        self.call = call
        """The comparison in a thread. `reopen_changed` takes its result."""
        self._due_at: dict[TailedFile, float] = {}
        """When to compare each file."""
        self._touched: set[TailedFile] = set()
        """Files to compare a second time, since their status has changed. On a coarse clock, a change just after the
        first comparison would leave no trace."""

    def deadline(self) -> float:
        """When the next comparison is due. Never, while one is running."""
        return math.inf if self.call.is_running else min(self._due_at.values(), default=math.inf)

    def add_released(self, file: TailedFile, now: float) -> None:
        """Schedule a file that was just released.

        While it was open, only its head was compared; and on a coarse clock, it may have changed without a trace just
        after the last read.
        """
        self._due_at[file] = now + COARSE_SECONDS

    def add_touched(self, now: float) -> list[TailEvent]:
        """Schedule the files whose status has changed. Returns a `Touched` event for those that were never read."""
        never_read: list[TailedFile] = []
        for file in self._table.touched:
            entry = self._table.entry_of(file)
            if entry is not None and entry.delivered is None:
                never_read.append(file)
            elif entry is not None:
                # A damaged file can change sixty times a second, so it is not compared with every change.
                self._touched.add(file)
                self._due_at.setdefault(file, now)
        self._table.touched.clear()
        return [Touched(tuple(never_read))] if never_read else []

    def reopen_changed(self) -> None:
        """Have the file of the comparison that has ended opened again if it has changed."""
        file, change = self.call.take()
        if change is not Change.NONE:
            self._table.reopen(file, changed=change is Change.CONTENT)

    def start_next(self, now: float) -> None:
        """Start the next comparison if one is due and none is running."""
        if not self._due_at or self.call.is_running:
            return
        file = min(self._due_at, key=self._due_at.__getitem__)
        if self._due_at[file] > now:
            return
        del self._due_at[file]
        touched = file in self._touched
        self._touched.discard(file)
        entry = self._table.entry_of(file)
        if entry is None or entry.delivered is None:
            return
        if touched:
            self._due_at[file] = now + COARSE_SECONDS
        root, path, delivered, rewritable_bytes = self._root, str(file.path), entry.delivered, self._rewritable_bytes

        def compare() -> tuple[TailedFile, Change]:
            return file, change_of(path, os.path.realpath(root), rewritable_bytes, delivered)

        if not self.call.start(compare):
            self._due_at[file] = now + COARSE_SECONDS
