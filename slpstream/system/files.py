"""What others can have put into a folder. To open a named pipe waits until somebody writes into it, in a thread that
nothing can end; links can lead to each other."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

WHOLE_FILE_BYTES = 8 << 20
"""No replay that is written in one go is larger; of other files with such names, a film can be."""
_LATEST_NS = 2**63 - 1


def modified_ns(status: os.stat_result) -> int:
    """When a file was modified: Unix time in nanoseconds, from 1970 to 2262. File systems, and archives that were
    unpacked, know times beyond that, which no database takes and no calendar has."""
    return min(max(status.st_mtime_ns, 0), _LATEST_NS)


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open for reading. Raises `OSError`, also for anything else."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_regular(path: Path) -> bytes:
    """All of a regular file. Raises `OSError`, also for anything else, and for one of more than `WHOLE_FILE_BYTES`."""
    with open_regular(path) as file:
        data = file.read(WHOLE_FILE_BYTES + 1)
    if len(data) > WHOLE_FILE_BYTES:
        raise OSError(errno.EFBIG, "larger than any replay that is written in one go", str(path))
    return data


def real_path(path: Path) -> Path:
    """What it is behind all links; of links that lead to each other, any of them. `Path.resolve` refuses those."""
    return Path(os.path.realpath(path))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
