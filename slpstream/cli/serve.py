"""`slpstream serve`: run the daemon."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click
import trio

from slpstream.cli import config_error_context, without_groups
from slpstream.cli.addresses import base_address, print_addresses, print_missing
from slpstream.cli.service_options import address_options, config_option, load_config, log_options, strict_option
from slpstream.cli.stations import stations_of
from slpstream.config import EACH_SUBFOLDER, Config, StationConfig
from slpstream.daemon.daemon import Daemon, check_startable
from slpstream.daemon.service import run_process
from slpstream.system import logs


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR...]")
@config_option
@address_options
@click.option(
    "--pace",
    is_flag=True,
    help="Play files that are written in one go (GCI, Stunts) in real time instead of all at once.",
)
@strict_option
@log_options
def command(
    folders: tuple[Path, ...],
    config_file: Path | None,
    host: str | None,
    port: int | None,
    pace: bool,
    strict: bool,
    log_format: str | None,
    log_level: str | None,
) -> None:
    """Run the daemon: watch folders for replays and serve their frames.

    Each DIR becomes a station with the name of the folder. Without DIR and without stations in a configuration, the
    usual Slippi folders of this platform are watched.
    """

    def read() -> Config:
        return load_config(
            config_file,
            server={"host": host, "port": port},
            watch={"pace": pace or None},
            log={"format": log_format, "level": log_level},
        )

    config = read()
    stations = stations_of(config, folders)

    def read_again() -> tuple[Config, list[StationConfig]]:
        # The next start may not have the options of this one, so the file must do without them, as for `check-config`.
        alone = load_config(config_file)
        with config_error_context(config_file):
            check_startable(alone, alone.stations)
        again = read()
        return again, stations if folders else stations_of(again, ())

    logs.configure(config.log.format, config.log.level)
    with config_error_context(config_file):
        daemon = Daemon(config, stations, read_again=None if config_file is None else read_again, strict=strict)
    if not sys.stdout.isatty():
        run_process(daemon.run)
        return
    watched = {station.id: Path(station.folder).expanduser() for station in stations if station.folder}
    with without_groups():
        run_process(partial(_run, daemon, config.server.host, [station.id for station in stations], watched))


async def _run(daemon: Daemon, host: str, stations: Sequence[str], folders: Mapping[str, Path]) -> None:
    """Run the daemon, and print where the person at the terminal can see it, before the lines of its log."""

    def print_where(port: int) -> None:
        print_addresses(base_address(host, port), sorted(set(stations) - {EACH_SUBFOLDER}))

    async with trio.open_nursery() as nursery:
        await nursery.start(partial(daemon.run, on_listening=print_where))
        await trio.to_thread.run_sync(print_missing, folders)
