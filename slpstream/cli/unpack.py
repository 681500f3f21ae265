"""`slpstream unpack`: the replay of a replay log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, complain, naming, printable
from slpstream.cli.written import write_whole
from slpstream.formats.slplog.container import SUFFIX
from slpstream.formats.slplog.open_log import log_in
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.system.files import open_regular


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("-o", "--out", required=True, type=click.Path(path_type=Path), help="The replay, or a folder for it.")
@click.option("--partial", is_flag=True, help="Write what can be read; name the blocks that cannot.")
@click.option("--overwrite", is_flag=True, help="Replace a replay that is there.")
def command(file: Path, out: Path, partial: bool, overwrite: bool) -> None:
    """The replay of a replay log, byte for byte; length and SHA-256 are compared with what the log says.

    Of a log without an end (the game still ran, or its writer was killed) it is what was written, up to the last whole
    block. `--partial` leaves out broken blocks, and puts zeros in their place.
    """
    with naming(file), open_regular(file) as opened:
        log = log_in(opened)
        target = out / _name(file, log) if out.is_dir() else out
        pieces = _readable(log) if partial else log.chunks()
        try:
            size = write_whole(target, pieces, overwrite=overwrite)
        except FileExistsError:
            complain(f"{target}: is there already; --overwrite replaces it")
            sys.exit(EXIT_INPUT_OUTPUT)
    for problem in log.problems:
        complain(f"{file}: {problem}")
    if not log.finished:
        complain(f"{file}: the log has no end; the replay is as long as what was written")
    click.echo(printable(f"{target}: {size:,} bytes"))
    sys.exit(EXIT_NO if log.problems else 0)


def _name(file: Path, log: ReplayLog) -> str:
    """The replay's own name; never a way out of the folder."""
    own = Path(log.header.name).name
    return own if own not in ("", "..") and "\0" not in own else file.name.removesuffix(SUFFIX) or "replay"


def _readable(log: ReplayLog) -> Iterator[bytes]:
    at = 0
    for offset, data in log.pieces(partial=True):
        if offset > at:
            yield bytes(offset - at)
        yield data
        at = offset + len(data)
