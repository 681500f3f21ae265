"""The command line. Each command is a module, which is only imported when you call the command.

These are the exit codes: 0 means success. 1 is a negative answer, such as an unreadable replay or a difference. 2 is
wrong usage, 74 an input/output error, and 78 a configuration error. Bad input never causes a traceback. Instead, errors
are one line on stderr, and for usage errors, this line comes after click's usage lines.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from slpstream.model.errors import ConfigError, FormatError, SourceError
from slpstream.model.version import __version__
from slpstream.system.member_paths import path_text
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.parts.interface import Command

EXIT_NO = 1
EXIT_INPUT_OUTPUT = 74
EXIT_CONFIG = 78
EXIT_INTERRUPTED = 130

_COMMANDS = {
    "serve": "Run the daemon: watch folders, serve websocket and HTTP.",
    "dump": "Print the log messages of a replay as JSON lines.",
    "follow": "Print the log messages of a file that is still being written.",
    "check-config": "Validate a configuration file.",
}
"""The commands of the core with their short descriptions, in the order of the help page. The command `a-b` is in the
module `a_b`. On the help page, the commands of parts follow after these."""


class _Commands(click.Group):
    """A click group that only imports the module of a command when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *_commands_of_parts()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        with _without_garbage_collection():
            if cmd_name in _COMMANDS:
                reference = f"slpstream.cli.{cmd_name.replace('-', '_')}:command"
            else:
                from slpstream.parts import registry

                of_part = registry.command(cmd_name)
                if of_part is None:
                    return None
                reference = of_part.click
            command: click.Command = resolve_name(reference)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. If there's no such command, the error names the one that is spelled most similarly."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            import difflib

            for similar in difflib.get_close_matches(args[0], self.list_commands(ctx), n=1):
                ctx.fail(f"No such command {args[0]!r}. Did you mean {similar!r}?")
            raise

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        If there are none, choose `start` for people on a terminal, and the help for everything else.
        """
        if not args:
            terminals = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
            if terminals and not is_remote(os.environ) and self.get_command(ctx, "start") is not None:
                args = ["start"]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.

        If the reader of stdout has left, we exit with 0, and after Ctrl-C with 130. Click would exit with 1 in both
        cases.
        """
        try:
            return super().invoke(ctx)
        except OSError as error:
            if not _is_closed_pipe(error):
                raise
            # The reader of our output has left, as in `slpstream dump ... | head`.
            _discard_output()
            ctx.exit(0)
        except KeyboardInterrupt:
            ctx.exit(EXIT_INTERRUPTED)
        except BaseExceptionGroup as group:
            # A second Ctrl-C, while the first one is being obeyed. `uv run` passes on each one that the terminal sends.
            if group.split(KeyboardInterrupt)[1] is not None:
                raise
            ctx.exit(EXIT_INTERRUPTED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*_COMMANDS.items(), *((c.name, c.summary) for c in _commands_of_parts().values())])


def _commands_of_parts() -> Mapping[str, Command]:
    from slpstream.parts import registry  # commands of the core start without it

    return registry.commands()


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector, because it would visit all of the modules that are being imported again and
    again.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="slpstream")
def cli() -> None:
    """Live ingest of game replays: tail Slippi replays while the game writes them, and stream their frames."""


def main(arguments: list[str] | None = None) -> Any:
    """Run a command. This is the entry point. Expected errors become one line on stderr and an exit code."""
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # print `?` for characters that the encoding lacks
    try:
        try:
            cli.main(args=arguments, prog_name="slpstream", standalone_mode=True)
        finally:
            sys.stdout.flush()  # otherwise Python flushes at exit and prints errors itself
    except ConfigError as error:
        fail(str(error), EXIT_CONFIG)
    except SourceError as error:
        fail(str(error), EXIT_INPUT_OUTPUT)
    except FormatError as error:
        fail(str(error), EXIT_NO)
    except OSError as error:
        _discard_output()
        if _is_closed_pipe(error):
            return
        fail(f"{error.filename or 'output'}: {error.strerror or error}", EXIT_INPUT_OUTPUT)


def _is_closed_pipe(error: OSError) -> bool:
    """Whether an error means that the reader of our output has left.

    Windows reports EINVAL in this case. Errors about a file are different, because they contain its name.
    """
    if isinstance(error, BrokenPipeError):
        return True
    return sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None


@contextmanager
def error_context(file: object) -> Iterator[None]:
    """Add the name of a file to each `FormatError` that is raised inside the context."""
    try:
        yield
    except FormatError as error:
        raise type(error)(f"{file}: {error.what}", offset=error.offset, command=error.command) from error


@contextmanager
def config_error_context(file: Path | None) -> Iterator[None]:
    """Put the name of the configuration file (if there is one) into each `ConfigError` that is raised inside the
    context.
    """
    try:
        yield
    except ConfigError as error:
        named = error.file if file is None else str(file)
        raise ConfigError(named, error.key, error.expected, found=error.found) from error


@contextmanager
def without_groups() -> Iterator[None]:
    """If a nursery inside the context has put a `ConfigError` into a group, raise the error itself."""
    try:
        yield
    except BaseExceptionGroup as group:
        error: BaseException | None = group.subgroup(ConfigError)
        if error is None:
            raise
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


def is_remote(environ: Mapping[str, str]) -> bool:
    """Whether the terminal belongs to another machine. In this case, we can't open a browser there."""
    return bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))


def describe_error(file: object, error: FormatError | SourceError) -> tuple[str, int]:
    """Return the error message and the exit code for a file that can't be read."""
    if isinstance(error, SourceError):
        return str(error), EXIT_INPUT_OUTPUT  # its text includes the file name
    return f"{path_text(file) if isinstance(file, Path) else file}: {error}", EXIT_NO


def report_error(file: object, error: FormatError | SourceError) -> int:
    """Print the error message for a file that can't be read, and return the exit code."""
    message, code = describe_error(file, error)
    report(message)
    return code


def report(message: str) -> None:
    """Print a message as one line on stderr."""
    print(f"slpstream: {printable(message)}", file=sys.stderr)


def fail(message: str, code: int) -> NoReturn:
    """Print a message as one line on stderr, and exit."""
    report(message)
    sys.exit(code)


def _replace_closed_streams() -> None:
    """Open the null device instead of a closed stdout or stderr, as you get it with `>&-`.

    Python sets such a stream to `None`, and the next file that is opened would get its descriptor. The replacement for
    stdout is read-only, so printing fails in the same way as with any other broken output.
    """
    if sys.stdout is None:
        sys.stdout = _open_null_device(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _open_null_device(2, os.O_WRONLY)


def _open_null_device(descriptor: int, flags: int) -> TextIO:
    null = os.open(os.devnull, flags)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    os.set_inheritable(descriptor, True)
    return open(descriptor, "w", encoding="utf-8", closefd=False)


def _discard_output() -> None:
    """Redirect stdout to the null device. After that, Python can flush it at exit without an error."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
