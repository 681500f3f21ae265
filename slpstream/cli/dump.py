"""`slpstream dump`: print the log messages of replays as JSON lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slpstream.cli import report_error
from slpstream.cli.replay_files import ReplayFile, at_hand, each_replay
from slpstream.cli.replay_options import ALL_TOPICS, frames_option, personal_option, strict_option, topics_option
from slpstream.model.errors import FormatError, SourceError

if TYPE_CHECKING:
    from slpstream.model.messages import FramesMode


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|ARCHIVE...")
@frames_option
@topics_option(ALL_TOPICS)
@strict_option
@personal_option
def command(files: tuple[Path, ...], frames: FramesMode, topics: frozenset[str], strict: bool, personal: bool) -> None:
    """Print the log messages of replays, finished or not, as JSON lines. Archives stand for the replays in them."""
    from slpstream.api import messages

    code = 0
    out = sys.stdout.buffer
    for found in each_replay(ReplayFile(file, in_folder=False) for file in files):
        try:
            for message in messages(at_hand(found), frames=frames, topics=topics, strict=strict, personal=personal):
                out.write(message.json() + b"\n")
        except (FormatError, SourceError) as error:
            code = max(code, report_error(found.path, error))
    out.flush()
    sys.exit(code)
