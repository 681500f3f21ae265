"""The replay files that the FILE and DIR arguments of a command stand for, including the replays in archives."""

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
"""The limit for the archived replays of one part. Several parts are in memory at the same time."""


class ReplayFile(NamedTuple):
    """A file that a command should read."""

    path: Path
    in_folder: bool
    """Whether the file was found in a folder, and not named as an argument."""


class FoundReplay(NamedTuple):
    """A replay that a command should read. This is either a file or a member of an archive."""

    path: Path
    in_folder: bool
    """Whether the replay was found in a folder or an archive."""
    data: bytes | None = None
    """The replay itself, if it was read together with its archive. If this is `None`, you have to read it from
    `path`."""
    size_bytes: int = 0
    """The size, for a member of an archive."""
    error: FormatError | SourceError | None = None
    """The reason why it can't be read."""


def find_files(
    paths: tuple[Path, ...], endings: tuple[str, ...] | None = None, *, archives: bool = True
) -> Iterator[ReplayFile]:
    """Yield the files among `paths`, and all replays and archives that are in the folders among them (and their
    subfolders).

    The replays of a folder come in the order of their paths. `endings` are the lower-case endings of the replays that
    we look for in folders. By default, these are the endings of all formats. Without `archives`, the archives in
    folders are skipped.
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
    """Whether there are archives among the files, which means that we don't know the number of replays."""
    return any(is_archive(file.path.name) for file in files)


def each_replay(
    files: Iterable[ReplayFile], endings: tuple[str, ...] | None = None, *, by_name: bool = False
) -> Iterator[FoundReplay]:
    """Yield the replays: the files themselves and, instead of each archive, its members with these endings.

    By default, these are the endings of all formats.

    The members come in the order of their archive. Each archive is read only once, together with its members. With
    `by_name`, the members of zip archives aren't read, because other processes can do this. Those of archives inside of
    them still are. If a member cannot be read, it comes with its error.
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
    """Divide replays into parts.

    They stay in order, and only their sizes matter. A replay that is too large gets its own part. `max_held_bytes`
    limits the replays that were read together with their archive.
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
    """Return the size of a file, or 0 if it can't be read. The latter is reported when we try to read it."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def bytes_sent(replays: Iterable[FoundReplay]) -> int:
    """Return how many bytes go to another process with these replays."""
    return sum(len(found.data or b"") for found in replays)


def at_hand(found: FoundReplay) -> Path:
    """Return the path under which a replay can be read now. If it can't be read, this raises its error."""
    if found.error is not None:
        raise found.error
    if found.data is not None:
        from slpstream.sources.packed import keep

        keep(found.path, found.data)
    return found.path


def open_exportable(file: Path) -> Replay:
    """Open a replay. Raises `SourceError`, or `FormatError`, which is also for formats without columns."""
    from slpstream.api import open_replay

    replay = open_replay(file)
    if not replay.has_columns:
        raise UnsupportedFile(f"{replay.format} replays have no columns and cannot be exported")
    return replay


def fail_without_replays(paths: tuple[Path, ...]) -> NoReturn:
    """Report that there are no replays in the folders, and exit with code 1."""
    fail(f"no replays in {', '.join(map(str, paths))}", EXIT_NO)
