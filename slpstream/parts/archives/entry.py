"""An entry of an archive of any kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, NamedTuple


class Entry(NamedTuple):
    """A file in an archive. Call `open` at most once, before the next entry is requested. It raises `OSError`."""

    name: str
    size_bytes: int
    """The size that the archive claims."""
    open: Callable[[], BinaryIO]
    problem: str | None = None
    """The reason why it cannot be read, if the header shows one."""
    memory_bytes: int = 0
    """Memory that its stream uses."""
    whole: Callable[[], bytes | None] | None = None
    """Reads it in one go, which is faster. Returns `None` if it differs from the archive's claims; `open` then reports
    the error."""
