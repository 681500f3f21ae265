"""The stations for `serve` and `reindex`."""

from __future__ import annotations

from pathlib import Path

import click

from slpstream import config as configuration
from slpstream.config import Config, StationConfig


def stations_of(config: Config, folders: tuple[Path, ...]) -> list[StationConfig]:
    """Return the stations of the folders on the command line, or else those in the configuration, or else those of the
    usual folders.
    """
    for folder in folders:
        if folder.is_file():
            raise click.BadParameter(f"is a file: {folder}", param_hint="DIR")
    if folders:
        return configuration.stations_of_folders(folders)
    return config.stations or configuration.stations_of_folders(configuration.usual_folders())
