"""Read one replay by its name. It can be compressed, or a member of an archive.

The part `archives` unpacks it in memory, so nothing is unpacked to disk. A replay is usually read in several steps, so
the process caches the replays that were unpacked most recently. The functions in this module block.
"""

from __future__ import annotations

import errno
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from slpstream.model.errors import FormatError
from slpstream.sources.packed_names import base_name, is_archive, is_compressed, plain_name
from slpstream.system.file_times import modified_ns
from slpstream.system.files import open_regular
from slpstream.system.member_paths import path_text, split_member

_KEPT_BYTES = 8 << 20
"""Limit for the size of the cached replays. The most recent one is always kept."""


class Origin(NamedTuple):
    """The file on disk that contains a replay, together with its status."""

    path: Path
    mtime_ns: int
    size_bytes: int


class Member(NamedTuple):
    """A replay in an archive, or the problem with one. Call `read` before the next member is requested."""

    path: Path
    """The name of the archive, `::`, and the name in it. The archive's name alone if the problem is the archive's."""
    size_bytes: int
    """The unpacked size that the archive claims."""
    read: Callable[[], bytes]
    """Returns the replay, decompressed. Raises `OSError`, and `FormatError` for a damaged `.slpz`."""
    problem: str | None = None
    nested: bool = False
    """Whether it is in a nested archive, which must be read from its beginning to find it by name."""


class _Last:
    """A cache for the most recent replays. It is shared by all threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.replays: OrderedDict[str, tuple[Origin, bytes]] = OrderedDict()


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
        raise OSError(errno.EIO, str(error)) from error


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
    split = split_member(path)
    if split is None or not split[0].name.lower().endswith(".zip"):
        return None
    try:
        head: tuple[bytes, int] | None = _unpacking("head_of_member")(origin_of(path), split[1], max_bytes)
    except OSError:
        return None
    return head


def members(path: Path, endings: tuple[str, ...] | None, *, by_name: bool = False) -> Iterator[Member]:
    """Iterate over the replays with these lower-case endings in an archive on disk; `None` stands for all files.

    With `by_name`, the caller reads the replays that are not nested by their names, so they count with their claimed
    sizes. Blocks. Errors of the archive become a member with a problem.
    """
    try:
        members_of = _unpacking("archive_members")
    except OSError as error:
        yield Member(path, 0, bytes, error.strerror)
    else:
        yield from members_of(path, endings, by_name=by_name)


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
    data: bytes
    if member is not None:
        data = _unpacking("read_member")(origin, member)
    else:
        with open_regular(path) as file:
            data = _unpacking("read_compressed")(path.name, file, origin.size_bytes)
    return data


def _unpacking(name: str) -> Callable[..., Any]:
    """Look up a function of the part `archives`. Raises `OSError` without the part."""
    from slpstream.parts import registry  # noqa: PLC0415 -- few replays are packed

    function = registry.function(name)
    if function is None:
        raise OSError(errno.ENOTSUP, "this installation reads neither archives nor compressed replays")
    return function
