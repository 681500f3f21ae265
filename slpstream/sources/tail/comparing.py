"""Find out which of the listed files have changed in place, by comparing their bytes with those that were delivered."""

from __future__ import annotations

import math
import os

from slpstream.sources.tail.background_call import BackgroundCall
from slpstream.sources.tail.events import TailedFile, TailEvent, Touched
from slpstream.sources.tail.file_table import FileTable
from slpstream.sources.tail.identity import Change
from slpstream.sources.tail.tailer import COARSE_SECONDS, change_of


class Comparisons:
    """Compares released files with the bytes that were delivered, and opens those that have changed again.

    To keep the load low, this only compares one file at a time.
    """

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
        """Return the time when the next comparison is due. While one is running, this is never."""
        return math.inf if self.call.is_running else min(self._due_at.values(), default=math.inf)

    def add_released(self, file: TailedFile, now: float) -> None:
        """Schedule a file that was just released.

        We have to do this because while it was open, we only compared its head. Also, if the clock is coarse, it might
        have changed right after the last read without leaving a trace.
        """
        self._due_at[file] = now + COARSE_SECONDS

    def add_touched(self, now: float) -> list[TailEvent]:
        """Schedule all files whose status has changed.

        If some of them were never read, you get a `Touched` event for these.
        """
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
        """Take the result of the comparison that has ended.

        If the file has changed, arrange for it to be opened again.
        """
        file, change = self.call.take()
        if change is not Change.NONE:
            self._table.reopen(file, changed=change is Change.CONTENT)

    def start_next(self, now: float) -> None:
        """Start the next comparison if it is due, unless one is already running."""
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
