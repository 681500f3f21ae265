"""Replace files atomically, so that it is impossible to read half of one.

To do this, we write the new content to another file and then rename it. On Windows, you can't rename a file over one
that another program has open. A program that reads a small file usually closes it soon, so we try it again for a
moment.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path

_ATTEMPTS = 20 if sys.platform == "win32" else 1
_PAUSE_SECONDS = 0.02


def replace_file(path: Path, data: bytes, *, attempts: int = _ATTEMPTS) -> None:
    """Replace the content of a file atomically. This function blocks.

    If another program still has the file open after all `attempts`, or if there is another problem, this raises
    `OSError` and leaves the file as it was.
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
