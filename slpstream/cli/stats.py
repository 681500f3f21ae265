"""`slpstream stats`: the stats of games, as tables for people or as JSON for programs.

Each file is read, computed and made small (a line of JSON, or the figures of a row) by one function, in this process or
in several of its kind. What that function gives comes back in the order of the files.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple

import click
import msgspec
from msgspec import UNSET

from slpstream.api import Replay, open_replay
from slpstream.cli import EXIT_NO, complain, complain_of, said_of
from slpstream.cli.files import find_files, nothing_in
from slpstream.cli.processes import pool_of, starting
from slpstream.cli.stats_rows import GameRow, Grouping, game_row
from slpstream.formats.registry import formats
from slpstream.formats.slplog.container import SUFFIX
from slpstream.formats.slplog.open_log import is_log, replay_name
from slpstream.model.errors import FormatError, SourceError
from slpstream.stats import SlippiStats

PAYS_FROM_BYTES = 24_000_000
"""Below that, starting another process takes longer than it saves."""
_FILES_AT_ONCE = 4

Compat = Literal["slippi-js"]


class Options(NamedTuple):
    """What is wanted of each file."""

    as_json: bool
    compat: bool
    crew: bool


def _endings() -> tuple[str, ...]:
    """The file name endings of the formats that have these stats."""
    return tuple(suffix for format_ in formats() if format_.make_stats() is SlippiStats for suffix in format_.suffixes)


def _has_stats(file: Path) -> bool:
    """Not every replay log in a folder is of a game that has stats. One that cannot be read will be complained of."""
    if not is_log(file):
        return True
    try:
        return PurePath(replay_name(file)).suffix.lower() in (*_endings(), SUFFIX)
    except OSError:
        return True


class Told(NamedTuple):
    """What a file gives: a line of JSON or a row, and what is wrong with it, with the exit code of that."""

    line: bytes | None = None
    row: GameRow | None = None
    error: str | None = None
    code: int = 0


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file, absent values as null.")
@click.option(
    "--compat", type=click.Choice(["slippi-js"]), help="The numbers, and with --json the shape, of slippi-js 9.1.2."
)
@click.option("--crew", is_flag=True, help="A crew battle: who hit whom is told by the game, given-up stocks apart.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes.  [default: all cores, where that pays]")
@click.option(
    "--by",
    type=click.Choice(["auto", "code", "tag", "port"]),
    default="auto",
    show_default=True,
    help="What makes a player in the summary: connect code, tag, port; auto: the first of them there is.",
)
def command(
    paths: tuple[Path, ...], as_json: bool, compat: Compat | None, crew: bool, jobs: int | None, by: Grouping
) -> None:
    """The stats of games. Several files: one row a game, then a summary of each player."""
    looked_at = find_files(paths, (*_endings(), SUFFIX))
    files = [found.path for found in looked_at if not found.in_folder or _has_stats(found.path)]
    if not files:
        nothing_in(paths)
    options = Options(as_json, compat is not None, crew)
    if as_json:
        code = _print_lines(files, options, jobs)
    elif len(files) == 1:
        code = _print_game(files[0], options)
    else:
        code = _print_rows(files, options, jobs, by)
    sys.stdout.flush()
    sys.exit(code)


def described(replay: Replay, *, compat: bool = False, crew: bool = False) -> Any:
    """A replay as `stats --json` shows it. With `compat` what slippi-js's `getStats()` gives, absent where that is."""
    stats = replay.stats(compat=compat, crew=crew)
    if compat:
        return stats
    return {
        "file": str(replay.path).encode("utf-8", "replace").decode(),
        "gameId": replay.game_id,
        **with_nulls(stats),
        "stadiumStats": with_nulls(replay.stadium_stats()),
    }


def with_nulls(value: Any) -> Any:
    """A value of the stats as plain ones; what is absent is `None`."""
    if isinstance(value, msgspec.Struct):
        shown = {} if value.__struct_config__.tag is None else {value.__struct_config__.tag_field: _tag(value)}
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        return shown | {shown_as: with_nulls(getattr(value, name)) for name, shown_as in names}
    if isinstance(value, list):
        return [with_nulls(one) for one in value]
    return None if value is UNSET else value


def _tag(value: msgspec.Struct) -> Any:
    return value.__struct_config__.tag


def examine(options: Options, file: Path) -> Told:
    """All that is said of a file. What is wrong with it is said, never raised."""
    try:
        replay = open_replay(file)
        error, code = _damage(replay)
        if options.as_json:
            shown = described(replay, compat=options.compat, crew=options.crew)
            return Told(msgspec.json.encode(shown) + b"\n", None, error, code)
        return Told(None, game_row(replay, compat=options.compat, crew=options.crew), error, code)
    except (FormatError, SourceError) as problem:
        what, code = said_of(file, problem)
        return Told(error=what, code=code)


def _damage(replay: Replay) -> tuple[str | None, int]:
    """A game that breaks off at bytes that cannot be read; its stats go so far."""
    if replay.game_end.reason != "error":
        return None, 0
    worst = next(d for d in reversed(replay.diagnostics) if d.severity == "error")
    return f"{replay.path}: {worst.message}, at offset {worst.offset}; the stats go up to there", EXIT_NO


def _print_lines(files: list[Path], options: Options, jobs: int | None) -> int:
    out = sys.stdout.buffer
    code = 0
    for told in _told(files, options, jobs):
        code = max(code, _complained(told))
        if told.line is not None:
            out.write(told.line)
    return code


def _print_rows(files: list[Path], options: Options, jobs: int | None, by: Grouping) -> int:
    from slpstream.cli.stats_tables import print_rows

    rows = []
    code = 0
    for told in _told(files, options, jobs):
        code = max(code, _complained(told))
        if told.row is not None:
            rows.append(told.row)
    if rows:
        print_rows(rows, by)
    return code


def _print_game(file: Path, options: Options) -> int:
    from slpstream.cli.stats_tables import print_game

    try:
        replay = open_replay(file)
        told = Told(None, None, *_damage(replay))
        print_game(replay, compat=options.compat, crew=options.crew)
    except (FormatError, SourceError) as problem:
        return complain_of(file, problem)
    return _complained(told)


def _complained(told: Told) -> int:
    if told.error is not None:
        complain(told.error)
    return told.code


def _told(files: list[Path], options: Options, jobs: int | None) -> Iterator[Told]:
    """What the files give, in their order, with a progress bar where somebody looks."""
    with _computed(files, options, jobs) as results:
        if len(files) < 2 or not sys.stderr.isatty() or (options.as_json and sys.stdout.isatty()):
            yield from results
            return
        from rich.console import Console
        from rich.progress import track

        console = Console(stderr=True)
        yield from track(results, "stats", total=len(files), console=console, transient=True)


@contextmanager
def _computed(files: list[Path], options: Options, jobs: int | None) -> Iterator[Iterator[Told]]:
    """Results in the order of the files, by as many processes as it takes."""
    count = min(len(files), jobs or _jobs(files))
    if count < 2:
        yield map(partial(examine, options), files)
        return
    with pool_of(count) as pool:
        with starting():
            results = pool.map(partial(examine, options), files, chunksize=_FILES_AT_ONCE if len(files) > 64 else 1)
        yield results


def _jobs(files: list[Path]) -> int:
    """All cores when there is enough to do."""
    size = 0
    for file in files:
        try:
            size += file.stat().st_size
        except OSError:
            continue  # who reads it will say so
        if size >= PAYS_FROM_BYTES:
            return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1
