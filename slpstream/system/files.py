"""Open untrusted paths safely: regular files only, no FIFOs, no devices.

Opening a FIFO blocks until something writes to it, in a worker thread that cannot be cancelled.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

WHOLE_FILE_BYTES = 8 << 20
"""Size limit of files that are read whole. No replay written in one go is larger, but a film named `.dat` is."""
_LATEST_NS = 2**63 - 1


def modified_ns(status: os.stat_result) -> int:
    """Modification time of a file as Unix time in nanoseconds, clamped to the years 1970 to 2262.

    File systems can hold times outside this range, which SQLite's integers and `datetime` cannot.
    """
    return min(max(status.st_mtime_ns, 0), _LATEST_NS)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises `OSError`, also for anything but a regular file."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_regular(path: Path) -> bytes:
    """Read a regular file whole.

    Raises `OSError`, also for anything but a regular file, and for a file larger than `WHOLE_FILE_BYTES`.
    """
    with open_regular(path) as file:
        data = file.read(WHOLE_FILE_BYTES + 1)
    if len(data) > WHOLE_FILE_BYTES:
        raise OSError(errno.EFBIG, "larger than any replay that is written in one go", str(path))
    return data


def real_path(path: Path) -> Path:
    """The path with all symbolic links followed. Unlike `Path.resolve`, accepts links that form a loop."""
    return Path(os.path.realpath(path))


def printable(path: Path, folder: Path) -> str:
    """A file's name for people: relative to `folder` if it is below it, and always valid text."""
    relative = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
    return str(relative).encode("utf-8", "replace").decode()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
