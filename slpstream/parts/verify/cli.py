"""`slpstream verify`: find the first difference between two logs, or between a running station and its file."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from slpstream.api import open_replay
from slpstream.cli import EXIT_NO
from slpstream.cli.replay_options import frames_option, topics_option
from slpstream.formats.registry import suffixes
from slpstream.formats.slplog.compare import Found, first_difference
from slpstream.formats.slplog.open_log import is_log
from slpstream.model.errors import FormatError
from slpstream.model.messages import FramesMode
from slpstream.parts.verify.log_comparison import compare, log_of
from slpstream.sources.replay_file import read_chunks

_OUTSIDE_THE_LOG = {"header", "file"}
"""The parts in which two replays with the same log may differ."""


@click.command()
@click.argument("files", nargs=-1, metavar="A B", type=click.Path(path_type=Path))
@click.option(
    "--live", "url", metavar="URL", help="Compare the station http://HOST:PORT/STATION of a running daemon with a file."
)
@click.option(
    "--token-file", type=click.Path(path_type=Path), help="With --live: file whose first line is the access token."
)
@frames_option
@topics_option("game,frame")  # events and stats follow from the frames
def command(
    files: tuple[Path, ...], url: str | None, token_file: Path | None, frames: FramesMode, topics: frozenset[str]
) -> None:
    """Print the first difference between two logs: replays, replay logs or files of JSON lines.

    The difference is shown with its event or message, frame, player, field and both values, and with the frames around
    it. Two Slippi replays are compared field by field, down to the bit; with --frames or --topics only their messages
    are compared. `station` is ignored. --live compares the current game of a station, from its first message on, with
    the file A, by default the daemon's own file of that game. The exit code is 0 for equal logs, 1 for different ones.
    """
    if url is not None:
        from slpstream.parts.verify.live_comparison import compare_live

        if len(files) > 1:
            raise click.UsageError("--live expects at most one file")
        compare_live(url, files[0] if files else None, frames, topics, token_file)
        return
    if len(files) != 2:
        raise click.UsageError("expected two logs, A and B")
    left, right = files
    context = click.get_current_context()
    messages_only = any(
        context.get_parameter_source(name) is not ParameterSource.DEFAULT for name in ("frames", "topics")
    )
    found = None if messages_only else _in_bytes(left, right)
    if found is not None and found.event not in _OUTSIDE_THE_LOG:
        click.echo("\n".join(found.lines()))
        sys.exit(EXIT_NO)
    count = compare(log_of(left, frames, topics), log_of(right, frames, topics))
    click.echo(f"equal: {count} messages")
    if found is not None:
        click.echo(f"the files differ outside of the log: {found.lines()[0]}")


def _in_bytes(left: Path, right: Path) -> Found | None:
    """Return the first difference between two Slippi replays.

    Returns `None` if they are equal, or if these aren't two Slippi replays.
    """
    try:
        data = []
        for path in (left, right):
            if not (path.suffix.lower() in suffixes() or is_log(path)) or open_replay(path).format != "slippi":
                return None
            data.append(b"".join(read_chunks(path)))
        return first_difference(*data)
    except FormatError:
        return None  # it is reported when the messages are read
