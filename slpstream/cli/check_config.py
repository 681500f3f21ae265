"""`slpstream check-config`: validate a configuration file exactly as `serve` does."""

from __future__ import annotations

import os
from pathlib import Path

import click

from slpstream.cli import config_error_context
from slpstream.config import Config
from slpstream.parts import registry
from slpstream.system.text import printable


@click.command("check-config")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> None:
    """Validate a configuration file. Errors name the file, the key and the expected value; the exit code is 78."""
    from slpstream.daemon.daemon import check_startable
    from slpstream.daemon.subfolders import expand

    config = registry.load(file)
    with config_error_context(file):
        check_startable(config, config.stations)  # also checks tokens, extras and folders
    for folder in [station.folder for station in config.stations if station.folder]:
        if not os.access(Path(folder).expanduser(), os.R_OK):
            click.echo(f"{printable(folder)}: cannot be read now; slpstream waits until it can", err=True)
    ids = [station.id for station in expand(config.stations)]
    found = f" ({len(ids)}): {', '.join(ids) or 'none yet'}" if config.stations else f": {_without_stations(config)}"
    click.echo(f"{printable(file)}: good; stations{found}")


def _without_stations(config: Config) -> str:
    """Return the note about a configuration without `[[stations]]`."""
    wanted = [part.without_stations for part in registry.parts() if part.without_stations and part.wanted(config)]
    return "; ".join(wanted) or "none: the usual Slippi folders are watched"
