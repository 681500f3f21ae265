"""The stations that `serve` and `reindex` work on."""

from __future__ import annotations

from pathlib import Path

import click

from slpstream import config as configuration
from slpstream.config import Config, StationConfig


def stations_of(config: Config, folders: tuple[Path, ...]) -> list[StationConfig]:
    """The stations of the folders given on the command line, else those configured, else those of the usual folders."""
    for folder in folders:
        if folder.is_file():
            raise click.BadParameter(f"is a file: {folder}", param_hint="DIR")
    if folders:
        return configuration.stations_of_folders(folders)
    return config.stations or configuration.stations_of_folders(configuration.usual_folders())
