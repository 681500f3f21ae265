"""`slpstream check-config`: validates a configuration exactly as `serve` does."""

from __future__ import annotations

from pathlib import Path

import click

from slpstream import config as configuration
from slpstream.cli import printable
from slpstream.config import EACH_SUBFOLDER


@click.command("check-config")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path) -> None:
    """Validates a configuration: errors name the file, the key and what was expected (exit code 78)."""
    from slpstream.cli.serve import make_daemon

    config = configuration.load(file)
    make_daemon(config, config.stations, file)
    names = [
        f"each subfolder of {station.folder}" if station.id == EACH_SUBFOLDER else station.id
        for station in config.stations
    ]
    stations = ", ".join(names) or "none: the usual Slippi folders are watched"
    click.echo(f"{printable(file)}: good; stations: {stations}")
