"""Where tables for people are printed."""

from __future__ import annotations

import sys

from rich.console import Console

_WIDTH_OF_A_FILE = 160


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """The reader has left: for rich that is a failure, for us (`slpstream.cli`) it is none."""
        raise BrokenPipeError


def new_console() -> Console:
    """As wide as the terminal, if stdout is one."""
    return _Output(width=None if sys.stdout.isatty() else _WIDTH_OF_A_FILE)
