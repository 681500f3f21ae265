"""Read one replay by its name. It can be compressed, or a member of an archive.

A replay is usually read in several steps, so the process caches the replays that were unpacked most recently. It also
caches where the members of the most recent zip archive are. The functions in this module block.
"""

from __future__ import annotations

import errno
import io
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from slpstream.model.errors import FormatError
from slpstream.sources.archives.compressed import read_replay
from slpstream.sources.archives.names import base_name, is_archive, is_compressed, plain_name
from slpstream.sources.archives.streams import Budget, unreadable
from slpstream.system.file_times import modified_ns
from slpstream.system.files import open_regular
from slpstream.system.member_paths import path_text, split_member

if TYPE_CHECKING:
    from slpstream.sources.archives.zip_archive import ZipArchive

_KEPT_BYTES = 8 << 20
"""Limit for the size of the cached replays. The most recent one is always kept."""


class Origin(NamedTuple):
    """The file on disk that contains a replay, together with its status."""

    path: Path
    mtime_ns: int
    size_bytes: int


class _Last:
    """A cache for the most recent replays and the most recent archive. It is shared by all threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.replays: OrderedDict[str, tuple[Origin, bytes]] = OrderedDict()
        self.zip: tuple[Origin, ZipArchive] | None = None


_last = _Last()


def is_packed(path: Path) -> bool:
    """Whether a path belongs to a compressed replay, a member of an archive, or an archive."""
    name = path.name
    return is_compressed(name) or is_archive(name) or split_member(path) is not None


def replay_name(path: Path) -> str:
    """Return the file name of the replay itself, without the name of its archive and the ending of its compression."""
    split = split_member(path)
    return plain_name(path.name if split is None else base_name(split[1]))


def origin_of(path: Path) -> Origin:
    """Find the file on disk that a path leads to. Raises `OSError` if that isn't possible."""
    split = split_member(path)
    file = path if split is None else split[0]
    status = file.stat()
    return Origin(file, modified_ns(status), status.st_size)


def open_replay_file(path: Path) -> BinaryIO:
    """Open a replay for reading.

    If it is packed, it is unpacked into memory. Raises `OSError` if that isn't possible.
    """
    if not is_packed(path):
        return open_regular(path)
    try:
        return io.BytesIO(read_packed(path))
    except FormatError as error:
        raise unreadable(str(error)) from error


def read_packed(path: Path) -> bytes:
    """Return the bytes of the replay.

    Raises `OSError` if it can't be read, and `FormatError` if a `.slpz` is damaged.
    """
    split = split_member(path)
    if split is None and is_archive(path.name):
        raise OSError(errno.EISDIR, f"an archive: the replays in it are named {path.name}::NAME", str(path))
    origin, key = origin_of(path), path_text(path)
    with _last.lock:
        known = _last.replays.get(key)
        if known is not None and known[0] == origin:
            _last.replays.move_to_end(key)
            return known[1]
    data = _read(path, origin, None if split is None else split[1])
    _keep(path, origin, data)
    return data


def head_of_member(path: Path, max_bytes: int) -> tuple[bytes, int] | None:
    """Return the first bytes of a replay in a zip archive and its size, without unpacking all of it.

    Returns `None` if this can't be known without reading everything. This is the case for all other kinds of files, and
    for damaged replays.
    """
    from slpstream.sources.archives.members import head_in_zip  # noqa: PLC0415 -- few have archives

    split = split_member(path)
    if split is None or not split[0].name.lower().endswith(".zip"):
        return None
    try:
        with _last.lock, _opened_zip(origin_of(path)) as archive:
            return head_in_zip(archive, split[1], max_bytes)
    except OSError:
        return None


def keep(path: Path, data: bytes) -> None:
    """Cache a replay that was read together with its archive, so that we don't have to unpack it again if it's needed
    by name.

    Raises `OSError` if the archive can't be found.
    """
    _keep(path, origin_of(path), data)


def _keep(path: Path, origin: Origin, data: bytes) -> None:
    with _last.lock:
        replays, key = _last.replays, path_text(path)
        replays[key] = (origin, data)
        replays.move_to_end(key)
        while len(replays) > 1 and sum(len(kept) for _, kept in replays.values()) > _KEPT_BYTES:
            replays.popitem(last=False)


def _read(path: Path, origin: Origin, member: str | None) -> bytes:
    if member is None:
        with open_regular(path) as file:
            return read_replay(path.name, file, origin.size_bytes, Budget(origin.size_bytes))
    from slpstream.sources.archives.members import find_in_zip, find_member  # noqa: PLC0415 -- few have archives

    if not origin.path.name.lower().endswith(".zip"):
        return find_member(origin.path, member)
    with _last.lock, _opened_zip(origin) as archive:
        return find_in_zip(origin.path, archive, member)


@contextmanager
def _opened_zip(origin: Origin) -> Iterator[ZipArchive]:
    """Open a zip archive, and cache where its members are.

    You must hold the lock when you call this. Raises `OSError` if it isn't possible.
    """
    from slpstream.sources.archives.zip_archive import ZipArchive  # noqa: PLC0415 -- see above

    with open_regular(origin.path) as file:
        budget = Budget(origin.size_bytes)
        if _last.zip is None or _last.zip[0] != origin:
            _last.zip = None
            _last.zip = (origin, ZipArchive(file, budget))
        archive = _last.zip[1]
        archive.file, archive.budget = file, budget
        yield archive
