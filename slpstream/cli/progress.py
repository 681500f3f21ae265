"""The progress bar of commands that read many files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    title: str, total: int | None, *, shown: bool, transient: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar for `total` files on stderr, unless `shown` is false or stderr isn't a terminal.

    `total` is `None` as long as the number of files is not known. A `transient` bar is removed at the end.

    Yields a function. Call it with the number of files that are done so far.
    """
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

    columns = (TextColumn(title), BarColumn(), TaskProgressColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=transient) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.update(task, completed=count)
