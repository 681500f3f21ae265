"""A simulated disk that fails on request."""

from __future__ import annotations

import os
from pathlib import Path

from slpstream.parts.consoles.recording import RecordingFile


class Disk:
    """A disk that fails with the error number `failing`, and writes at most `max_write_bytes` in one call."""

    def __init__(self) -> None:
        self.failing: int | None = None
        self.refused = 0
        self.max_write_bytes = 1 << 30

    def open(self, path: Path) -> RecordingFile:
        return FileOnDisk(path, self)

    def check(self) -> None:
        if self.failing is not None:
            self.refused += 1
            raise OSError(self.failing, os.strerror(self.failing))


class FileOnDisk(RecordingFile):
    def __init__(self, path: Path, disk: Disk) -> None:
        super().__init__(path)
        self._disk = disk

    def create(self) -> None:
        if self._descriptor < 0:
            self._disk.check()
        super().create()

    def write(self, offset: int, data: bytes) -> int:
        self._disk.check()
        return super().write(offset, data[: self._disk.max_write_bytes])
