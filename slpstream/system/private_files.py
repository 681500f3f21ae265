"""Files and folders that only their owner can use, such as those with secrets and with names of players.

On Windows, folders below a user's profile are private by default, and modes have no effect.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


def private_folder(path: Path) -> bool:
    """Create a folder that only its owner can enter, or restrict an existing one.

    Return whether other users could enter it before. Raises `OSError` if it cannot be created.
    """
    path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    return _restrict(path, _FOLDER_MODE)


def private_file(path: Path) -> bool:
    """Let only the owner read and write a file. Return whether this changed its mode."""
    return _restrict(path, _FILE_MODE)


def create_private_file(path: Path) -> int:
    """Create a new file for writing and return its descriptor. Raises `OSError`, also if the file exists."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)


def write_private_file(path: Path, content: bytes) -> None:
    """Create or overwrite a file that only its owner can read. Raises `OSError`."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE), "wb") as file:  # noqa: PTH123 -- a descriptor
        private_file(path)
        file.write(content)


def _restrict(path: Path, mode: int) -> bool:
    """Change a mode, unless another user owns the file, or it is a folder for all users, such as `/tmp`."""
    if os.name != "posix":
        return False
    with contextlib.suppress(OSError):
        now = path.stat().st_mode
        if now & 0o777 != mode and not now & stat.S_ISVTX:
            path.chmod(mode)
            return True
    return False
