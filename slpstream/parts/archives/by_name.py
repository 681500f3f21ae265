"""Read one replay in an archive by its name. We cache where the members of the most recent zip archive are."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from slpstream.parts.archives.members import find_in_zip, find_member, head_in_zip
from slpstream.parts.archives.streams import Budget
from slpstream.parts.archives.zip_archive import ZipArchive
from slpstream.sources.packed import Origin
from slpstream.system.files import open_regular


class _Last:
    """A cache for the most recent zip archive. It is shared by all threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.zip: tuple[Origin, ZipArchive] | None = None


_last = _Last()


def read_member(origin: Origin, member: str) -> bytes:
    """Return the bytes of a replay in an archive. Raises `OSError`, and `FormatError` if a `.slpz` is damaged."""
    if not origin.path.name.lower().endswith(".zip"):
        return find_member(origin.path, member)
    with _last.lock, _opened_zip(origin) as archive:
        return find_in_zip(origin.path, archive, member)


def head_of_member(origin: Origin, member: str, max_bytes: int) -> tuple[bytes, int] | None:
    """Return the first bytes of a replay in a zip archive and its size, without unpacking all of it.

    Returns `None` if this can't be known without reading everything. Raises `OSError`.
    """
    with _last.lock, _opened_zip(origin) as archive:
        return head_in_zip(archive, member, max_bytes)


@contextmanager
def _opened_zip(origin: Origin) -> Iterator[ZipArchive]:
    """Open a zip archive, and cache where its members are.

    You must hold the lock when you call this. Raises `OSError` if it isn't possible.
    """
    with open_regular(origin.path) as file:
        budget = Budget(origin.size_bytes)
        if _last.zip is None or _last.zip[0] != origin:
            _last.zip = None
            _last.zip = (origin, ZipArchive(file, budget))
        archive = _last.zip[1]
        archive.file, archive.budget = file, budget
        yield archive
