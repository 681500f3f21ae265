"""The replay files that the FILE and DIR arguments of a command name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

from slpstream.cli import EXIT_NO, fail


class ReplayFile(NamedTuple):
    """A file for a command to read."""

    path: Path
    in_folder: bool
    """Whether it was found in a folder, rather than named as an argument."""


def find_files(paths: tuple[Path, ...], endings: tuple[str, ...] | None = None) -> Iterator[ReplayFile]:
    """Yield the files among `paths`, and all replays in the folders among them and their subfolders.

    Replays of one folder come in the order of their paths. `endings` are the lower-case file name endings to look for
    in folders, by default those of all formats.
    """
    if endings is None:
        from slpstream.formats.registry import suffixes

        endings = suffixes()
    for path in paths:
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.suffix.lower() in endings and p.is_file())
            yield from (ReplayFile(file, in_folder=True) for file in found)
        else:
            yield ReplayFile(path, in_folder=False)


def fail_without_replays(paths: tuple[Path, ...]) -> NoReturn:
    """Report that the folders contain no replays, and exit with code 1."""
    fail(f"no replays in {', '.join(map(str, paths))}", EXIT_NO)
