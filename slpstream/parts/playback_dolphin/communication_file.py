"""Playback Dolphin's communication file on the disk. All methods block.

At every frame, Dolphin compares the modification time of the file with the one that it saw last. It does this in whole
seconds, so it would miss the second one of two writes within the same second. This is why we set the time of each
write. Usually, this is the time of the clock. But if the clock is not in a later second than the last write, we use the
second after the last write.
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
    """One communication file. Only this process writes it."""

    def __init__(self, path: Path, *, clock_ns: Callable[[], int] = time.time_ns) -> None:
        self.path = path
        self._clock_ns = clock_ns
        self._written_accessed_ns: int | None = None
        self._shows_reads: bool | None = None

    def content(self) -> bytes:
        """Return the current content. It is empty if it can't be read."""
        try:
            with self.path.open("rb") as file:
                return file.read(_MAX_BYTES)
        except OSError:
            return b""

    def write(self, content: bytes) -> None:
        """Replace the content atomically. Raises `OSError` if this fails."""
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
        """Return whether any program has read the file since the last write.

        Returns `None` if we can't know, because nothing was written or the file system does not keep access times.
        """
        if not self._shows_reads or self._written_accessed_ns is None:
            return None
        try:
            return self.path.stat().st_atime_ns != self._written_accessed_ns
        except OSError:
            return None

    def _probe(self) -> bool:
        """Whether the file system records the first access after a modification.

        Raises `OSError` if we can't find out.
        """
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
