"""Files that a command writes: whole, or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def write_whole(target: Path, pieces: Iterable[bytes], *, overwrite: bool) -> int:
    """Writes a file under another name and renames it, so that there is never half of it; its size in bytes.

    Raises `FileExistsError` unless it may be replaced, and whatever `pieces` raises.
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
