"""A file that a scan has found and that is not open yet."""

from __future__ import annotations

from slpstream.sources.tail.scan import FileStat


class Arrival:
    """A file name that is waiting to be opened."""

    __slots__ = ("at_start", "exhausted", "existed", "finished", "header", "path", "stat", "version")

    def __init__(
        self, path: str, stat: FileStat, *, existed: bool, header: bytes | None = None, exhausted: bool = False
    ) -> None:
        self.path = path
        self.stat = stat
        self.existed = existed
        self.at_start = False
        self.version = 0
        self.finished = False
        """Its first bytes have shown that it is finished, and it waits until others like it have been read."""
        self.header = header
        """If given, open the file only if `is_size_changed` or its first bytes are no longer these."""
        self.exhausted = exhausted
        """Nothing more can come of the file, so its growth is no reason to open it."""

    def is_size_changed(self, size_bytes: int) -> bool:
        """Whether the size that the file has now is reason enough to open it."""
        return size_bytes < self.stat.size_bytes or (size_bytes > self.stat.size_bytes and not self.exhausted)
