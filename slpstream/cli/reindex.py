"""`slpstream reindex`: makes the index of games anew from the replays."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import click

from slpstream import config as configuration
from slpstream.api import read_game
from slpstream.cli import EXIT_INPUT_OUTPUT, complain, fail
from slpstream.cli.files import find_files, progress_bar
from slpstream.cli.processes import pool_of, starting
from slpstream.cli.stations import stations_of
from slpstream.config import Config, recordings_folder, state_folder, station_folder
from slpstream.daemon.subfolders import expand
from slpstream.game.described import describe_stored
from slpstream.store import FILE_NAME, Database, Entry, GameRecord, open_database
from slpstream.store.backfill import OldFile, path_key, read_entry
from slpstream.system.files import modified_ns

_FILES_AT_ONCE = 200
"""In one transaction."""
_FILES_FOR_PROCESSES = 400
"""From here on it is worth while to start processes; with `--stats`, which reads whole files, from far fewer."""
_FILES_FOR_PROCESSES_WITH_STATS = 8


class Job(NamedTuple):
    """A file to look at."""

    station: str
    file: OldFile


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR...]")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Configuration file (TOML).")
@click.option("--stats", is_flag=True, help="Read the files whole, for the summaries of stats too.")
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Processes.  [default: one a core]")
def command(folders: tuple[Path, ...], config_file: Path | None, stats: bool, jobs: int | None) -> None:
    """Makes the index of games anew from the replays of all stations, or of the stations that are the folders DIR, as
    with `serve`.

    Of a finished game only the two ends of its file are read, unless --stats is given; summaries that are known stay.
    Files in which there is no game are named and counted. A running daemon sees the result at once. The index is that
    of the state folder: for a service's, STATE_DIRECTORY names it. A folder that is not there makes the exit code 74.
    """
    config = configuration.load(config_file) if config_file is not None else Config()
    path = state_folder(config.store.folder) / FILE_NAME
    try:
        database = open_database(path, on_damage=_say_damage, describe=describe_stored)
    except (OSError, sqlite3.Error) as error:
        fail(f"{path}: {error}", EXIT_INPUT_OUTPUT)
    try:
        with closing(database):
            _reindex(database, config, folders, stats=stats, jobs=jobs or os.cpu_count() or 1)
    except sqlite3.Error as error:
        fail(f"{path}: {error}", EXIT_INPUT_OUTPUT)


def _reindex(database: Database, config: Config, folders: tuple[Path, ...], *, stats: bool, jobs: int) -> None:
    began = time.perf_counter()
    wanted: list[Job] = []
    forgotten: list[bytes] = []
    recordings = recordings_folder(config)
    missing = False
    for station in expand(stations_of(config, folders)):
        folder = station_folder(station, recordings)
        if not _is_folder(folder):
            missing = True
            continue
        found = list(_files(folder))
        wanted += [Job(station.id, file) for file in found]
        there = {path_key(file.path) for file in found}
        forgotten += [path for path in database.known_files(station.id) if path not in there]
    database.remove(path for path in forgotten if not os.path.lexists(path))
    games = broken = 0
    looking = closing(_look_at_all(wanted, stats=stats, idle_seconds=config.watch.idle_seconds, jobs=jobs))
    with progress_bar("indexing", len(wanted), shown=True) as show, looking as entries:
        while batch := list(islice(entries, _FILES_AT_ONCE)):
            for entry in batch:
                if entry.problem is not None:
                    broken += 1
                    complain(_named(entry))
                else:
                    games += 1
            database.put(batch)
            show(games + broken)
    seconds = time.perf_counter() - began
    rate = len(wanted) / seconds
    counts = f"{len(wanted):,} files: {games:,} games, {broken:,} broken"
    click.echo(f"{counts}; {seconds:.2f} s, {rate:,.0f} files a second")
    click.echo(str(database.path))
    sys.stdout.flush()
    if missing:
        sys.exit(EXIT_INPUT_OUTPUT)


def _is_folder(folder: Path) -> bool:
    """Whether it can be searched; else it is named, and the others are done."""
    try:
        if folder.is_dir():
            return True
        complain(f"{folder}: no such folder")
    except OSError as error:  # above it is one that may not be searched
        complain(f"{folder}: {error.strerror}")
    return False


def _files(folder: Path) -> Iterator[OldFile]:
    """The replays of a folder; links that lead out of it are not followed, as in the daemon."""
    root = folder.resolve()
    for found in find_files((folder,)):
        try:
            if found.path.is_symlink() and not found.path.resolve().is_relative_to(root):
                continue
            status = found.path.stat()
        except OSError:
            continue  # it went while we looked
        yield OldFile(found.path, modified_ns(status), status.st_size)


def _look_at_all(wanted: Sequence[Job], *, stats: bool, idle_seconds: float, jobs: int) -> Generator[Entry, None, None]:
    work = partial(_look, stats=stats, idle_seconds=idle_seconds)
    few = _FILES_FOR_PROCESSES_WITH_STATS if stats else _FILES_FOR_PROCESSES
    if jobs == 1 or len(wanted) < few:
        yield from map(work, wanted)
        return
    with pool_of(jobs) as pool:
        with starting():
            entries = pool.map(work, wanted, chunksize=1 if stats else 25)
        yield from entries


def _look(job: Job, *, stats: bool, idle_seconds: float) -> Entry:
    def read(path: Path) -> GameRecord:
        game = read_game(path, stats=stats)
        unfinished = game.end is not None and game.end.reason == "incomplete"
        if unfinished and time.time() - job.file.mtime_ns / 1e9 < idle_seconds:
            game.reopen()  # it is being written; the daemon knows when it has come to its end
        return game.record()

    return read_entry(read, job.station, job.file)


def _named(entry: Entry) -> str:
    path, problem = os.fsdecode(entry.path), entry.problem or ""
    return problem if problem.startswith(path) else f"{path}: {problem}"


def _say_damage(aside: Path, what: str) -> None:
    complain(f"the index was damaged ({what}); it is kept as {aside}")
