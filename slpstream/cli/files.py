"""Which replays the arguments of a command name, and the progress bar over them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn

from slpstream.cli import EXIT_NO, fail
from slpstream.formats.registry import suffixes


class Found(NamedTuple):
    """A file that a command is to read."""

    path: Path
    in_folder: bool
    """It was found in a folder, and not named itself."""


def find_files(paths: tuple[Path, ...], endings: tuple[str, ...] | None = None) -> Iterator[Found]:
    """Files as given; of folders all replays below them, in the order of their paths. `endings` of file names, those
    of all formats when they are not given."""
    endings = suffixes() if endings is None else endings
    for path in paths:
        if path.is_dir():
            found = sorted(p for p in path.rglob("*") if p.suffix.lower() in endings and p.is_file())
            yield from (Found(file, in_folder=True) for file in found)
        else:
            yield Found(path, in_folder=False)


def nothing_in(paths: tuple[Path, ...]) -> NoReturn:
    """Of folders in which there is nothing to read: says so, and ends with exit code 1."""
    fail(f"no replays in {', '.join(map(str, paths))}", EXIT_NO)


@contextmanager
def progress_bar(what: str, total: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr over `total` files, if that is a terminal; yields what moves it to a count of files."""
    if not shown or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn(what), BarColumn(), TaskProgressColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(what, total=total)
        yield lambda count: progress.update(task, completed=count)
