"""Files that a scan has found but that no one has opened yet."""

from __future__ import annotations

from slpstream.sources.tail.scan import FileStat


class Arrival:
    """The name of a file that is waiting to be opened."""

    __slots__ = ("at_start", "changed", "existed", "finished", "path", "stat", "version")

    def __init__(self, path: str, stat: FileStat, *, existed: bool, changed: bool = False) -> None:
        self.path = path
        self.stat = stat
        self.existed = existed
        self.changed = changed
        """Whether bytes that were delivered before are known to have changed."""
        self.at_start = False
        self.version = 0
        self.finished = False
        """Whether its first bytes have shown that it is finished. It then waits until others like it have been read."""
