"""`slpstream pack`: replays as replay logs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from slpstream.api import read_chunks
from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, complain, printable
from slpstream.cli.written import write_whole
from slpstream.formats.interface import SNIFFED_BYTES
from slpstream.formats.registry import choose, of_name
from slpstream.formats.slplog.container import SUFFIX
from slpstream.formats.slplog.open_log import is_log
from slpstream.formats.slplog.pads import KEYFRAME_FRAMES
from slpstream.formats.slplog.writer import MAX_KEYFRAME_FRAMES, new_writer
from slpstream.model.errors import SourceError, Unsupported


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), help="The log; a folder, when there are more files."
)
@click.option(
    "--keyframe",
    "keyframe_frames",
    type=click.IntRange(1, MAX_KEYFRAME_FRAMES),
    default=KEYFRAME_FRAMES,
    show_default=True,
    help="Frames between keyframes: more pack closer, fewer are reached faster.",
)
@click.option("--overwrite", is_flag=True, help="Replace a log that is there.")
@click.option("--follow", is_flag=True, help="Of a game that is still played: append as it writes, until it ends.")
def command(files: tuple[Path, ...], out: Path, keyframe_frames: int, overwrite: bool, follow: bool) -> None:
    """Replays as replay logs (`.slplog`), lossless: `unpack` gives the same bytes.

    Prints the sizes, and the log's in parts of the replay's.
    """
    if follow and (len(files) > 1 or of_name(files[0].name).written_whole or overwrite):
        raise click.UsageError("--follow takes one file of a format that grows, and replaces no log")
    folder = out.is_dir() or len(files) > 1
    if folder:
        out.mkdir(parents=True, exist_ok=True)
    code = 0
    for file in files:
        target = out / (file.name + SUFFIX) if folder else out
        try:
            if follow:
                import trio

                from slpstream.cli.pack_growing import pack_growing

                source_bytes, log_bytes = trio.run(pack_growing, file, target, keyframe_frames)
            else:
                source_bytes, log_bytes = pack_file(file, target, keyframe_frames, overwrite=overwrite)
        except Unsupported as error:
            complain(error.what)
            code = max(code, EXIT_NO)
        except SourceError as error:
            complain(str(error))
            code = EXIT_INPUT_OUTPUT
        except FileExistsError:
            way = "--follow replaces no log: remove it, or name another" if follow else "--overwrite replaces it"
            complain(f"{target}: is there already; {way}")
            code = EXIT_INPUT_OUTPUT
        else:
            ratio = log_bytes / source_bytes if source_bytes else 0.0
            click.echo(printable(f"{target}: {source_bytes:,} bytes to {log_bytes:,}, {ratio:.3f}"))
    sys.exit(code)


def pack_file(file: Path, target: Path, keyframe_frames: int, *, overwrite: bool) -> tuple[int, int]:
    """Writes the log of a file; its size and the log's. What breaks off leaves no log behind.

    Raises `SourceError`, `Unsupported` for a replay log, `FileExistsError`.
    """
    if is_log(file):
        raise Unsupported(f"{file}: is a replay log already", offset=0)
    data = b"".join(read_chunks(file))
    format_ = choose(file.name, data[:SNIFFED_BYTES], len(data))
    writer = new_writer("" if format_ is None else format_.name, file.name, keyframe_frames)
    return len(data), write_whole(target, [writer.feed(data), writer.finish()], overwrite=overwrite)
