"""`slpstream simulate`: write an existing replay again, in the way a game would."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from slpstream.cli import error_context
from slpstream.system.text import printable


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--into", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write into.")
@click.option("--speed", default=1.0, show_default=True, help="Speed relative to real time. 0 is as fast as possible.")
@click.option(
    "--writer",
    default="dolphin",
    show_default=True,
    help="How to cut the file into writes. dolphin: bursts of 4,096-byte blocks every 85 ms; frame: one frame each; "
    "bytes:N: N bytes each; random:SEED: random sizes.",
)
def command(file: Path, into: Path, speed: float, writer: str) -> None:
    """Write FILE again the way a game would: in small pieces, with raw length 0 until its end.

    The finished file equals FILE byte for byte. Existing files are not overwritten.
    """
    import trio

    from slpstream.formats.slippi.write_schedule import cutter, time_scale
    from slpstream.parts.demo.simulated import write_replay
    from slpstream.sources.replay_file import read_chunks

    try:
        cutter(writer)
        time_scale(speed)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    data = b"".join(read_chunks(file))
    into.mkdir(parents=True, exist_ok=True)
    target = into / file.name
    with error_context(file):
        trio.run(partial(write_replay, data, target, writer=writer, speed=speed))
    click.echo(printable(target))
