"""Which files have to go so that limits of age and size are kept. A pure choice; who deletes is `upkeep`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import PurePath
from typing import NamedTuple


class KeptFile(NamedTuple):
    """A file that there is."""

    path: PurePath
    mtime: float
    """Unix time in seconds."""
    size_bytes: int


def superfluous(
    files: Iterable[KeptFile],
    *,
    max_age_seconds: float | None,
    max_size_bytes: int | None,
    now: float,
    protected: Collection[PurePath] = (),
    fresh_seconds: float = 0.0,
) -> list[KeptFile]:
    """The files to delete, oldest first: all that are older than `max_age_seconds`, then the oldest while the rest is
    larger than `max_size_bytes`. `None`: no such limit.

    Never one that is protected, nor one that was written to in the last `fresh_seconds`: it is in progress. Their sizes
    count all the same.
    """
    oldest_first = sorted(files, key=lambda file: (file.mtime, file.path))
    size_bytes = sum(file.size_bytes for file in oldest_first)
    chosen: list[KeptFile] = []
    for file in oldest_first:
        age_seconds = now - file.mtime
        too_old = max_age_seconds is not None and age_seconds > max_age_seconds
        too_much = max_size_bytes is not None and size_bytes > max_size_bytes
        if (too_old or too_much) and file.path not in protected and age_seconds >= fresh_seconds:
            chosen.append(file)
            size_bytes -= file.size_bytes
    return chosen
