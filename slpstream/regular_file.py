"""What others can have put into a folder. To open a named pipe waits until somebody writes into it, in a thread that
nothing can end; links can lead to each other."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open for reading. Raises `OSError`, also for anything else."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def read_regular(path: Path) -> bytes:
    """All of a regular file. Raises `OSError`, also for anything else."""
    with open_regular(path) as file:
        return file.read()


def real_path(path: Path) -> Path:
    """What it is behind all links; of links that lead to each other, any of them. `Path.resolve` refuses those."""
    return Path(os.path.realpath(path))


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
