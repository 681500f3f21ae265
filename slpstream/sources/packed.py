"""Read replays in archives and compressed replays, in memory; nothing is unpacked to disk.

The part `archives` unpacks them. A process caches the most recently unpacked replays, because a replay is read in
several steps. Blocks.
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
    """The file on disk that contains a replay, and its status."""

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
    """Cache of the most recent replays, shared by threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.replays: OrderedDict[str, tuple[Origin, bytes]] = OrderedDict()


_last = _Last()


def is_packed(path: Path) -> bool:
    """Whether a path names a compressed replay, a member of an archive, or an archive."""
    name = path.name
    return is_compressed(name) or is_archive(name) or split_member(path) is not None


def replay_name(path: Path) -> str:
    """The file name of the replay, without that of its archive and the ending of its compression."""
    split = split_member(path)
    return plain_name(path.name if split is None else base_name(split[1]))


def origin_of(path: Path) -> Origin:
    """Open the file on disk that a path leads to. Raises `OSError`."""
    split = split_member(path)
    file = path if split is None else split[0]
    status = file.stat()
    return Origin(file, modified_ns(status), status.st_size)


def open_replay_file(path: Path) -> BinaryIO:
    """Open a regular file for reading, or a packed replay in memory. Raises `OSError`."""
    if not is_packed(path):
        return open_regular(path)
    try:
        return io.BytesIO(read_packed(path))
    except FormatError as error:
        raise OSError(errno.EIO, str(error)) from error


def read_packed(path: Path) -> bytes:
    """The bytes of the replay. Raises `OSError`, and `FormatError` for a damaged `.slpz`."""
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
    """The first bytes of a replay in a zip archive and its size, without unpacking the rest.

    `None` if the whole must be read to know them: any other file, or a damaged replay.
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
    """Cache a replay that was read with its archive, so that it need not be unpacked again by name.

    Raises `OSError`.
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
    """A function of the part `archives`. Raises `OSError` without the part."""
    from slpstream.parts import registry  # noqa: PLC0415 -- few replays are packed

    function = registry.function(name)
    if function is None:
        raise OSError(errno.ENOTSUP, "this installation reads neither archives nor compressed replays")
    return function
