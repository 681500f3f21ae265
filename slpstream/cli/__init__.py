"""The command line: one module a command, imported when it is called, so that `slpstream --help` and each command
start fast.

Exit codes: 0 done; 1 the answer is "no"; 2 wrong usage; 74 input/output error; 78 configuration error. Errors go to
stderr as one line, those of usage below click's usage lines; there is never a traceback for bad input.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from slpstream.model.errors import ConfigError, FormatError, SourceError
from slpstream.model.version import __version__

EXIT_NO = 1
EXIT_INPUT_OUTPUT = 74
EXIT_CONFIG = 78
EXIT_INTERRUPTED = 130

_COMMANDS = {
    "serve": "The daemon: watches folders, serves websocket and HTTP.",
    "demo": "A daemon with a synthetic match, to look at.",
    "dump": "The log messages of a replay, as JSON lines.",
    "follow": "The same for a file that is still being written.",
    "info": "What is in a replay.",
    "export": "Replays as columns: Parquet, Arrow, CSV.",
    "stats": "The stats of games.",
    "pack": "Replays as replay logs: a twentieth of the .slp, readable at any frame.",
    "unpack": "The replay of a replay log, byte for byte.",
    "play": "Some frames of a replay, by a jump.",
    "verify": "The first difference between two logs.",
    "simulate": "Writes a replay again the way a game would.",
    "reindex": "Makes the index of games anew from the replays.",
    "gateway": "Serves the stations of an event from the broker.",
    "check-config": "Validates a configuration.",
    "reference": "Prints the reference pages.",
}
"""Commands in the order of the help page. The module has the command's name with `_` for `-`."""


class _Commands(click.Group):
    """Imports a command's module when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"slpstream.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """As click does it, but for two things that it would call a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of our output has left (`slpstream dump ... | head`): nothing went wrong.
            _forget_output()
            ctx.exit(0)
        except KeyboardInterrupt:
            ctx.exit(EXIT_INTERRUPTED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="slpstream")
def cli() -> None:
    """Live ingest of game replays: tails a Slippi replay while the game writes it and streams its frames."""


def main(arguments: list[str] | None = None) -> Any:
    """The entry point: runs a command and turns expected errors into one line and an exit code."""
    _open_what_is_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that does not have a character gets a `?`
    try:
        try:
            cli.main(args=arguments, prog_name="slpstream", standalone_mode=True)
        finally:
            sys.stdout.flush()  # Python would do it at its exit, and say there what is wrong
    except BrokenPipeError:
        _forget_output()
    except ConfigError as error:
        fail(str(error), EXIT_CONFIG)
    except SourceError as error:
        fail(str(error), EXIT_INPUT_OUTPUT)
    except FormatError as error:
        fail(str(error), EXIT_NO)
    except OSError as error:
        _forget_output()
        fail(f"{error.filename or 'output'}: {error.strerror or error}", EXIT_INPUT_OUTPUT)


def printable(text: object) -> str:
    """What can be shown on one line: names of files and players can have anything in them."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


@contextmanager
def naming(file: object) -> Iterator[None]:
    """What is wrong with the bytes of a file says which file."""
    try:
        yield
    except FormatError as error:
        raise type(error)(f"{file}: {error.what}", offset=error.offset, command=error.command) from error


@contextmanager
def naming_config(file: Path | None) -> Iterator[None]:
    """Put the name of the configuration file, if there is one, into a `ConfigError`."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(error.file if file is None else str(file), error.key, error.expected) from error


def said_of(file: object, error: FormatError | SourceError) -> tuple[str, int]:
    """What is said of a file that cannot be read, and the exit code that it leads to."""
    if isinstance(error, SourceError):
        return str(error), EXIT_INPUT_OUTPUT  # it names its file
    return f"{file}: {error}", EXIT_NO


def complain_of(file: object, error: FormatError | SourceError) -> int:
    """Says it; the exit code."""
    what, code = said_of(file, error)
    complain(what)
    return code


def complain(what: str) -> None:
    """One line on stderr."""
    print(f"slpstream: {printable(what)}", file=sys.stderr)


def _open_what_is_closed() -> None:
    """Without stdout (`>&-`) Python has `None` in its place, and the next file that is opened gets its number. What
    stands there then is not for writing: who prints fails as with any other output that takes nothing."""
    if sys.stdout is None:
        sys.stdout = _nothing_at(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _nothing_at(2, os.O_WRONLY)


def _nothing_at(number: int, flags: int) -> TextIO:
    nowhere = os.open(os.devnull, flags)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)
    os.set_inheritable(number, True)
    return open(number, "w", encoding="utf-8", closefd=False)


def _forget_output() -> None:
    """What Python would still write at its exit goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def fail(what: str, code: int) -> NoReturn:
    """One line on stderr, and the end with this exit code."""
    complain(what)
    sys.exit(code)
