"""`slpstream dump`: print the log messages of replays as JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from slpstream.api import messages
from slpstream.cli import report_error
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.messages import TOPICS, FramesMode

Callback = TypeVar("Callback", bound=Callable[..., Any])


def parse_topics(context: click.Context, parameter: click.Parameter, value: str) -> frozenset[str]:
    """Parse a comma-separated list of topics. Raises `click.BadParameter`."""
    topics = frozenset(part.strip() for part in value.split(",") if part.strip())
    unknown = topics - set(TOPICS)
    if unknown or not topics:
        raise click.BadParameter(f"expected some of {', '.join(TOPICS)}; found {', '.join(sorted(unknown)) or 'none'}")
    return topics


def topics_option(default: str) -> Callable[[Callback], Callback]:
    """The option `--topics`, whose default differs between commands."""
    return click.option(
        "--topics",
        default=default,
        show_default=True,
        callback=parse_topics,
        help=f"Topics to include, separated by commas: {','.join(TOPICS)}.",
    )


ALL_TOPICS = ",".join(TOPICS)

frames_option = click.option(
    "--frames",
    type=click.Choice(["live", "finalized"]),
    default="live",
    show_default=True,
    help="Every revision of each frame as it came, or each frame once when it is final.",
)
strict_option = click.option("--strict", is_flag=True, help="Refuse files with a wrong checksum.")
personal_option = click.option(
    "--personal",
    is_flag=True,
    help="Keep data that identifies a person beyond the name: the Mii and profile id of a ghost.",
)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@frames_option
@topics_option(ALL_TOPICS)
@strict_option
@personal_option
def command(files: tuple[Path, ...], frames: FramesMode, topics: frozenset[str], strict: bool, personal: bool) -> None:
    """Print the log messages of replays, finished or not, as JSON lines."""
    code = 0
    out = sys.stdout.buffer
    for file in files:
        try:
            for message in messages(file, frames=frames, topics=topics, strict=strict, personal=personal):
                out.write(message.json() + b"\n")
        except (FormatError, SourceError) as error:
            code = max(code, report_error(file, error))
    out.flush()
    sys.exit(code)
