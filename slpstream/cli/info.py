"""`slpstream info`: what is in replays, as a table for people or as JSON for programs.

A file that is named is read whole, so that its frames are counted and its oddities found. Of the files of a folder only
the two ends are read, where they tell how the game went.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import msgspec

from slpstream.api import open_replay, read_chunks, replay_ends
from slpstream.cli import complain, complain_of, printable
from slpstream.cli.dump import personal_option, strict_option
from slpstream.cli.files import find_files, nothing_in, progress_bar
from slpstream.formats.registry import formats, suffixes
from slpstream.formats.slplog.container import SUFFIX
from slpstream.model.errors import FormatError, SourceError
from slpstream.model.events import Diagnostic, Frame, GameEnd, GameStart, Metadata, first_of

_MANY_FILES = 20
"""From here on there is a progress bar."""


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
@click.option("--track", is_flag=True, help="Draw the track, where the replay has one (Stunts).")
@strict_option
@personal_option
@click.option("--full", is_flag=True, help="Read the files of folders whole too: count frames, find what is odd.")
def command(paths: tuple[Path, ...], as_json: bool, track: bool, strict: bool, personal: bool, full: bool) -> None:
    """What is in replays: players, characters, stage, length, how it ended, what is odd."""
    code = 0
    rows: list[dict[str, Any]] = []
    files = list(find_files(paths, (*suffixes(), SUFFIX)))
    if not files:
        nothing_in(paths)
    began = time.perf_counter()
    lines_on_terminal = as_json and sys.stdout.isatty()
    shown = len(files) >= _MANY_FILES and not lines_on_terminal
    with progress_bar("reading", len(files), shown=shown) as show:
        for done, found in enumerate(files, 1):
            try:
                if full or not found.in_folder:
                    row = describe(found.path, strict=strict, personal=personal)
                else:
                    row = describe_ends(found.path, strict=strict, personal=personal)
                if track and not as_json:
                    _draw_track(found.path)
            except (FormatError, SourceError) as error:
                code = max(code, complain_of(found.path, error))
            else:
                if as_json:
                    sys.stdout.buffer.write(msgspec.json.encode(row) + b"\n")
                    sys.stdout.buffer.flush()
                else:
                    rows.append(row)
            show(done)
    seconds = time.perf_counter() - began
    if rows:
        _print_table(rows)
    sys.stdout.flush()
    if len(files) > 1:
        complain(f"{len(files):,} files in {seconds:.2f} s, {len(files) / seconds:,.0f} files a second")
    sys.exit(code)


def describe(path: Path, *, strict: bool = False, personal: bool = False) -> dict[str, Any]:
    """A replay, read whole, as `info --json` shows it. Raises `SourceError`, `FormatError` when the file is none."""
    replay = open_replay(path, strict=strict, personal=personal)
    events = replay.events()
    metadata = first_of(Metadata, events)
    numbers = {event.number for event in events if isinstance(event, Frame)}
    diagnostics = [
        {"severity": event.severity, "code": event.code, "offset": event.offset, "message": event.message}
        for event in events
        if isinstance(event, Diagnostic)
    ]
    start, end = first_of(GameStart, events), first_of(GameEnd, events)
    values = None if metadata is None else metadata.metadata
    return _row(path, replay.format, start, end, values, len(numbers), diagnostics)


def describe_ends(path: Path, *, strict: bool = False, personal: bool = False) -> dict[str, Any]:
    """The same, read only as far as it takes. `frames` and `diagnostics` are `None` where the whole game was not
    looked at, all else is as in `describe`."""
    ends = replay_ends(path)
    if ends is not None:
        return _row(path, ends.start.format, ends.start, ends.end, ends.metadata.metadata, None, None)
    replay = open_replay(path, strict=strict, personal=personal)
    if not replay.has_columns or find_spec("numpy") is None:
        return describe(path, strict=strict, personal=personal)
    return _row(path, replay.format, replay, replay.game_end, replay.metadata, len(replay.frames), None)


def _row(
    path: Path, format: str, start: Any, end: Any, metadata: Any, frames: int | None, diagnostics: Any
) -> dict[str, Any]:
    """`start` has the game's id and settings."""
    return {
        "file": str(path).encode("utf-8", "replace").decode(),
        "format": format,
        "gameId": start.game_id,
        "settings": start.settings,
        "metadata": metadata,
        "frames": frames,
        "lastFrame": end.last_frame,
        "durationSeconds": end.duration_seconds,
        "reason": end.reason,
        "gameEnd": end.game_end,
        "winners": end.winners,
        "diagnostics": diagnostics,
    }


def _draw_track(path: Path) -> None:
    """The track of a replay as text, above the table."""
    from slpstream.formats.stunts.reader import StuntsReader
    from slpstream.formats.stunts.track import draw

    data = b"".join(read_chunks(path))
    reader = open_replay(path).new_reader()
    if not isinstance(reader, StuntsReader):
        raise FormatError("there is no track in a replay of this format", offset=0)
    click.echo(draw(reader.read(data).replay.track))


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from slpstream.cli.console import new_console

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("file", "version", "stage", "players", "length", "end"):
        table.add_column(title, overflow="fold", justify="right" if title == "length" else "left")
    for row in rows:
        odd = "".join(f"\n{d['code']} at {d['offset']}" for d in row["diagnostics"] or ())
        length, end = length_text(row["durationSeconds"]), row["reason"] + odd
        table.add_row(*map(Text, (printable(Path(row["file"]).name), *_game(row), length, end)))
    new_console().print(table)


def _game(row: dict[str, Any]) -> tuple[str, str, str]:
    """Version, where and who of a game."""
    summary = next((format_.summary for format_ in formats() if format_.name == row["format"]), None)
    if summary is None:
        return row["format"], "", ""
    version, where, who = summary(row["settings"], row["winners"])
    return version, where, "\n".join(printable(line) for line in who.splitlines())


def length_text(seconds: float | None) -> str:
    """Minutes and seconds, rounded to a tenth."""
    if seconds is None:
        return ""
    minutes, tenths = divmod(round(seconds * 10), 600)
    return f"{minutes}:{tenths / 10:04.1f}"
