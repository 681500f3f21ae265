"""Output files that are written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def write_atomically(target: Path, pieces: Iterable[bytes], *, overwrite: bool) -> int:
    """Write a file under a temporary name, then rename it to `target`. Return its size in bytes.

    Raises `FileExistsError` if the target exists and `overwrite` is false, and any exception of `pieces`; the target
    is then unchanged.
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
