"""The rich console that commands print tables to."""

from __future__ import annotations

import sys

from rich.console import Console

_REDIRECTED_WIDTH = 160
"""Columns when stdout is a file or a pipe."""


class _Output(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with code 1. `slpstream.cli` treats a reader that has left as success.
        raise BrokenPipeError


def table_console() -> Console:
    """A console on stdout, as wide as the terminal if there is one."""
    return _Output(width=None if sys.stdout.isatty() else _REDIRECTED_WIDTH)
