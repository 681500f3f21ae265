"""`slpstream unpack`: restore the replay from a replay log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, error_context, report
from slpstream.cli.atomic_file import write_atomically
from slpstream.formats.slplog.container import SUFFIX
from slpstream.formats.slplog.open_log import log_in
from slpstream.formats.slplog.reader import ReplayLog
from slpstream.system.files import open_regular
from slpstream.system.text import printable


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), help="Replay to write, or a folder for it."
)
@click.option("--partial", is_flag=True, help="Write all readable blocks, and report the damaged ones.")
@click.option("--overwrite", is_flag=True, help="Replace an existing replay.")
def command(file: Path, out: Path, partial: bool, overwrite: bool) -> None:
    """Restore the replay from a replay log, byte for byte, and verify its length and SHA-256.

    A log without an end, of a game that is still running or whose writer was killed, is unpacked up to its last
    complete block. `--partial` writes zeros in place of damaged blocks.
    """
    with error_context(file), open_regular(file) as opened:
        log = log_in(opened)
        target = out / _name(file, log) if out.is_dir() else out
        pieces = _readable(log) if partial else log.chunks()
        try:
            size = write_atomically(target, pieces, overwrite=overwrite)
        except FileExistsError:
            report(f"{target}: already exists; use --overwrite to replace it")
            sys.exit(EXIT_INPUT_OUTPUT)
    for problem in log.problems:
        report(f"{file}: {problem}")
    if not log.finished:
        report(f"{file}: the log has no end; the replay was restored up to its last complete block")
    click.echo(printable(f"{target}: {size:,} bytes"))
    sys.exit(EXIT_NO if log.problems else 0)


def _name(file: Path, log: ReplayLog) -> str:
    """Return the file name of the replay.

    It is reduced to its last component, so that it can't lead out of the folder.
    """
    own = Path(log.header.name).name
    return own if own not in ("", "..") and "\0" not in own else file.name.removesuffix(SUFFIX) or "replay"


def _readable(log: ReplayLog) -> Iterator[bytes]:
    """Yield the readable bytes of the replay, with zeros instead of damaged blocks."""
    written_bytes = 0
    for offset, data in log.pieces(partial=True):
        if offset > written_bytes:
            yield bytes(offset - written_bytes)
        yield data
        written_bytes = offset + len(data)
