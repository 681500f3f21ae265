"""Names of files in archives: `archive.zip::folder/game.slp`.

A member's name is written like a path, so that it can stand wherever a path can: in messages, the index and the API.
The archive is the part before the first `::` that follows the name of a regular file. If a real file has `::` in its
own name, the path names that file.

The name in the archive is written with slashes on all systems. A `Path` of Windows turns them into backslashes, so
`path_text` converts paths to text, and paths are compared as such text: a `Path` of Windows ignores case, and archives
do not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SEPARATOR = "::"
_SEPARATOR_BYTES = SEPARATOR.encode()


def split_member(path: Path) -> tuple[Path, str] | None:
    """Return the archive and the name in it; `None` if the path names no member of an existing archive. Blocks."""
    text = os.fspath(path)
    if SEPARATOR not in text or os.path.lexists(text):
        return None
    for archive, member in _splits(text):
        if os.path.isfile(archive):  # noqa: PTH113 -- `Path` would be made for each file of a folder
            return Path(archive), member.replace(os.sep, "/")
    return None


def member_path(archive: Path, member: str) -> Path:
    """Return the path that names a member of an archive."""
    return Path(f"{os.fspath(archive)}{SEPARATOR}{member}")


def path_text(path: Path) -> str:
    """Return a path as text. The name in an archive has slashes on all systems."""
    return _with_slashes(os.fspath(path))


def absolute_text(path: Path) -> str:
    """Return a path as text, with the absolute path of the archive or file. Symbolic links are not resolved."""
    text = os.fspath(path)
    if os.sep == "/":
        return os.path.abspath(text)  # noqa: PTH100 -- symbolic links are not resolved
    # Windows drops dots and spaces at the ends of names, and takes `aux.slp` to be a device.
    file, separator, member = text.partition(SEPARATOR)
    return _with_slashes(f"{os.path.abspath(file)}{separator}{member}")  # noqa: PTH100


def shown_name(path: bytes) -> str:
    """Return the file name for display, as valid Unicode. For a member: the archive's file name and the name in it."""
    text = os.fsdecode(path)
    if SEPARATOR in text and not os.path.lexists(text):
        archive, member = next(_splits(text))
        text = f"{os.path.basename(archive)}{SEPARATOR}{member.replace(os.sep, '/')}"  # noqa: PTH119 -- names that are not UTF-8
    else:
        text = os.path.basename(text)  # noqa: PTH119
    return text.encode("utf-8", "replace").decode()


def members_prefix(archive: bytes) -> bytes:
    """Return the prefix of the paths of all members of an archive."""
    return archive + _SEPARATOR_BYTES


def missing(paths: Iterable[bytes]) -> list[bytes]:
    """Return the paths for which neither the file nor a possible archive exists. Blocks."""
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
    file, separator, member = text.partition(SEPARATOR)  # file names cannot contain colons on Windows
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
