"""The rich console that commands print tables to."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

REDIRECTED_WIDTH = 160
"""Columns when stdout is a file or a pipe."""
_UNLIMITED = 10_000


class _Output(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with code 1. `slpstream.cli` treats a reader that has left as success.
        raise BrokenPipeError


def table_console() -> Console:
    """A console on stdout, as wide as the terminal if there is one."""
    return _Output(width=None if sys.stdout.isatty() else REDIRECTED_WIDTH)


def table_width(table: Table, console: Console) -> int:
    """The width of a table in characters if it had all the room that it wants."""
    return console.measure(table, options=console.options.update(max_width=_UNLIMITED)).maximum
