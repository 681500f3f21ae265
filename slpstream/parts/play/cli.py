"""`slpstream play`: print a range of frames of a replay or a replay log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from slpstream.api import messages
from slpstream.cli import error_context
from slpstream.formats.registry import of_name
from slpstream.formats.slippi.reader import SlippiReader
from slpstream.formats.slplog.open_log import is_log, log_in
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.game.pipeline import Pipeline
from slpstream.model.messages import LogMessage
from slpstream.system.files import open_regular

_MIN_FRAME, _MAX_FRAME = -(1 << 31), (1 << 31) - 1


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--from", "first", type=int, default=_MIN_FRAME, help="First frame number.  [default: first of the replay]"
)
@click.option("--to", "last", type=int, default=_MAX_FRAME, help="Last frame number.  [default: last of the replay]")
def command(file: Path, first: int, last: int) -> None:
    """Print frames of a replay or a replay log like `dump --topics frame`, but without `finalized` messages.

    In a log of a Slippi replay this jumps to the frames: at most one keyframe interval before them and one after them
    is decoded as well.
    """
    out = sys.stdout.buffer
    with error_context(file):
        for message in frames(file, first, last):
            out.write(message.json() + b"\n")
    out.flush()


def frames(file: Path, first: int, last: int) -> Iterator[LogMessage]:
    """Yield the `frame` messages of the frames `first` to `last`. Raises `SourceError`, `FormatError` or `OSError`."""
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
    """Yield the same messages for the log of a Slippi replay. Only the blocks that are needed for this are decoded."""
    span = log.span(first, last)
    if not span.data:
        return
    reader = of_name(log.header.name).new_reader(log.header.name)
    pipeline = Pipeline(reader, ("live",), make_stats=lambda start: None)
    pipeline.feed(span.lead)
    if isinstance(pipeline.reader, SlippiReader):
        pipeline.reader = pipeline.reader.resumed_after_frames(span.offset)
    for message in [*pipeline.feed(span.data).messages("live"), *pipeline.finish().messages("live")]:
        if message.frame is not None and first <= message.frame <= last:
            yield message
