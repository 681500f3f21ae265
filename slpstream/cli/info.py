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

from slpstream.api import open_replay, replay_ends
from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, complain, printable
from slpstream.cli.files import find_files, progress_bar
from slpstream.errors import FormatError, SourceError
from slpstream.events import Diagnostic, Event, Frame, GameEnd, GameStart, Metadata
from slpstream.formats import of_name
from slpstream.slippi.game_start import Settings

_MANY_FILES = 20
"""From here on there is a progress bar."""


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
@click.option("--full", is_flag=True, help="Read the files of folders whole too: count frames, find what is odd.")
def command(paths: tuple[Path, ...], as_json: bool, full: bool) -> None:
    """What is in replays: players, characters, stage, length, how it ended, what is odd."""
    code = 0
    rows: list[dict[str, Any]] = []
    files = list(find_files(paths))
    began = time.perf_counter()
    lines_on_terminal = as_json and sys.stdout.isatty()
    shown = len(files) >= _MANY_FILES and not lines_on_terminal
    with progress_bar("reading", len(files), shown=shown) as show:
        for done, found in enumerate(files, 1):
            try:
                row = describe(found.path) if full or not found.in_folder else describe_ends(found.path)
            except FormatError as error:
                complain(f"{found.path}: {error}")
                code = max(code, EXIT_NO)
            except SourceError as error:
                complain(str(error))
                code = EXIT_INPUT_OUTPUT
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


def describe(path: Path) -> dict[str, Any]:
    """A replay, read whole, as `info --json` shows it. Raises `SourceError`, `FormatError` when the file is none."""
    events = open_replay(path).events()
    metadata = _first(Metadata, events)
    numbers = {event.number for event in events if isinstance(event, Frame)}
    diagnostics = [
        {"severity": event.severity, "code": event.code, "offset": event.offset, "message": event.message}
        for event in events
        if isinstance(event, Diagnostic)
    ]
    start, end = _first(GameStart, events), _first(GameEnd, events)
    return _row(path, start, end, None if metadata is None else metadata.metadata, len(numbers), diagnostics)


def describe_ends(path: Path) -> dict[str, Any]:
    """The same, read only as far as it takes. `frames` and `diagnostics` are `None` where the whole game was not
    looked at, all else is as in `describe`."""
    ends = replay_ends(path)
    if ends is not None:
        return _row(path, ends.start, ends.end, ends.metadata.metadata, None, None)
    if of_name(path.name).whole is None or find_spec("numpy") is None:
        return describe(path)
    replay = open_replay(path)
    return _row(path, replay, replay.game_end, replay.metadata, len(replay.frames), None)


def _row(path: Path, start: Any, end: Any, metadata: Any, frames: int | None, diagnostics: Any) -> dict[str, Any]:
    """`start` has the game's id and settings."""
    return {
        "file": str(path).encode("utf-8", "replace").decode(),
        "format": of_name(path.name).name,
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


def _first(kind: type[Event], events: list[Event]) -> Any:
    return next((event for event in events if isinstance(event, kind)), None)


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("file", "version", "stage", "players", "length", "end"):
        table.add_column(title, overflow="fold", justify="right" if title == "length" else "left")
    for row in rows:
        odd = "".join(f"\n{d['code']} at {d['offset']}" for d in row["diagnostics"] or ())
        length, end = _length(row["durationSeconds"]), row["reason"] + odd
        table.add_row(*map(Text, (printable(Path(row["file"]).name), *_game(row), length, end)))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _game(row: dict[str, Any]) -> tuple[str, str, str]:
    """Version, stage and players of a game."""
    from slpstream.slippi.ids import stage_name

    settings = row["settings"]
    if not isinstance(settings, Settings):
        return row["format"], "", ""
    winners = {winner.player_index for winner in row["winners"]}
    players = "\n".join(_player(player, player.player_index in winners) for player in settings.players)
    return settings.slp_version, stage_name(settings.stage_id) or f"stage {settings.stage_id}", players


def _player(player: Any, won: bool) -> str:
    from slpstream.slippi.ids import character_name

    name = player.display_name or player.nametag
    code = f" ({player.connect_code})" if player.connect_code else ""
    character = character_name(player.character_id) or f"character {player.character_id}"
    crown = " *" if won else ""
    return printable(f"P{player.port} {character}{f' {name}' if name else ''}{code}{crown}")


def _length(seconds: float | None) -> str:
    return "" if seconds is None else f"{int(seconds) // 60}:{seconds % 60:04.1f}"
