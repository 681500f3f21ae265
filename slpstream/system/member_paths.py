"""Names of files in archives: `archive.zip::folder/game.slp`.

A member's name is written like a path, so that it goes wherever a path goes: into messages, the index and the API. What
comes before the first `::` that follows the name of a regular file is the archive. A real file whose own name contains
`::` is that file.

The name in the archive is written with slashes on all systems. A `Path` of Windows turns them into backslashes, so
texts are made by `path_text`, and paths are compared as such texts: a `Path` of Windows ignores case, and archives do
not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SEPARATOR = "::"
_SEPARATOR_BYTES = SEPARATOR.encode()


def split_member(path: Path) -> tuple[Path, str] | None:
    """The archive and the name in it; `None` for a path that names no member of an existing archive. Blocks."""
    text = os.fspath(path)
    if SEPARATOR not in text or os.path.lexists(text):
        return None
    for archive, member in _splits(text):
        if os.path.isfile(archive):  # noqa: PTH113 -- `Path` would be made for each file of a folder
            return Path(archive), member.replace(os.sep, "/")
    return None


def member_path(archive: Path, member: str) -> Path:
    """The path that names a member."""
    return Path(f"{os.fspath(archive)}{SEPARATOR}{member}")


def path_text(path: Path) -> str:
    """A path as it is shown: the name in an archive has slashes on all systems."""
    return _with_slashes(os.fspath(path))


def absolute_text(path: Path) -> str:
    """The same with the absolute path of the archive or the file. Symbolic links are not resolved."""
    text = os.fspath(path)
    if os.sep == "/":
        return os.path.abspath(text)  # noqa: PTH100 -- symbolic links are not resolved
    # Windows drops dots and spaces at the ends of names, and takes `aux.slp` to be a device.
    file, separator, member = text.partition(SEPARATOR)
    return _with_slashes(f"{os.path.abspath(file)}{separator}{member}")  # noqa: PTH100


def shown_name(path: bytes) -> str:
    """The file name of a path for people, as valid text: for a member that of its archive and its name in it."""
    text = os.fsdecode(path)
    if SEPARATOR in text and not os.path.lexists(text):
        archive, member = next(_splits(text))
        text = f"{os.path.basename(archive)}{SEPARATOR}{member.replace(os.sep, '/')}"  # noqa: PTH119 -- names that are not UTF-8
    else:
        text = os.path.basename(text)  # noqa: PTH119
    return text.encode("utf-8", "replace").decode()


def members_prefix(archive: bytes) -> bytes:
    """The bytes with which the paths of all members of an archive begin."""
    return archive + _SEPARATOR_BYTES


def missing(paths: Iterable[bytes]) -> list[bytes]:
    """The paths for which there is no file, and no file that could be their archive. Blocks."""
    gone = []
    archives: dict[bytes, bool] = {}
    for path in paths:
        if os.path.lexists(path):
            continue
        candidates = [path[:at] for at in _places(path)]
        for archive in candidates:
            if archive not in archives:
                archives[archive] = os.path.isfile(archive)  # noqa: PTH113
        if not any(archives[archive] for archive in candidates):
            gone.append(path)
    return gone


def _with_slashes(text: str) -> str:
    if os.sep == "/":
        return text
    file, separator, member = text.partition(SEPARATOR)  # no file has a colon in its name there
    return f"{file}{separator}{member.replace(os.sep, '/')}"


def _splits(text: str) -> Iterator[tuple[str, str]]:
    at = text.find(SEPARATOR)
    while at >= 0:
        yield text[:at], text[at + len(SEPARATOR) :]
        at = text.find(SEPARATOR, at + 1)


def _places(path: bytes) -> Iterator[int]:
    at = path.find(_SEPARATOR_BYTES)
    while at >= 0:
        yield at
        at = path.find(_SEPARATOR_BYTES, at + 1)
