"""`slpstream info`: show the players, stage, length and result of replays, as a table or as JSON.

If you name files as arguments, they are read completely, to count frames and collect diagnostics. In contrast, for
files in folders, we only read both ends, provided that these contain the result of the game.
"""

from __future__ import annotations

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slpstream.cli import report, report_error
from slpstream.cli.progress import progress_bar
from slpstream.cli.replay_files import at_hand, each_replay, fail_without_replays, find_files, has_archives
from slpstream.cli.replay_options import personal_option, strict_option
from slpstream.model.errors import FormatError, SourceError, UnsupportedFile
from slpstream.system.member_paths import path_text, shown_name
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.model.setup import CodeList

_SHOWN_DIGITS = 8
"""How many digits of a fingerprint the table shows."""
_MIN_FILES_WITH_PROGRESS_BAR = 20


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|ARCHIVE|DIR...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file.")
@click.option("--track", is_flag=True, help="Draw the track of Stunts replays.")
@strict_option
@personal_option
@click.option(
    "--full", is_flag=True, help="Read files in folders completely too, to count frames and show codes and diagnostics."
)
def command(paths: tuple[Path, ...], as_json: bool, track: bool, strict: bool, personal: bool, full: bool) -> None:
    """Show players, stage, length, how the game ended, and anything odd.

    Archives stand for the replays in them, and are found in folders too.
    """
    import msgspec

    from slpstream.formats.registry import suffixes
    from slpstream.formats.slplog.container import SUFFIX

    code = 0
    rows: list[dict[str, Any]] = []
    endings = (*suffixes(), SUFFIX)
    files = list(find_files(paths, endings))
    began = time.perf_counter()
    lines_on_terminal = as_json and sys.stdout.isatty()
    archives = has_archives(files)
    shown = (archives or len(files) >= _MIN_FILES_WITH_PROGRESS_BAR) and not lines_on_terminal
    done = 0
    with progress_bar("reading", None if archives else len(files), shown=shown) as update:
        for done, found in enumerate(each_replay(files, endings), 1):
            try:
                path = at_hand(found)
                if full or not found.in_folder:
                    row = describe(path, strict=strict, personal=personal)
                else:
                    row = describe_quickly(path, strict=strict, personal=personal)
                if track and not as_json:
                    _draw_track(path)
            except (FormatError, SourceError) as error:
                code = max(code, report_error(found.path, error))
            else:
                if as_json:
                    sys.stdout.buffer.write(msgspec.json.encode(row) + b"\n")
                    sys.stdout.buffer.flush()
                else:
                    rows.append(row)
            update(done)
    if not done:
        fail_without_replays(paths)
    seconds = time.perf_counter() - began
    if rows:
        _print_table(rows)
    sys.stdout.flush()
    if done > 1:
        report(f"{done:,} files in {seconds:.2f} s, {done / seconds:,.0f} files a second")
    sys.exit(code)


def describe(path: Path, *, strict: bool = False, personal: bool = False) -> dict[str, Any]:
    """Read a whole replay, and return the JSON object of `info --json`. Raises `SourceError` or `FormatError`."""
    from slpstream.api import open_replay
    from slpstream.model.events import Diagnostic, Frame, GameEnd, GameStart, Metadata, first_of

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
    try:
        codes = replay.codes
    except FormatError as error:
        codes = None
        found = {"severity": "warning", "code": "bad_gecko_list", "offset": error.offset, "message": error.what}
        diagnostics.append(found)
    return _row(path, replay.format, start, end, values, len(numbers), diagnostics, codes)


def describe_quickly(path: Path, *, strict: bool = False, personal: bool = False) -> dict[str, Any]:
    """Return the same as `describe`, but read as little of the file as possible.

    If not all events were decoded, `diagnostics` and `codes` are `None`, and so is `frames`, unless the frames were
    counted.
    """
    from slpstream.api import open_replay, preview_replay

    preview = preview_replay(path)
    if preview is not None:
        start, end, metadata = preview
        return _row(path, start.format, start, end, metadata.metadata, None, None)
    replay = open_replay(path, strict=strict, personal=personal)
    if not replay.has_columns or find_spec("numpy") is None:
        return describe(path, strict=strict, personal=personal)
    return _row(path, replay.format, replay, replay.game_end, replay.metadata, len(replay.frames), None)


def _row(
    path: Path,
    format: str,
    start: Any,
    end: Any,
    metadata: Any,
    frames: int | None,
    diagnostics: Any,
    codes: CodeList | None = None,
) -> dict[str, Any]:
    """Return the JSON object of a replay. `start` can be anything that has `game_id` and `settings`."""
    row = {
        "file": path_text(path).encode("utf-8", "replace").decode(),
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
        **{name: end.values[name] for name in ("scores", "tied") if name in end.values},
        "codes": codes,
        "diagnostics": diagnostics,
    }
    basis = end.values.get("basis")
    return {**row, "basis": basis} if end.winners and basis is not None else row


def _draw_track(path: Path) -> None:
    """Print the track of a Stunts replay as text."""
    from slpstream.api import open_replay
    from slpstream.formats.stunts.reader import StuntsReader
    from slpstream.formats.stunts.track import draw
    from slpstream.sources.replay_file import read_chunks

    data = b"".join(read_chunks(path))
    reader = open_replay(path).new_reader()
    if not isinstance(reader, StuntsReader):
        raise UnsupportedFile("replays of this format have no track")
    click.echo(draw(reader.read(data).replay.track))


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from slpstream.cli.game_text import length_text
    from slpstream.cli.terminal import table_console, table_width

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("file", "version", "stage", "players", "length", "end"):
        table.add_column(title, overflow="fold", justify="right" if title == "length" else "left")
    listed = []
    for row in rows:
        file, (version, stage, players) = printable(shown_name(os.fsencode(row["file"]))), _game(row)
        length, end = length_text(row["durationSeconds"]), row["reason"]
        if row.get("basis") == "inferred":
            end += ", winner inferred"
        notes = [] if row["codes"] is None else [_codes_text(row["codes"])]
        notes += [f"{d['code']} at {d['offset']}" for d in row["diagnostics"] or ()]
        cells = (file, version, stage, "\n".join(players), length, "\n".join((end, *notes)))
        table.add_row(*map(Text, cells))
        listed.append("\n  ".join(("  ".join((file, version, stage, length, end)), *players, *notes)))
    console = table_console()
    if table_width(table, console) <= console.width:
        console.print(table)
    else:  # a list, because cells that go over several lines are hard to read
        console.print(*map(Text, listed), sep="\n")


def _codes_text(codes: CodeList) -> str:
    """Return the codes in a few words: their fingerprint, their number, and the known sets."""
    sets = "".join(f", {each.name}" for each in codes.sets)
    return f"{codes.count} codes {codes.fingerprint[:_SHOWN_DIGITS]}{sets}"


def _game(row: dict[str, Any]) -> tuple[str, str, list[str]]:
    """Return the version, the stage and the lines about players."""
    from slpstream.cli.game_text import mode_text, player_text, summary_of
    from slpstream.model.events import GameEnd

    end = GameEnd(0, row["reason"], row["gameEnd"], row["winners"])
    summary = summary_of(row["format"], row["settings"], end)
    stage_and_rules = ", ".join(part for part in (summary.place.text, summary.rules, mode_text(summary)) if part)
    players = [player_text(player, won=player.index in summary.winners) for player in summary.players]
    lines = [summary.who] if summary.who else players
    return summary.version or row["format"], stage_and_rules, [printable(line) for line in lines]
