"""Playback Dolphin's communication file on the disk. All methods block.

At every frame, Dolphin compares the file's modification time in whole seconds with the one that it saw last, so it
misses the later of two writes within one second. Each write therefore gets the time of the clock or, if that is not a
later second than the last write's, the second after the last write.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

SECOND_NS = 1_000_000_000
_MAX_BYTES = 1 << 20


class CommunicationFile:
    """One communication file, which only this process writes."""

    def __init__(self, path: Path, *, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self.path = path
        self._clock_ns = clock_ns
        self._written_accessed_ns: int | None = None
        self._shows_reads: bool | None = None

    def content(self) -> bytes:
        """The current content; empty if it cannot be read."""
        try:
            with self.path.open("rb") as file:
                return file.read(_MAX_BYTES)
        except OSError:
            return b""

    def write(self, content: bytes) -> None:
        """Replace the content atomically. Raises `OSError`."""
        new = self.path.with_name(f".{self.path.name}.new")
        if self._shows_reads is None:
            self._shows_reads = self._probe()
        modified_ns = self._clock_ns()
        with suppress(FileNotFoundError):
            last_second = self.path.stat().st_mtime_ns // SECOND_NS
            modified_ns = max(modified_ns, (last_second + 1) * SECOND_NS)
        accessed_ns = modified_ns - SECOND_NS
        try:
            new.write_bytes(content)
            os.utime(new, ns=(accessed_ns, modified_ns))
            new.replace(self.path)
            self._written_accessed_ns = self.path.stat().st_atime_ns
        except OSError:
            with suppress(OSError):
                new.unlink()
            raise

    def was_read(self) -> bool | None:
        """Whether any program has read the file since the last write.

        `None` if that is unknown, because nothing was written or the file system does not keep access times.
        """
        if not self._shows_reads or self._written_accessed_ns is None:
            return None
        try:
            return self.path.stat().st_atime_ns != self._written_accessed_ns
        except OSError:
            return None

    def _probe(self) -> bool:
        """Whether the file system records the first access after a modification. Raises `OSError`."""
        probe = self.path.with_name(f".{self.path.name}.probe")
        try:
            probe.write_bytes(b"?")
            modified_ns = self._clock_ns()
            os.utime(probe, ns=(modified_ns - SECOND_NS, modified_ns))
            before = probe.stat().st_atime_ns
            probe.read_bytes()
            return probe.stat().st_atime_ns != before
        finally:
            with suppress(OSError):
                probe.unlink()
