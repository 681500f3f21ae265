"""Times of files, clamped to the range of SQLite and `datetime`."""

from __future__ import annotations

import os

_LATEST_NS = 2**63 - 1


def modified_ns(status: os.stat_result) -> int:
    """Return the modification time of a file as Unix time in nanoseconds, clamped to the years 1970 to 2262.

    File systems can hold times outside this range, which SQLite's integers and `datetime` cannot.
    """
    return min(max(status.st_mtime_ns, 0), _LATEST_NS)
