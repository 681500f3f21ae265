"""Times of files, limited to a range that SQLite and `datetime` can handle."""

from __future__ import annotations

import os

_LATEST_NS = 2**63 - 1


def modified_ns(status: os.stat_result) -> int:
    """Return the modification time of a file as Unix time in nanoseconds.

    A file system can store times that don't fit into SQLite's integers or into a `datetime`. If the time is before 1970
    or after 2262, you get the nearest time within this range.
    """
    return min(max(status.st_mtime_ns, 0), _LATEST_NS)
