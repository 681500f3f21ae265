"""`slpstream serve`: the daemon."""

from __future__ import annotations

from pathlib import Path

import click

from slpstream.cli import naming_config
from slpstream.cli.service_options import address_options, config_option, configured, log_options
from slpstream.cli.stations import stations_of
from slpstream.config import Config, StationConfig
from slpstream.daemon.daemon import Daemon
from slpstream.daemon.service import run_process
from slpstream.system import logs


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR...]")
@config_option
@address_options
@click.option("--pace", is_flag=True, help="Play files that are written in one go in real time, not at once.")
@log_options
def command(
    folders: tuple[Path, ...],
    config_file: Path | None,
    host: str | None,
    port: int | None,
    pace: bool,
    log_format: str | None,
    log_level: str | None,
) -> None:
    """The daemon: watches folders for replays and serves their frames.

    Each DIR is a station named after the folder. With no DIR and no configuration, the usual Slippi folders are
    watched.
    """

    def read() -> Config:
        return configured(
            config_file,
            server={"host": host, "port": port},
            watch={"pace": pace or None},
            log={"format": log_format, "level": log_level},
        )

    config = read()
    stations = stations_of(config, folders)

    def read_again() -> tuple[Config, list[StationConfig]]:
        again = read()
        return again, stations if folders else stations_of(again, ())

    logs.configure(config.log.format, config.log.level)
    with naming_config(config_file):
        daemon = Daemon(config, stations, read_again=None if config_file is None else read_again)
    run_process(daemon.run)
