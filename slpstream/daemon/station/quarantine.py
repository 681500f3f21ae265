"""The quarantine for files with which we have run into a bug.

A file stays in quarantine until it changes, because the same bytes would raise the same exception again. But a file
that is growing changes all the time. This is why it is only tried again after a pause, which doubles with each failure.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slpstream.system.backoff import backoff_seconds

if TYPE_CHECKING:
    from slpstream.sources.tail.events import TailedFile
    from slpstream.sources.tail.identity import FileIdentity

_MAX_FILES = 256


class _Failed:
    """One file in quarantine."""

    def __init__(self) -> None:
        self.failures = 0
        self.retry_at = 0.0
        self.changed: TailedFile | None = None
        """The file, if it was opened again before `retry_at`."""


class Quarantine:
    """The files of one station that are in quarantine."""

    def __init__(self, first_pause_seconds: float) -> None:
        self._first_pause_seconds = first_pause_seconds
        self._files: dict[tuple[FileIdentity, Path], _Failed] = {}

    def __len__(self) -> int:
        return len(self._files)

    def add(self, file: TailedFile, now: float) -> None:
        """Put a file into quarantine. `now` is the time on trio's clock."""
        failed = self._files.pop((file.identity, file.path), None) or _Failed()
        failed.failures += 1
        failed.retry_at = now + backoff_seconds(failed.failures, self._first_pause_seconds)
        failed.changed = None
        self._files[file.identity, file.path] = failed
        while len(self._files) > _MAX_FILES:
            del self._files[next(iter(self._files))]

    def holds(self, file: TailedFile, now: float) -> bool:
        """Whether a file that was just opened has to wait. In this case, `due` returns it once its pause is over."""
        failed = self._files.get((file.identity, file.path))
        if failed is None or now >= failed.retry_at:
            return False
        failed.changed = file
        return True

    def due(self, now: float) -> list[TailedFile]:
        """Return the files that have changed in quarantine and whose pause is over.

        Each of them is only returned once.
        """
        due: list[TailedFile] = []
        for failed in self._files.values():
            if failed.changed is not None and now >= failed.retry_at:
                due.append(failed.changed)
                failed.changed = None
        return due
