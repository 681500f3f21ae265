"""`slpstream play`: some frames of a replay."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from slpstream.api import messages
from slpstream.cli import naming
from slpstream.formats.registry import of_name
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slplog.open_log import is_log, log_in
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import LogMessage
from slpstream.system.files import open_regular

_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--from", "first", type=int, default=_LOWEST, help="First frame number.  [default: that of the replay]")
@click.option("--to", "last", type=int, default=_HIGHEST, help="Last frame number.  [default: that of the replay]")
def command(file: Path, first: int, last: int) -> None:
    """The frames of a replay log or a replay, as the lines of `dump --topics frame`, without `finalized`.

    In a log of a Slippi replay they are jumped to: at most one keyframe interval before them is decoded, and one behind
    them.
    """
    out = sys.stdout.buffer
    with naming(file):
        for message in frames(file, first, last):
            out.write(message.json() + b"\n")
    out.flush()


def frames(file: Path, first: int, last: int) -> Iterator[LogMessage]:
    """The `frame` messages of these numbers. Raises `SourceError`, `FormatError`, `OSError`."""
    if is_log(file):
        with open_regular(file) as opened:
            log = log_in(opened)
            if log.header.format == "slippi" and any(block.has_frames for block in log.blocks):
                yield from jump(log, first, last)
                return
    for message in messages(file, topics=("frame",)):
        if message.frame is not None and first <= message.frame <= last:
            yield message


def jump(log: ReplayLog, first: int, last: int) -> Iterator[LogMessage]:
    """The same of a log of a Slippi replay."""
    span = log.span(first, last)
    if not span.data:
        return
    reader = of_name(log.header.name).new_reader(log.header.name)
    pipeline = Pipeline(reader, ("live",), make_stats=lambda start: None)
    pipeline.feed(span.lead)
    if isinstance(pipeline.reader, SlippiReader):
        pipeline.reader = pipeline.reader.behind_frames(span.offset, None)
    for message in [*pipeline.feed(span.data).messages("live"), *pipeline.finish().messages("live")]:
        if message.frame is not None and first <= message.frame <= last:
            yield message
