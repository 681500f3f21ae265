"""`slpstream info`: what is in replays, as a table for people or as JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from slpstream.api import Replay, open_replay
from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, complain, printable
from slpstream.errors import FormatError, SourceError
from slpstream.events import Frame
from slpstream.formats import SUFFIXES


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def command(paths: tuple[Path, ...], as_json: bool) -> None:
    """What is in replays: players, characters, stage, length, how it ended, what is odd."""
    code = 0
    rows: list[dict[str, Any]] = []
    for file in files_of(paths):
        try:
            row = describe(open_replay(file))
        except FormatError as error:
            complain(f"{file}: {error}")
            code = max(code, EXIT_NO)
            continue
        except SourceError as error:
            complain(str(error))
            code = EXIT_INPUT_OUTPUT
            continue
        if as_json:
            sys.stdout.buffer.write(msgspec.json.encode(row) + b"\n")
        else:
            rows.append(row)
    if rows:
        _print_table(rows)
    sys.stdout.flush()
    sys.exit(code)


def describe(replay: Replay) -> dict[str, Any]:
    """A replay as `info --json` shows it. Raises `FormatError` when the file is none."""
    end = replay.game_end
    return {
        "file": str(replay.path).encode("utf-8", "replace").decode(),
        "gameId": replay.game_id,
        "settings": replay.settings,
        "metadata": replay.metadata,
        "frames": len({event.number for event in replay.events() if isinstance(event, Frame)}),
        "lastFrame": end.last_frame,
        "durationSeconds": end.duration_seconds,
        "reason": end.reason,
        "gameEnd": end.game_end,
        "winners": end.winners,
        "diagnostics": [
            {"severity": d.severity, "code": d.code, "offset": d.offset, "message": d.message}
            for d in replay.diagnostics
        ],
    }


def files_of(paths: Iterable[Path], suffixes: Collection[str] = SUFFIXES) -> Iterator[Path]:
    """Files as given; of folders all replays below them, in order."""
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.suffix.lower() in suffixes and p.is_file())
        else:
            yield path


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from slpstream.slippi.ids import stage_name

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("file", "version", "stage", "players", "length", "end"):
        table.add_column(title, overflow="fold", justify="right" if title == "length" else "left")
    for row in rows:
        settings = row["settings"]
        winners = {winner.player_index for winner in row["winners"]}
        players = "\n".join(player_text(player, won=player.player_index in winners) for player in settings.players)
        odd = "".join(f"\n{d['code']} at {d['offset']}" for d in row["diagnostics"])
        stage = stage_name(settings.stage_id) or f"stage {settings.stage_id}"
        cells = (
            printable(Path(row["file"]).name),
            settings.slp_version,
            stage,
            players,
            length_text(row["durationSeconds"]),
            row["reason"] + odd,
        )
        table.add_row(*map(Text, cells))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def player_text(player: Any, *, won: bool) -> str:
    """A player on one line: port, character, name, connect code, a star for the winner."""
    from slpstream.slippi.ids import character_name

    name = player.display_name or player.nametag
    code = f" ({player.connect_code})" if player.connect_code else ""
    character = character_name(player.character_id) or f"character {player.character_id}"
    crown = " *" if won else ""
    return printable(f"P{player.port} {character}{f' {name}' if name else ''}{code}{crown}")


def length_text(seconds: float | None) -> str:
    """Minutes and seconds."""
    return "" if seconds is None else f"{int(seconds) // 60}:{seconds % 60:04.1f}"
