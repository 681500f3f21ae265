"""`slpstream check-config`: validate a configuration file exactly as `serve` does."""

from __future__ import annotations

from pathlib import Path

import click

from slpstream.cli import config_error_context
from slpstream.config import EACH_SUBFOLDER, Config
from slpstream.parts import registry
from slpstream.system.text import printable


@click.command("check-config")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> None:
    """Validate a configuration file. Errors name the file, the key and the expected value; the exit code is 78."""
    from slpstream.daemon.daemon import check_startable

    config = registry.load(file)
    with config_error_context(file):
        check_startable(config, config.stations)  # also checks tokens, extras and folders
    names = [
        f"each subfolder of {station.folder}" if station.id == EACH_SUBFOLDER else station.id
        for station in config.stations
    ]
    stations = ", ".join(names) or _without_stations(config)
    click.echo(f"{printable(file)}: good; stations: {stations}")


def _without_stations(config: Config) -> str:
    """Return the note about a configuration without `[[stations]]`."""
    wanted = [part.without_stations for part in registry.parts() if part.without_stations and part.wanted(config)]
    return "; ".join(wanted) or "none: the usual Slippi folders are watched"
