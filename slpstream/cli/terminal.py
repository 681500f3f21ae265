"""The rich console to which commands print tables."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

REDIRECTED_WIDTH = 160
"""How many columns we use if stdout is a file or a pipe."""
_UNLIMITED = 10_000


class _Output(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with code 1. `slpstream.cli` treats a reader that has left as success.
        raise BrokenPipeError


def table_console() -> Console:
    """Return a console on stdout. It is as wide as the terminal, if there is one."""
    return _Output(width=None if sys.stdout.isatty() else REDIRECTED_WIDTH)


def table_width(table: Table, console: Console) -> int:
    """Return the width that a table would have if it got all the room that it wants, in characters."""
    return console.measure(table, options=console.options.update(max_width=_UNLIMITED)).maximum
