"""Iterate over all replays in an archive.

Each archive is read once, from its beginning to its end. If it contains other archives, these are read too, but only
one level deep. If a replay can't be read, you get a `Member` with a problem instead. If the archive allows it, you
still get the members after it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Protocol

from slpstream.parts.archives.compressed import read_replay
from slpstream.parts.archives.entry import Entry
from slpstream.parts.archives.seven_zip import SevenZipArchive
from slpstream.parts.archives.streams import (
    MAX_FILE_BYTES,
    Budget,
    NewDecompressor,
    gzip_decompressor,
    read_whole,
    too_large,
    unpacked,
    unreadable,
    window_bytes,
    xz_decompressor,
    zstd_decompressor,
)
from slpstream.parts.archives.tar_archive import TarArchive
from slpstream.parts.archives.zip_archive import ZipArchive
from slpstream.sources.packed import Member
from slpstream.sources.packed_names import holds_replay, is_archive, is_compressed
from slpstream.system.files import open_regular
from slpstream.system.member_paths import SEPARATOR, member_path, path_text

_MAX_NAME_BYTES = 4096
_TARS: Mapping[str, NewDecompressor] = {
    ".tar.gz": gzip_decompressor,
    ".tgz": gzip_decompressor,
    ".tar.zst": zstd_decompressor,
    ".tar.xz": xz_decompressor,
    ".txz": xz_decompressor,
}


class _Archive(Protocol):
    def entries(self) -> Iterator[Entry]:
        """Iterate over the entries in order."""


def members(path: Path, endings: tuple[str, ...] | None, *, by_name: bool = False) -> Iterator[Member]:
    """Iterate over the replays in an archive on disk that have one of these endings. `None` stands for all files.

    The endings must be in lower case. Pass `by_name=True` if you will read the replays by their names (except for
    nested ones). In this case, they count with the sizes that they claim to have. If there's a problem with the
    archive, you get a member that has this problem. This function blocks.
    """
    try:
        with open_regular(path) as file:
            budget = Budget(os.fstat(file.fileno()).st_size)
            yield from _members(path, "", path.name, file, budget, endings, nested=False, by_name=by_name)
    except OSError as error:
        yield _problem(path, error.strerror or "cannot be read")


def find_member(path: Path, name: str) -> bytes:
    """Return the replay with this name from an archive. It is already decompressed.

    Raises `OSError` if that isn't possible, and `FormatError` in the same cases as `Member.read`.
    """
    wanted = (path_text(path), path_text(member_path(path, normalised(name))))
    for member in members(path, None):
        if path_text(member.path) in wanted:
            return _data(member)
    raise no_such_member(path)


def _data(member: Member) -> bytes:
    if member.problem is not None:
        raise unreadable(member.problem)
    return member.read()


def find_in_zip(path: Path, archive: ZipArchive, name: str) -> bytes:
    """Return the replay with this name from an open zip archive. This doesn't have to read the rest of the archive."""
    wanted = normalised(name)
    entry = archive.find(wanted, normalised)
    if entry is not None:
        return _data(_member(path, "", wanted, entry, archive.budget))
    outer, _, inner = wanted.partition(SEPARATOR)
    entry = archive.find(outer, normalised) if inner else None
    if entry is not None:
        found = [path_text(member_path(path, each)) for each in (outer, wanted)]
        for member in _nested(path, outer, entry, archive.budget, None):
            if path_text(member.path) in found:
                return _data(member)
    raise no_such_member(path)


def head_in_zip(archive: ZipArchive, name: str, max_bytes: int) -> tuple[bytes, int] | None:
    """Return the first bytes of a replay in an open zip archive, and the size that it claims to have.

    Returns `None` if the replay is nested, compressed itself, or can't be read. Raises `OSError` if reading fails.
    """
    entry = archive.find(normalised(name), normalised)
    if entry is None or entry.problem is not None or is_compressed(entry.name):
        return None
    with entry.open() as stream:
        return stream.read(max_bytes), entry.size_bytes


def no_such_member(path: Path) -> FileNotFoundError:
    """Return the error to raise if a name isn't in an archive."""
    return FileNotFoundError(errno.ENOENT, "there is no such file in the archive", str(path))


def _members(
    path: Path,
    prefix: str,
    kind: str,
    file: BinaryIO,
    budget: Budget,
    endings: tuple[str, ...] | None,
    *,
    nested: bool,
    by_name: bool = False,
) -> Iterator[Member]:
    """Iterate over the replays in an archive that is already open.

    If it is nested, `prefix` is its name in the outer archive, followed by `::`. `kind` is a name that has its ending.
    """
    seen: set[int] = set()
    for entry in _opened(kind, file, budget).entries():
        name = normalised(entry.name)
        inner = is_archive(name)
        if not inner and not holds_replay(name, endings):
            continue
        problem = _name_problem(entry.name, name)
        if problem is None and entry.size_bytes > MAX_FILE_BYTES:
            problem = "it is damaged: it claims a size that no file has"
        key = hash(name)
        if problem is None and key in seen:
            problem = "there is another file of this name before it, which counts"
        seen.add(key)
        if problem is not None:
            yield _problem(member_path(path, prefix + _printable(name)), problem)
        elif not inner or entry.problem is not None:
            if by_name and entry.size_bytes <= budget.max_member_bytes:
                with contextlib.suppress(OSError):  # which ends below
                    budget.take(entry.size_bytes)
            yield _member(path, prefix, name, entry, budget, nested=nested)
        elif nested:
            yield _problem(member_path(path, prefix + name), "archives are read only one level deep")
        else:
            yield from _nested(path, name, entry, budget, endings)
        if budget.spent:
            yield _problem(path, "the rest is not read: it unpacks to too much")
            return


def _nested(path: Path, name: str, entry: Entry, budget: Budget, endings: tuple[str, ...] | None) -> Iterator[Member]:
    """Iterate over the replays in a nested archive.

    If we have to seek in it, and the stream doesn't support that, it is read into memory.
    """
    budget = budget.inside(entry.memory_bytes)
    try:
        with entry.open() as stream:
            file = stream
            if not name.lower().endswith((*_TARS, ".tar")) and not stream.seekable():
                max_bytes = budget.max_member_bytes
                if entry.size_bytes > max_bytes:
                    size = f"more than {max_bytes >> 20} MiB"
                    raise too_large(f"an archive of {size} in an archive, which is not read; unpack it first")
                file = io.BytesIO(read_whole(stream, entry.size_bytes))
                budget = budget.inside(entry.size_bytes)
            yield from _members(path, name + SEPARATOR, name, file, budget, endings, nested=True)
    except OSError as error:
        yield _problem(member_path(path, name), error.strerror or "cannot be read")


def _member(path: Path, prefix: str, name: str, entry: Entry, budget: Budget, *, nested: bool = False) -> Member:
    def read() -> bytes:
        data = None if entry.whole is None or is_compressed(name) else entry.whole()
        if data is not None:
            return data
        with entry.open() as stream:
            return read_replay(name, stream, entry.size_bytes, budget.inside(entry.memory_bytes))

    return Member(member_path(path, prefix + name), entry.size_bytes, read, entry.problem, nested)


def _problem(path: Path, problem: str) -> Member:
    return Member(path, 0, bytes, problem)


def _opened(name: str, file: BinaryIO, budget: Budget) -> _Archive:
    """Open the archive in the given file. The ending of the name tells us what kind of archive it is."""
    lower = name.lower()
    if lower.endswith(".zip"):
        return ZipArchive(file, budget)
    if lower.endswith(".7z"):
        return SevenZipArchive(file, budget)
    for ending, new_decompressor in _TARS.items():
        if lower.endswith(ending):
            return TarArchive(unpacked(file, new_decompressor, budget), window_bytes(new_decompressor, budget))
    return TarArchive(file)


def normalised(name: str) -> str:
    """Return a name in an archive with forward slashes, and without any parts that are empty or `.`."""
    parts = name.replace("\\", "/").split("/")
    kept = "/".join(part for part in parts if part not in ("", "."))
    return f"/{kept}" if parts[0] == "" and len(parts) > 1 else kept


def _name_problem(given: str, name: str) -> str | None:
    """Return the reason why a name isn't safe, or `None` if it is."""
    if name.startswith("/") or name[1:2] == ":":
        return "its name is that of a file outside the archive"
    if ".." in name.split("/"):
        return "its name leads out of the archive"
    if len(given) > _MAX_NAME_BYTES or "\0" in name:
        return "its name is none"
    return None


def _printable(name: str) -> str:
    return name[:200].replace("\0", "?")
