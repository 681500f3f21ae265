"""`slpstream serve`: the daemon."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from pathlib import Path

import click
import msgspec
import trio

from slpstream import config as configuration
from slpstream.cli import naming_config
from slpstream.cli.stations import stations_of
from slpstream.config import Config, StationConfig
from slpstream.daemon.daemon import Daemon
from slpstream.system import logs

_GARBAGE_THRESHOLDS = (10_000, 5, 50)
_M_ARENA_MAX = -8


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR...]")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Configuration file (TOML).")
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.")
@click.option("--pace", is_flag=True, help="Play files that are written in one go in real time, not at once.")
@click.option("--log-format", type=click.Choice(["auto", "json", "console"]), help="How log lines look.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="The least level shown.")
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
        return _configured(config_file, host, port, pace=pace, log_format=log_format, log_level=log_level)

    config = read()
    stations = stations_of(config, folders)

    def read_again() -> tuple[Config, list[StationConfig]]:
        again = read()
        return again, stations if folders else stations_of(again, ())

    logs.configure(config.log.format, config.log.level)
    with naming_config(config_file):
        daemon = Daemon(config, stations, read_again=None if config_file is None else read_again)
    _share_memory_among_threads()
    _collect_garbage_seldom()
    trio.run(daemon.run)


def _configured(
    file: Path | None,
    host: str | None,
    port: int | None,
    *,
    pace: bool,
    log_format: str | None,
    log_level: str | None,
) -> Config:
    """The configuration of a file, or none, with what the command line says."""
    config = configuration.load(file) if file is not None else Config()
    server = {key: value for key, value in (("host", host), ("port", port)) if value is not None}
    log = {key: value for key, value in (("format", log_format), ("level", log_level)) if value is not None}
    return msgspec.structs.replace(
        config,
        server=msgspec.structs.replace(config.server, **server),
        watch=msgspec.structs.replace(config.watch, pace=pace or config.watch.pace),
        log=msgspec.structs.replace(config.log, **log),
    )


def _collect_garbage_seldom() -> None:
    """A full search for cycles looks at every object, and nobody is served meanwhile: with five thousand connections
    for a quarter of a second. What is there from the start is never garbage, and what comes is mostly freed without."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)


def _share_memory_among_threads() -> None:
    """glibc gives threads heaps of their own, eight for each core, and what one thread has freed is of no use to the
    others: over days that is memory for nothing. Ours take turns anyway."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another libc
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
