"""Output files that are either written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def write_atomically(target: Path, pieces: Iterable[bytes], *, overwrite: bool) -> int:
    """Write a file under a temporary name, and then rename it to `target`. Returns its size in bytes.

    Raises `FileExistsError` if the target exists and `overwrite` is false. Exceptions of `pieces` are raised as well.
    In all of these cases, the target stays as it was.
    """
    if not overwrite and target.exists():
        raise FileExistsError(str(target))
    temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            for piece in pieces:
                file.write(piece)
            size = file.tell()
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return size
