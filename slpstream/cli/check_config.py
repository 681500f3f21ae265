"""`slpstream check-config`: validate a configuration file exactly as `serve` does."""

from __future__ import annotations

from pathlib import Path

import click

from slpstream import config as configuration
from slpstream.cli import config_error_context
from slpstream.config import EACH_SUBFOLDER
from slpstream.system.text import printable


@click.command("check-config")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> None:
    """Validate a configuration file. Errors name the file, the key and what was expected; the exit code is 78."""
    from slpstream.daemon.daemon import Daemon

    config = configuration.load(file)
    with config_error_context(file):
        Daemon(config, config.stations)  # also checks tokens, extras and folders
    names = [
        f"each subfolder of {station.folder}" if station.id == EACH_SUBFOLDER else station.id
        for station in config.stations
    ]
    stations = ", ".join(names) or "none: the usual Slippi folders are watched"
    click.echo(f"{printable(file)}: good; stations: {stations}")
