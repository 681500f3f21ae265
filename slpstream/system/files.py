"""Open paths that you can't trust. These functions only accept regular files, and no FIFOs or devices.

This matters because if you open a FIFO, the call blocks until something writes to it. In a worker thread, there would
be no way to cancel it.
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
    """Open a file for reading like `os.open`, but in a way that still allows other programs to rename and delete it.

    This only makes a difference on Windows, where the flags are ignored. Raises `OSError`.
    """
    if sys.platform == "win32":
        from slpstream.system import windows  # noqa: PLC0415 -- cannot be imported on other systems

        return windows.open_for_reading(path)
    else:  # noqa: RET505 -- otherwise mypy finds the end unreachable
        return os.open(path, flags)


def is_local(path: str) -> bool:
    """Whether we know that a file is on a drive of this machine. This is only possible on Windows, and false everywhere
    else.

    This function blocks.
    """
    if sys.platform == "win32":
        from slpstream.system import windows  # noqa: PLC0415 -- cannot be imported on other systems

        return windows.is_local(path)
    else:  # noqa: RET505 -- otherwise mypy finds the end unreachable
        return False


def is_placeholder(path: str | Path) -> bool:
    """Whether the content of a file isn't on this machine, which means that if you read the file, it is downloaded.

    OneDrive, iCloud and others do this: if you haven't used a file for a while, they only keep its name. Raises
    `OSError`.
    """
    status = os.lstat(path)
    return bool(
        getattr(status, "st_file_attributes", 0) & _PLACEHOLDER_ATTRIBUTES
        or getattr(status, "st_flags", 0) & _SF_DATALESS
    )


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises `OSError` if that fails, or if it isn't a regular file."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_regular(path: Path) -> bytes:
    """Read a regular file as a whole.

    Raises `OSError` if that fails, if it isn't a regular file, or if it is larger than `WHOLE_FILE_BYTES`.
    """
    with open_regular(path) as file:
        data = file.read(WHOLE_FILE_BYTES + 1)
    if len(data) > WHOLE_FILE_BYTES:
        raise OSError(errno.EFBIG, "larger than any replay that is written in one go", str(path))
    return data


def read_start(path: Path, max_bytes: int) -> tuple[bytes, int]:
    """Return at most the first `max_bytes` of a regular file, and its size in bytes.

    In contrast to `open_regular`, this doesn't create a file object, because that would take longer than reading a
    small file. Raises `OSError` if it fails, or if it isn't a regular file.
    """
    descriptor, size_bytes = _open_descriptor(path)
    try:
        return os.read(descriptor, max_bytes), size_bytes
    finally:
        os.close(descriptor)


def read_to_end(path: Path) -> bytes:
    """Read a regular file of any size, without creating a file object. Raises `OSError` if that fails."""
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
    """Follow all symbolic links in the given path.

    In contrast to `Path.resolve`, it is fine if the links form a loop.
    """
    return Path(os.path.realpath(path))


def printable(path: Path, folder: Path) -> str:
    """Return the name of a file in a form that you can show to people.

    It is always valid Unicode, and relative to `folder` if the file is below it.
    """
    relative = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
    return str(relative).encode("utf-8", "replace").decode()


def _open_descriptor(path: Path) -> tuple[int, int]:
    """Open a regular file. Returns its descriptor and its size in bytes. Raises `OSError` if that fails."""
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
