"""Replace files atomically, so that a reader never sees half of one.

The new content is written to another file, which is then renamed. Windows refuses to rename over a file that another
program has open, so renaming is retried for a moment: programs that read a small file close it within that time.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

_ATTEMPTS = 20 if sys.platform == "win32" else 1
_PAUSE_SECONDS = 0.02


def replace_file(path: Path, data: bytes, *, attempts: int = _ATTEMPTS) -> None:
    """Replace the content of a file atomically. Blocks.

    Raises `OSError`, also when another program still has the file open after all `attempts`; then the file is
    unchanged.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_bytes(data)
        for attempt in range(1, attempts + 1):
            try:
                new.replace(path)
                return
            except PermissionError:
                if attempt == attempts:
                    raise
                time.sleep(_PAUSE_SECONDS)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise
