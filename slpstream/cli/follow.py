"""`slpstream follow`: print the log messages of a file while it is being written, until its end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slpstream.cli import error_context
from slpstream.cli.replay_options import ALL_TOPICS, frames_option, topics_option

if TYPE_CHECKING:
    from slpstream.model.messages import FramesMode


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@frames_option
@topics_option(ALL_TOPICS)
def command(file: Path, frames: FramesMode, topics: frozenset[str]) -> None:
    """Print the log messages of FILE as JSON lines while the game writes it, until the game has closed it.

    FILE may not exist yet.
    """
    from slpstream.api import follow
    from slpstream.system import logs

    logs.configure("auto", "warning")

    with error_context(file), follow(file, frames=frames, topics=topics) as log:
        for message in log:
            sys.stdout.buffer.write(message.json() + b"\n")
            sys.stdout.buffer.flush()
