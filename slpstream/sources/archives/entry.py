"""An entry of an archive, as all kinds of archives give it."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, NamedTuple


class Entry(NamedTuple):
    """A file in an archive. `open` must be called before the next entry is taken, at most once. It raises `OSError`."""

    name: str
    size_bytes: int
    """The size that the archive claims."""
    open: Callable[[], BinaryIO]
    problem: str | None = None
    """Why it cannot be read, where that is known from its header."""
    memory_bytes: int = 0
    """How much memory its stream takes."""
    whole: Callable[[], bytes | None] | None = None
    """Reads it at once, which is faster; `None` when it is not what the archive claims, which `open` has to tell."""
