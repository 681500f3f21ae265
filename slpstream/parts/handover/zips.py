"""Writes the zips of sets. Blocks."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO, cast

from slpstream.parts.handover import archive
from slpstream.parts.handover.handed_set import HandedSet
from slpstream.sources.packed import open_replay_file

Report = Callable[[Path, str], None]
"""Called with the file of a replay and a problem with it."""


def temporary_zip(handed: HandedSet, report: Report) -> BinaryIO:
    """Return the zip of a set as an open file without a name. Raises `OSError` if that fails."""
    opened = tempfile.TemporaryFile("w+b", prefix="slpstream-")  # noqa: SIM115 -- the response closes it
    file = cast(BinaryIO, opened)  # on Windows it is a wrapper
    try:
        archive.write_zip(handed, file, report, open_file=open_replay_file)
    except BaseException:
        file.close()
        raise
    return file


def free_name(folder: Path, name: str, taken: Collection[str]) -> str:
    """Return a name for a zip in the given folder.

    If the folder doesn't exist, it is created. Raises `OSError` if that fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return archive.free_name(folder, name, taken)


def write_zip_file(target: Path, handed: HandedSet, report: Report) -> int:
    """Write the zip of a set, and return how many replays are in it. Raises `OSError` if that fails."""
    return archive.write_zip_file(target, handed, report, open_file=open_replay_file)
