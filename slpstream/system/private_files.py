"""Files and folders that no one except their owner can use, for example because they contain secrets or names of
players.

On Windows, modes don't have any effect, but by default, the folders below a user's profile are private anyway.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


def private_folder(path: Path) -> bool:
    """Create a folder that only its owner can enter. If the folder already exists, restrict it.

    Returns whether other users were able to enter it before. Raises `OSError` if it isn't possible to create the
    folder.
    """
    path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    return _restrict(path, _FOLDER_MODE)


def private_file(path: Path) -> bool:
    """Make sure that only the owner can read and write a file. Returns whether we had to change its mode for that."""
    return _restrict(path, _FILE_MODE)


def create_private_file(path: Path) -> int:
    """Create a new file for writing and return its descriptor.

    Raises `OSError` if that fails or if the file already exists.
    """
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)


def write_private_file(path: Path, content: bytes) -> None:
    """Create or overwrite a file in such a way that only its owner can read it. Raises `OSError` if that fails."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _FILE_MODE), "wb") as file:  # noqa: PTH123 -- a descriptor
        private_file(path)
        file.write(content)


def _restrict(path: Path, mode: int) -> bool:
    """Change a mode, unless the file belongs to another user, or it is a folder for all users, such as `/tmp`."""
    if os.name != "posix":
        return False
    with contextlib.suppress(OSError):
        now = path.stat().st_mode
        if now & 0o777 != mode and not now & stat.S_ISVTX:
            path.chmod(mode)
            return True
    return False
