"""`slpstream bracket`: check the bracket of a configuration before the event."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import trio

from slpstream.cli import EXIT_CONFIG, EXIT_INPUT_OUTPUT, fail
from slpstream.parts import registry
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.parts.bracket.interface import BracketSet
    from slpstream.parts.bracket.part import Bracket

_WORDS = {"open": "not started", "called": "called", "running": "in progress", "done": "completed"}


@click.command("bracket")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> None:
    """Check the token of the bracket in the configuration FILE and its rights, and list the stations and the open sets.
    Nothing is changed."""
    from slpstream.daemon.subfolders import expand
    from slpstream.parts.bracket.interface import Refused
    from slpstream.parts.bracket.kinds import kind_called
    from slpstream.parts.bracket.part import Bracket

    config = registry.load(file)
    bracket = config.section(Bracket)
    if not bracket.kind:
        fail(f"{file}: bracket.kind: must be given", EXIT_CONFIG)
    if not kind_called(bracket.kind).reads:
        fail(f"{file}: bracket.kind: a {bracket.kind} has no sets to list", EXIT_CONFIG)
    names = {station.id: station.name or station.id for station in expand(config.stations)}
    try:
        trio.run(_list, bracket, names)
    except Refused as refusal:
        fail(f"{bracket.kind}: {printable(refusal.what)}", EXIT_INPUT_OUTPUT)


async def _list(config: Bracket, names: dict[str, str]) -> None:
    from slpstream.parts.bracket.configured import connection_of
    from slpstream.parts.bracket.kinds import kind_called
    from slpstream.parts.bracket.matching import stations_here

    kind = kind_called(config.kind)
    bracket = kind.make(await connection_of(config, kind))
    click.echo(printable(await bracket.check()))
    stations = await bracket.stations()
    here = stations_here(stations, names, config.stations)
    for station in stations:
        ours = f"is {here[station.id]}" if station.id in here else "is none of the configured stations"
        click.echo(f"station {station.number}: {printable(ours)}")
    for stream, queue in (await bracket.stream_queues()).items() if config.streams else ():
        station = next((ours for name, ours in config.streams.items() if name.casefold() == stream.casefold()), None)
        shown = f"is none of {', '.join(config.streams)}" if station is None else f"shows {station}"
        click.echo(printable(f"stream {stream}: {shown}, {len(queue)} sets in its queue"))
    sets = await bracket.open_sets()
    for each in sets:
        click.echo(_line(each))
    click.echo(f"{len(sets)} open sets")


def _line(found: BracketSet) -> str:
    names = [each.name if each is not None else "?" for each in found.entrants]
    station = "" if found.station is None else f", station {found.station.number or found.station.name}"
    return printable(f"{found.id}  {' – '.join(names)}  {found.round}, {_WORDS[found.state]}{station}")
