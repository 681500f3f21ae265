"""One entry of an archive. It is the same for all kinds of archives."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, NamedTuple


class Entry(NamedTuple):
    """A file in an archive.

    You can call `open` only once, and only until you ask for the next entry. It raises `OSError` if the file can't be
    read.
    """

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
