"""Names for the files in archives, for example `archive.zip::folder/game.slp`.

These look like paths, so you can use them wherever there can be a path: in messages, in the index and in the API. If
you look for the first `::` that comes right after the name of a regular file, then the archive is the part before it.
If there's a real file that has `::` in its own name, then the path means this file.

In the part that belongs to the archive, we use slashes on all systems. However, a `Path` on Windows turns them into
backslashes. So use `path_text` to convert a path to text, and compare these texts instead of paths. This is also better
because a `Path` on Windows ignores case, and archives don't.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

SEPARATOR = "::"
_SEPARATOR_BYTES = SEPARATOR.encode()


def split_member(path: Path) -> tuple[Path, str] | None:
    """Split a path into the archive and the name in it. Returns `None` if the path isn't a member of an existing
    archive.

    This function blocks.
    """
    text = os.fspath(path)
    if SEPARATOR not in text or os.path.lexists(text):
        return None
    for archive, member in _splits(text):
        if os.path.isfile(archive):  # noqa: PTH113 -- `Path` would be made for each file of a folder
            return Path(archive), member.replace(os.sep, "/")
    return None


def member_path(archive: Path, member: str) -> Path:
    """Return the path that you can use for a member of the given archive."""
    return Path(f"{os.fspath(archive)}{SEPARATOR}{member}")


def path_text(path: Path) -> str:
    """Convert a path to text. In the part that belongs to an archive, this has slashes on all systems."""
    return _with_slashes(os.fspath(path))


def absolute_text(path: Path) -> str:
    """Like `path_text`, but the path of the archive or file is made absolute. Symbolic links are not resolved."""
    text = os.fspath(path)
    if os.sep == "/":
        return os.path.abspath(text)  # noqa: PTH100 -- symbolic links are not resolved
    # Windows drops dots and spaces at the ends of names, and takes `aux.slp` to be a device.
    file, separator, member = text.partition(SEPARATOR)
    return _with_slashes(f"{os.path.abspath(file)}{separator}{member}")  # noqa: PTH100


def shown_name(path: bytes) -> str:
    """Return the name of a file in a form that you can show to people, which is always valid Unicode.

    For a member of an archive, this is the file name of the archive and the name in it.
    """
    text = os.fsdecode(path)
    if SEPARATOR in text and not os.path.lexists(text):
        archive, member = next(_splits(text))
        text = f"{os.path.basename(archive)}{SEPARATOR}{member.replace(os.sep, '/')}"  # noqa: PTH119 -- names that are not UTF-8
    else:
        text = os.path.basename(text)  # noqa: PTH119
    return text.encode("utf-8", "replace").decode()


def members_prefix(archive: bytes) -> bytes:
    """Return the prefix that the paths of all members of the given archive have."""
    return archive + _SEPARATOR_BYTES


def missing(paths: Iterable[bytes]) -> list[bytes]:
    """Return those paths for which there's neither a file nor an archive that might contain it.

    This function blocks.
    """
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
