"""`slpstream reindex`: rebuild the index of games from the replays."""

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

from slpstream.api import read_game
from slpstream.cli import EXIT_INPUT_OUTPUT, fail, report
from slpstream.cli.process_pool import apply_to_all, map_in_order, process_pool, result_of
from slpstream.cli.progress import progress_bar
from slpstream.cli.replay_files import find_files
from slpstream.cli.stations import stations_of
from slpstream.config import Config, recordings_folder, state_folder, station_folder
from slpstream.daemon.archived_games import read_archive
from slpstream.daemon.subfolders import expand
from slpstream.game.described import describe_stored
from slpstream.parts import registry
from slpstream.sources.packed_names import is_archive
from slpstream.store import FILE_NAME, Database, Entry, GameRecord, open_database
from slpstream.store.backfill import ARCHIVE, OldFile, archive_entry, member_entry, path_key, read_entry
from slpstream.system.file_times import modified_ns
from slpstream.system.member_paths import missing

_FILES_PER_TRANSACTION = 200
_MIN_FILES_FOR_PROCESSES = 400
"""With fewer files than this, starting processes takes longer than it saves."""
_MIN_FILES_FOR_PROCESSES_WITH_STATS = 8
"""This is lower, because `--stats` reads files completely."""
_FILES_PER_PART = 25
_PARTS_AHEAD = 4
"""Parts for each process that wait for it."""


class Job(NamedTuple):
    """A file to index, and the station whose folder it is in."""

    station: str
    file: OldFile


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR...]")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="Configuration file (TOML).")
@click.option("--stats", is_flag=True, help="Read files completely, to index the summaries of their stats too.")
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Number of processes.  [default: one per core]")
def command(folders: tuple[Path, ...], config_file: Path | None, stats: bool, jobs: int | None) -> None:
    """Rebuild the index of games from the replays of all stations, or of the stations of the folders DIR as in `serve`.

    For a finished game, only both ends of its file are read, unless --stats is given; stats that were indexed before
    are kept. Files without a game are reported and counted. A running daemon sees the result immediately. The index is
    in the state folder; for that of a service, set STATE_DIRECTORY. The exit code is 74 if a folder is missing.
    """
    config = registry.load(config_file) if config_file is not None else Config()
    path = state_folder(config.store.folder) / FILE_NAME
    try:
        database = open_database(path, on_damage=_report_damage, describe=describe_stored)
    except (OSError, sqlite3.Error) as error:
        fail(f"{path}: {error}", EXIT_INPUT_OUTPUT)
    try:
        with closing(database):
            _reindex(database, config, folders, stats=stats, jobs=jobs or os.cpu_count() or 1)
    except sqlite3.Error as error:
        fail(f"{path}: {error}", EXIT_INPUT_OUTPUT)


def _reindex(database: Database, config: Config, folders: tuple[Path, ...], *, stats: bool, jobs: int) -> None:
    began = time.perf_counter()
    files: list[Job] = []
    missing_paths: list[bytes] = []
    recordings = recordings_folder(config)
    folder_missing = False
    for station in expand(stations_of(config, folders)):
        folder = station_folder(station, recordings)
        if not _is_folder(folder):
            folder_missing = True
            continue
        found = list(_files(folder))
        files += [Job(station.id, file) for file in found]
        found_paths = {path_key(file.path) for file in found}
        missing_paths += [path for path in database.games.known_files(station.id) if path not in found_paths]
    database.games.remove_files(missing(missing_paths))
    games = broken = 0
    stale: list[bytes] = []
    reading = closing(_read_all(files, stats=stats, idle_seconds=config.watch.idle_seconds, jobs=jobs))
    archives = any(job.file.is_archive for job in files)
    with progress_bar("indexing", None if archives else len(files), shown=True) as update, reading as entries:
        while batch := list(islice(entries, _FILES_PER_TRANSACTION)):
            for entry in batch:
                if entry.problem == ARCHIVE:
                    stale += database.games.stale_members(entry.path, entry.mtime_ns)
                elif entry.problem is not None:
                    broken += 1
                    report(_problem_text(entry))
                else:
                    games += 1
            database.games.add(batch)
            update(games + broken)
    database.games.remove_files(stale)
    seconds = time.perf_counter() - began
    rate = (games + broken) / seconds
    counts = f"{games + broken:,} files: {games:,} games, {broken:,} broken"
    click.echo(f"{counts}; {seconds:.2f} s, {rate:,.0f} files a second")
    click.echo(str(database.path))
    sys.stdout.flush()
    if folder_missing:
        sys.exit(EXIT_INPUT_OUTPUT)


def _is_folder(folder: Path) -> bool:
    """Whether the folder can be searched. If it can't, this is reported."""
    try:
        if folder.is_dir():
            return True
        report(f"{folder}: no such folder")
    except OSError as error:  # a parent folder may not be searched
        report(f"{folder}: {error.strerror}")
    return False


def _files(folder: Path) -> Iterator[OldFile]:
    """Yield the replays in a folder. As in the daemon, symbolic links that lead out of it are left out."""
    root = folder.resolve()
    for found in find_files((folder,)):
        try:
            if found.path.is_symlink() and not found.path.resolve().is_relative_to(root):
                continue
            status = found.path.stat()
        except OSError:
            continue  # it was removed in the meantime
        yield OldFile(found.path, modified_ns(status), status.st_size, is_archive=is_archive(found.path.name))


def _read_all(files: Sequence[Job], *, stats: bool, idle_seconds: float, jobs: int) -> Generator[Entry, None, None]:
    read_file = partial(_read_file, stats=stats, idle_seconds=idle_seconds)
    for job in files:
        if job.file.is_archive:
            yield from _read_archive(job, stats=stats)
    files = [job for job in files if not job.file.is_archive]
    min_files = _MIN_FILES_FOR_PROCESSES_WITH_STATS if stats else _MIN_FILES_FOR_PROCESSES
    if jobs == 1 or len(files) < min_files:
        yield from map(read_file, files)
        return
    count = 1 if stats else _FILES_PER_PART
    parts = (files[i : i + count] for i in range(0, len(files), count))
    with process_pool(jobs) as pool:
        read_part = partial(apply_to_all, read_file)
        for part in map_in_order(pool, read_part, parts, ahead=_PARTS_AHEAD * jobs, size_bytes=lambda _: 0):
            yield from result_of(part)


def _read_archive(job: Job, *, stats: bool) -> Iterator[Entry]:
    """Yield the entries of all replays in an archive, and then that of the archive itself."""
    for found in read_archive(job.file.path, stats=stats):
        yield member_entry(job.station, job.file, found)
    yield archive_entry(job.station, job.file)


def _read_file(job: Job, *, stats: bool, idle_seconds: float) -> Entry:
    def read(path: Path) -> GameRecord:
        game = read_game(path, stats=stats)
        unfinished = game.end is not None and game.end.reason == "incomplete"
        if unfinished and time.time() - job.file.mtime_ns / 1e9 < idle_seconds:
            game.reopen()  # the file may still be growing; the daemon decides when it has ended
        return game.record()

    return read_entry(read, job.station, job.file)


def _problem_text(entry: Entry) -> str:
    path, problem = os.fsdecode(entry.path), entry.problem or ""
    return problem if problem.startswith(path) else f"{path}: {problem}"


def _report_damage(aside: Path, error: str) -> None:
    report(f"the index was damaged ({error}); it was renamed to {aside}")
