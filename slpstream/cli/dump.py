"""`slpstream dump`: the log messages of replays, as JSON lines."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from slpstream.api import messages
from slpstream.cli import complain_of
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.messages import TOPICS, FramesMode

DEFAULT_TOPICS = "game,frame"


def parse_topics(context: click.Context, parameter: click.Parameter, value: str) -> frozenset[str]:
    """A comma-separated list of topics."""
    topics = frozenset(part.strip() for part in value.split(",") if part.strip())
    unknown = topics - set(TOPICS)
    if unknown or not topics:
        raise click.BadParameter(f"expected some of {', '.join(TOPICS)}; found {', '.join(sorted(unknown)) or 'none'}")
    return topics


frames_option = click.option(
    "--frames",
    type=click.Choice(["live", "finalized"]),
    default="live",
    show_default=True,
    help="Every revision as it came, or each frame once when final.",
)
topics_option = click.option(
    "--topics",
    default=DEFAULT_TOPICS,
    show_default=True,
    callback=parse_topics,
    help=f"Which messages, of {','.join(TOPICS)}.",
)


strict_option = click.option("--strict", is_flag=True, help="Refuse a file whose checksum is wrong.")
personal_option = click.option(
    "--personal",
    is_flag=True,
    help="Keep what identifies a person beyond the name: the Mii and profile id of a ghost.",
)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@frames_option
@topics_option
@strict_option
@personal_option
def command(files: tuple[Path, ...], frames: FramesMode, topics: frozenset[str], strict: bool, personal: bool) -> None:
    """The log messages of replays, finished or not, as JSON lines on stdout."""
    code = 0
    out = sys.stdout.buffer
    for file in files:
        try:
            for message in messages(file, frames=frames, topics=topics, strict=strict, personal=personal):
                out.write(message.json() + b"\n")
        except (FormatError, SourceError) as error:
            code = max(code, complain_of(file, error))
    out.flush()
    sys.exit(code)
