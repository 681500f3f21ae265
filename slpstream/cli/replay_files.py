"""The replay files that the FILE and DIR arguments of a command name, and the replays in archives among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from slpstream.cli import EXIT_NO, fail
from slpstream.model.errors import FormatError, SourceError, Unreadable, UnsupportedFile
from slpstream.sources.packed_names import holds_replay, is_archive

if TYPE_CHECKING:
    from slpstream.api import Replay

MAX_HELD_BYTES = 16 << 20
"""Limit for the archived replays of one part. Several parts are in memory at the same time."""


class ReplayFile(NamedTuple):
    """A file for a command to read."""

    path: Path
    in_folder: bool
    """Whether it was found in a folder, rather than named as an argument."""


class FoundReplay(NamedTuple):
    """A replay for a command to read: a file, or a member of an archive."""

    path: Path
    in_folder: bool
    """Whether it was found in a folder or an archive."""
    data: bytes | None = None
    """The replay, if it was read with its archive; `None` if it has to be read from `path`."""
    size_bytes: int = 0
    """The size of a member of an archive."""
    error: FormatError | SourceError | None = None
    """Why it cannot be read."""


def find_files(
    paths: tuple[Path, ...], endings: tuple[str, ...] | None = None, *, archives: bool = True
) -> Iterator[ReplayFile]:
    """Yield the files among `paths`, and all replays and archives in the folders among them and their subfolders.

    Replays of one folder come in the order of their paths. `endings` are the lower-case file name endings of replays to
    look for in folders, by default those of all formats. Without `archives`, those in folders are passed over.
    """
    if endings is None:
        from slpstream.formats.registry import suffixes

        endings = suffixes()
    for path in paths:
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if _is_wanted(p.name, endings, archives) and p.is_file())
            yield from (ReplayFile(file, in_folder=True) for file in found)
        else:
            yield ReplayFile(path, in_folder=False)


def _is_wanted(name: str, endings: tuple[str, ...], archives: bool) -> bool:
    return archives if is_archive(name) else holds_replay(name, endings)


def has_archives(files: Iterable[ReplayFile]) -> bool:
    """Whether there are archives among the files, so that the number of replays is not known."""
    return any(is_archive(file.path.name) for file in files)


def each_replay(
    files: Iterable[ReplayFile], endings: tuple[str, ...] | None = None, *, by_name: bool = False
) -> Iterator[FoundReplay]:
    """Yield the replays: the files themselves and, in place of each archive, its members with these endings.

    By default these are the endings of all formats.

    Members come in the order of their archive and are read in passing, each archive once. With `by_name` members of zip
    archives are not read, because other processes can do that; those of archives in them are. A member that cannot be
    read comes with its error.
    """
    if endings is None:
        from slpstream.formats.registry import suffixes

        endings = suffixes()
    for file in files:
        if is_archive(file.path.name) and file.path.is_file():
            yield from _members(file.path, endings, by_name=by_name and file.path.name.lower().endswith(".zip"))
        else:
            yield FoundReplay(file.path, file.in_folder)


def _members(archive: Path, endings: tuple[str, ...], *, by_name: bool) -> Iterator[FoundReplay]:
    from slpstream.sources.packed import members
    from slpstream.system.member_paths import path_text

    for member in members(archive, endings, by_name=by_name):
        path = member.path
        if member.problem is not None:
            yield FoundReplay(path, in_folder=True, error=Unreadable(path_text(path), member.problem))
        elif by_name and not member.nested:
            yield FoundReplay(path, in_folder=True, size_bytes=member.size_bytes)
        else:
            try:
                data = member.read()
            except OSError as error:
                problem = Unreadable(path_text(path), error.strerror or "cannot be read")
                yield FoundReplay(path, in_folder=True, error=problem)
            except FormatError as error:
                yield FoundReplay(path, in_folder=True, error=error)
            else:
                yield FoundReplay(path, in_folder=True, data=data, size_bytes=len(data))


def in_parts(
    replays: Iterable[FoundReplay],
    *,
    max_files: int,
    max_bytes: int | None = None,
    max_held_bytes: int | None = None,
) -> Iterator[tuple[FoundReplay, ...]]:
    """Divide replays into parts, in their order and by their sizes alone. A larger replay makes a part alone.

    `max_held_bytes` limits the replays that were read with their archive.
    """
    part: list[FoundReplay] = []
    part_bytes = held_bytes = 0
    for found in replays:
        size = found.size_bytes or size_bytes_of(found.path) if max_bytes is not None else 0
        held = len(found.data or b"")
        is_full = len(part) == max_files or (max_bytes is not None and part_bytes + size > max_bytes)
        if part and (is_full or (max_held_bytes is not None and held_bytes + held > max_held_bytes)):
            yield tuple(part)
            part, part_bytes, held_bytes = [], 0, 0
        part.append(found)
        part_bytes += size
        held_bytes += held
    if part:
        yield tuple(part)


def size_bytes_of(file: Path) -> int:
    """The size of a file; 0 for one that cannot be read, which is reported when it is read."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def bytes_sent(replays: Iterable[FoundReplay]) -> int:
    """The number of bytes that go to another process with these replays."""
    return sum(len(found.data or b"") for found in replays)


def at_hand(found: FoundReplay) -> Path:
    """The path of a replay, by which it can be read now. Raises the error of one that cannot be read."""
    if found.error is not None:
        raise found.error
    if found.data is not None:
        from slpstream.sources.packed import keep

        keep(found.path, found.data)
    return found.path


def open_exportable(file: Path) -> Replay:
    """Open a replay. Raises `SourceError`, and `FormatError` also for formats without columns."""
    from slpstream.api import open_replay

    replay = open_replay(file)
    if not replay.has_columns:
        raise UnsupportedFile(f"{replay.format} replays have no columns and cannot be exported")
    return replay


def fail_without_replays(paths: tuple[Path, ...]) -> NoReturn:
    """Report that the folders contain no replays, and exit with code 1."""
    fail(f"no replays in {', '.join(map(str, paths))}", EXIT_NO)
