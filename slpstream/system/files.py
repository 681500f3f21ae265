"""Open untrusted paths safely: regular files only, no FIFOs, no devices.

Opening a FIFO blocks until something writes to it, in a worker thread that cannot be cancelled.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

WHOLE_FILE_BYTES = 8 << 20
"""Size limit of files that are read whole. No replay written in one go is larger, but a video named `.dat` can be."""
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_FURTHER_BYTES = 1 << 16
# On Windows: FILE_ATTRIBUTE_OFFLINE, FILE_ATTRIBUTE_RECALL_ON_OPEN and FILE_ATTRIBUTE_RECALL_ON_DATA_ACCESS.
_PLACEHOLDER_ATTRIBUTES = 0x1000 | 0x40000 | 0x400000
# On macOS.
_SF_DATALESS = 0x40000000


def open_shared(path: str, flags: int) -> int:
    """Open a file for reading like `os.open`, so that other programs can rename and delete it. Raises `OSError`.

    Only on Windows does `os.open` prevent this. The flags are ignored there.
    """
    if sys.platform == "win32":
        from slpstream.system import windows  # noqa: PLC0415 -- cannot be imported on other systems

        return windows.open_for_reading(path)
    else:  # noqa: RET505 -- otherwise mypy finds the end unreachable
        return os.open(path, flags)


def is_local(path: str) -> bool:
    """Whether a file is known to be on a drive of this machine. Always false except on Windows. Blocks."""
    if sys.platform == "win32":
        from slpstream.system import windows  # noqa: PLC0415 -- cannot be imported on other systems

        return windows.is_local(path)
    else:  # noqa: RET505 -- otherwise mypy finds the end unreachable
        return False


def is_placeholder(path: str | Path) -> bool:
    """Whether the content of a file is not on this machine, so that reading it would download it.

    OneDrive, iCloud and others keep only the names of files that have not been used for a while. Raises `OSError`.
    """
    status = os.lstat(path)
    return bool(
        getattr(status, "st_file_attributes", 0) & _PLACEHOLDER_ATTRIBUTES
        or getattr(status, "st_flags", 0) & _SF_DATALESS
    )


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


def read_start(path: Path, max_bytes: int) -> tuple[bytes, int]:
    """Return the first bytes of a regular file, at most `max_bytes`, and its size in bytes.

    Raises `OSError`, also for anything but a regular file. Unlike `open_regular`, it creates no file object, which
    would take longer than reading a small file.
    """
    descriptor, size_bytes = _open_descriptor(path)
    try:
        return os.read(descriptor, max_bytes), size_bytes
    finally:
        os.close(descriptor)


def read_to_end(path: Path) -> bytes:
    """Read a regular file of any size, without a file object. Raises `OSError`."""
    descriptor, size_bytes = _open_descriptor(path)
    try:
        data = os.read(descriptor, size_bytes + 1)
        further = []
        while more := os.read(descriptor, _FURTHER_BYTES):  # it has grown, or exceeds the limit of one call
            further.append(more)
        return b"".join([data, *further]) if further else data
    finally:
        os.close(descriptor)


def real_path(path: Path) -> Path:
    """Return the path with all symbolic links followed. Unlike `Path.resolve`, accepts links that form a loop."""
    return Path(os.path.realpath(path))


def printable(path: Path, folder: Path) -> str:
    """Return a file's name for display: relative to `folder` if it is below it, and always valid Unicode."""
    relative = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
    return str(relative).encode("utf-8", "replace").decode()


def _open_descriptor(path: Path) -> tuple[int, int]:
    """Open a regular file and return its descriptor and its size in bytes. Raises `OSError`."""
    descriptor = open_shared(os.fspath(path), _READING)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status.st_size


def _without_waiting(path: str, flags: int) -> int:
    return open_shared(path, flags | getattr(os, "O_NONBLOCK", 0))
