"""`slpstream rehearse`: show everything that the outputs of a configuration would send for some replays."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import click
import msgspec
import trio

from slpstream.cli import config_error_context, error_context, without_groups
from slpstream.parts import registry
from slpstream.system import logs
from slpstream.system.text import printable

_MAX_CONTENT = 100
_MAX_CHANGES = 20
"""How many changes of one file in one game are printed. Percents change all the time."""


@click.command()
@click.argument("config_file", metavar="CONFIG", type=click.Path(path_type=Path))
@click.argument(
    "replays",
    nargs=-1,
    required=True,
    metavar="REPLAY...",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
@click.option("--station", metavar="ID", help="Station at which the replays are played, by default the first one.")
@click.option("--speed", type=click.FloatRange(0.1, 100), default=1.0, show_default=True, help="Speed of the games.")
@click.option(
    "--pause",
    type=click.FloatRange(0.5, 600),
    default=5.0,
    show_default=True,
    help="Seconds before the first game and after each game.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON lines, with the whole content.")
def command(
    config_file: Path, replays: tuple[Path, ...], station: str | None, speed: float, pause: float, as_json: bool
) -> None:
    """Play Slippi replays for the outputs of a configuration, and print everything that they would send, when, and why.

    Nothing leaves this process: OBS, web servers and all others are replaced by stand-ins that accept everything, and
    files are written to a temporary folder. Times are those in the game. `--json` also prints long contents and files
    that change often.
    """
    from slpstream.daemon.daemon import Daemon
    from slpstream.formats.slippi.write_schedule import schedule
    from slpstream.parts.rehearse.containment import contained
    from slpstream.parts.rehearse.rehearsal import WRITES, Rehearsal, Sent
    from slpstream.parts.rehearse.sandbox import sandbox

    changes: Counter[tuple[str, str]] = Counter()

    def show(sent: Sent) -> None:
        if as_json:
            sys.stdout.buffer.write(msgspec.json.encode(sent) + b"\n")
            sys.stdout.buffer.flush()
            return
        if sent.what == WRITES:
            changes[sent.game, sent.to] += 1
            if changes[sent.game, sent.to] > _MAX_CHANGES or len(sent.content) > _MAX_CONTENT:
                return
        because = f", because of {' and '.join(sent.rules)}" if sent.rules else ""
        content = "" if sent.content is None else msgspec.json.encode(sent.content).decode()
        short = content if len(content) <= _MAX_CONTENT else f"{content[:_MAX_CONTENT]}..."
        at = f"{int(sent.seconds // 60)}:{sent.seconds % 60:04.1f}"
        line = f"{sent.game or 'before'} {at}  {sent.section} {sent.what} {sent.to} {short}{because}"
        click.echo(printable(line))

    config = registry.load(config_file)
    played: list[tuple[str, bytes]] = []
    for path in replays:
        with error_context(path):
            played.append((path.name, data := path.read_bytes()))
            schedule(data)  # refuses everything that isn't a Slippi replay
    logs.configure("auto", "error")
    with tempfile.TemporaryDirectory(prefix="slpstream-rehearsal-") as folder, config_error_context(config_file):
        arranged = sandbox(config, station, Path(folder))
        rehearsal = Rehearsal(arranged, speed=speed, pause_seconds=pause, on_sent=show)
        with contained(Path(folder)), without_groups():
            daemon = Daemon(arranged.config, arranged.config.stations)
            trio.run(rehearsal.run, daemon, played)
