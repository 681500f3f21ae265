"""Writes `slpstream.1`, the manual page of all commands, from the commands themselves.

Run `python deploy/wheel/manual.py` after a change of a command; a test compares. The page is a file of the source,
because a wheel is built where slpstream and its dependencies cannot be imported. Wheels and Debian packages carry it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from slpstream.cli import cli

PAGE = Path(__file__).with_name("slpstream.1")


def page() -> str:
    """The manual page in the language of man(7)."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    group = click.Context(cli, info_name="slpstream")
    yield '.TH SLPSTREAM 1 "" "" "User Commands"'
    yield ".SH NAME"
    yield r"slpstream \- stream game replays while they are written"
    yield ".SH SYNOPSIS"
    yield r".B slpstream"
    yield r"\fICOMMAND\fR [\fIARGUMENT\fR]..."
    yield ".SH DESCRIPTION"
    yield from _paragraphs(cli.help or "")
    yield ".SH COMMANDS"
    for name in cli.list_commands(group):
        command = cli.get_command(group, name)
        if command is None:
            raise LookupError(name)
        yield from _command(command, click.Context(command, info_name=name, parent=group))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f".SS {_escaped(command.get_usage(context).removeprefix('Usage: '))}"
    yield from _paragraphs(command.help or "")
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            names, text = record
            yield ".TP"
            yield rf"\fB{_escaped(names)}\fR"
            yield _escaped(text)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n{2,}", inspect.cleandoc(text)):
        yield ".PP"
        if paragraph.startswith("\b"):  # click's mark of lines that are not to be filled
            yield from (".nf", *map(_escaped, paragraph.splitlines()[1:]), ".fi")
        else:
            yield _escaped(" ".join(paragraph.split()))


def _escaped(text: str) -> str:
    """Text of one line. A full stop or an apostrophe at its beginning would be a request of the language."""
    escaped = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
