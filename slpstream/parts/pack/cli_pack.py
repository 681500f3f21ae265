"""`slpstream pack`: pack replays into replay logs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, report, report_error
from slpstream.cli.atomic_file import write_atomically
from slpstream.formats.interface import SNIFFED_BYTES
from slpstream.formats.registry import choose, of_name
from slpstream.formats.slplog.container import SUFFIX
from slpstream.formats.slplog.open_log import is_log
from slpstream.formats.slplog.pads import KEYFRAME_FRAMES
from slpstream.formats.slplog.writer import MAX_KEYFRAME_FRAMES, new_writer
from slpstream.model.errors import SourceError, Unsupported, UnsupportedFile
from slpstream.sources.replay_file import read_chunks
from slpstream.system.text import printable


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="Log to write, or a folder for the logs of several files.",
)
@click.option(
    "--keyframe",
    "keyframe_frames",
    type=click.IntRange(1, MAX_KEYFRAME_FRAMES),
    default=KEYFRAME_FRAMES,
    show_default=True,
    help="Frames between keyframes. More make the log smaller, fewer make jumps faster.",
)
@click.option("--overwrite", is_flag=True, help="Replace existing logs.")
@click.option(
    "--follow", is_flag=True, help="Follow a game that is being played, and append to the log until the game ends."
)
def command(files: tuple[Path, ...], out: Path, keyframe_frames: int, overwrite: bool, follow: bool) -> None:
    """Pack replays into replay logs (`.slplog`). This is lossless: `unpack` restores the same bytes.

    Prints both sizes, and their ratio.
    """
    if follow and (len(files) > 1 or of_name(files[0].name).written_whole or overwrite):
        raise click.UsageError(
            "--follow expects a single file of a format that grows, and cannot be combined with --overwrite"
        )
    folder = out.is_dir() or len(files) > 1
    if folder:
        out.mkdir(parents=True, exist_ok=True)
    code = 0
    for file in files:
        target = out / (file.name + SUFFIX) if folder else out
        try:
            if follow:
                import trio

                from slpstream.parts.pack.growing import pack_growing

                source_bytes, log_bytes = trio.run(pack_growing, file, target, keyframe_frames)
            else:
                source_bytes, log_bytes = pack_file(file, target, keyframe_frames, overwrite=overwrite)
        except Unsupported as error:
            code = max(code, report_error(file, error))
        except SourceError as error:
            report(str(error))
            code = EXIT_INPUT_OUTPUT
        except FileExistsError:
            advice = "remove it or choose another name" if follow else "use --overwrite to replace it"
            report(f"{target}: already exists; {advice}")
            code = EXIT_INPUT_OUTPUT
        else:
            ratio = log_bytes / source_bytes if source_bytes else 0.0
            click.echo(printable(f"{target}: {source_bytes:,} bytes to {log_bytes:,}, {ratio:.3f}"))
    sys.exit(code)


def pack_file(file: Path, target: Path, keyframe_frames: int, *, overwrite: bool) -> tuple[int, int]:
    """Write the log of a complete file. Returns the sizes of the file and of the log in bytes.

    If writing fails, `target` stays as it was. Raises `SourceError`, `FileExistsError`, or `Unsupported` if the file
    already is a replay log.
    """
    if is_log(file):
        raise UnsupportedFile("is already a replay log")
    data = b"".join(read_chunks(file))
    format_ = choose(file.name, data[:SNIFFED_BYTES], len(data))
    writer = new_writer("" if format_ is None else format_.name, file.name, keyframe_frames)
    return len(data), write_atomically(target, [writer.feed(data), writer.finish()], overwrite=overwrite)
