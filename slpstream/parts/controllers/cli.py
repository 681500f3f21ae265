"""`slpstream controllers`: findings about the players' controllers, based on the inputs of games, as text or as
JSON.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slpstream.cli import report_error
from slpstream.cli.replay_files import at_hand, each_replay, fail_without_replays, find_files
from slpstream.formats.slippi.game_time import timer_start_at_end
from slpstream.model.errors import FormatError, SourceError
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.api import Replay
    from slpstream.model.controller_report import ControllerFinding, ControllerReport, PlayerControls

_SUFFIX = ".slp"
_FRAMES_PER_SECOND = 60
_HEADINGS = {"health": "Health", "legality": "Rules"}


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file.")
@click.option("--all", "show_all", is_flag=True, help="Also show which checks cannot judge a player, and why.")
def command(paths: tuple[Path, ...], as_json: bool, show_all: bool) -> None:
    """Check the controllers of Slippi games by their inputs: sticks that do not rest at the centre, triggers, buttons,
    and the checks of the 2024 controller ruleset proposal. A finding means: look at this. It is never a verdict."""
    import msgspec

    from slpstream.api import open_replay
    from slpstream.formats.slplog.container import SUFFIX

    files = list(find_files(paths, (_SUFFIX, SUFFIX)))
    if not files:
        fail_without_replays(paths)
    code = 0
    for file in each_replay(files, (_SUFFIX, SUFFIX)):
        path = file.path
        try:
            replay = open_replay(at_hand(file))
            found = replay.controllers()
        except (FormatError, SourceError) as error:
            code = max(code, report_error(path, error))
            continue
        if as_json:
            sys.stdout.buffer.write(msgspec.json.encode(json_object(replay, found)) + b"\n")
        else:
            click.echo(printable(path))
            for player in found.players:
                _print_player(replay, player, show_all=show_all)
    sys.stdout.flush()
    sys.exit(code)


def json_object(replay: Replay, found: ControllerReport) -> dict[str, Any]:
    """Return the JSON object of `controllers --json`."""
    import msgspec

    name = str(replay.path).encode("utf-8", "replace").decode()
    report: dict[str, Any] = msgspec.to_builtins(found)
    return {"file": name, "gameId": replay.game_id, **report}


def _print_player(replay: Replay, player: PlayerControls, *, show_all: bool) -> None:
    settings = replay.settings.player(player.player_index)
    end = replay.game_end
    starts_at = timer_start_at_end(end.last_frame, end.duration_seconds)
    name = "" if settings is None else settings.display_name or settings.nametag
    title = f"  Port {player.port}{f', {printable(name)}' if name else ''}: {player.controller} controller"
    click.echo(f"{title} ({player.controller_basis})")
    for group, heading in _HEADINGS.items():
        for finding in player.findings:
            if finding.group == group:
                _print_finding(heading, finding, starts_at)
    if not player.findings:
        click.echo("    nothing to look at")
    if show_all:
        for each in player.not_judged:
            click.echo(f"    {each.check} cannot be judged: {each.reason}")
    elif player.not_judged:
        checks = ", ".join(dict.fromkeys(each.check for each in player.not_judged))
        click.echo(f"    cannot be judged: {checks}")


def _print_finding(heading: str, finding: ControllerFinding, starts_at: int) -> None:
    click.echo(f"    {heading}, {finding.confidence} confidence: {finding.text}")
    click.echo(f"      {finding.basis}")
    click.echo(f"      frames {', '.join(f'{frame} ({at(frame - starts_at)})' for frame in finding.frames)}")


def at(timer_frames: int) -> str:
    """Return the time since GO as m:ss, in the same form as on the dashboard."""
    seconds = max(0, timer_frames) // _FRAMES_PER_SECOND
    return f"{seconds // 60}:{seconds % 60:02}"
