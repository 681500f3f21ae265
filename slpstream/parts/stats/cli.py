"""`slpstream stats`: show the stats of games, as tables or as JSON.

`examine` reads a file, computes its stats and only returns the output, which is a line of JSON or the figures of a
table row. It runs either in this process or in several worker processes. The results come in the order of the files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from slpstream.cli import EXIT_NO, describe_error, report, report_error
from slpstream.cli.progress import progress_bar
from slpstream.cli.replay_files import (
    FoundReplay,
    ReplayFile,
    at_hand,
    each_replay,
    fail_without_replays,
    find_files,
    has_archives,
)
from slpstream.cli.replay_work import usable_cores
from slpstream.model.errors import FormatError, SourceError
from slpstream.sources.packed_names import is_archive
from slpstream.system.member_paths import path_text

if TYPE_CHECKING:
    import msgspec

    from slpstream.api import Replay
    from slpstream.parts.stats.rows import GameRow, Grouping

MIN_PARALLEL_BYTES = 24_000_000
"""With less data than this, starting processes takes longer than it saves."""
_FILES_PER_CHUNK = 4
_ARCHIVE_RATIO = 5
"""Roughly how much smaller replays are in archives."""

Compat = Literal["slippi-js"]


class Options(NamedTuple):
    """The options that apply to each file."""

    as_json: bool
    compat: bool
    crew: bool


def _endings() -> tuple[str, ...]:
    """Return the file name endings of the formats with Slippi stats."""
    from slpstream.formats.registry import formats
    from slpstream.formats.slippi.stats import SlippiStats

    return tuple(suffix for format_ in formats() if format_.make_stats() is SlippiStats for suffix in format_.suffixes)


def _has_stats(file: Path) -> bool:
    """Whether a file in a folder is of a format with stats. A replay log can be of any format.

    For a log that can't be read, this is true, so that the log is reported.
    """
    from slpstream.formats.slplog.container import SUFFIX
    from slpstream.formats.slplog.open_log import is_log, replay_name

    if not is_log(file):
        return True
    try:
        return PurePath(replay_name(file)).suffix.lower() in (*_endings(), SUFFIX)
    except OSError:
        return True


class FileResult(NamedTuple):
    """The result for a file: a line of JSON or a table row, and (if there is one) the error message with its exit
    code.
    """

    line: bytes | None = None
    row: GameRow | None = None
    error: str | None = None
    code: int = 0


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|ARCHIVE|DIR...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per file, with absent values as null.")
@click.option(
    "--compat", type=click.Choice(["slippi-js"]), help="Use the numbers, and with --json the shape, of slippi-js 9.1.2."
)
@click.option(
    "--crew",
    is_flag=True,
    help="Treat games as crew battles: attackers are taken from the replay, given-up stocks counted separately.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one per core if there are enough files]"
)
@click.option(
    "--by",
    type=click.Choice(["auto", "code", "tag", "port"]),
    default="auto",
    show_default=True,
    help="How the summary identifies players: by connect code, tag or port. auto: by the first that a player has.",
)
def command(
    paths: tuple[Path, ...], as_json: bool, compat: Compat | None, crew: bool, jobs: int | None, by: Grouping
) -> None:
    """Show the stats of games. For several files, show a row for each player of every game, and a summary of each.

    Archives stand for the replays in them, and are found in folders too.
    """
    candidates = find_files(paths, _stats_endings())
    files = [found for found in candidates if not found.in_folder or _has_stats(found.path)]
    options = Options(as_json, compat is not None, crew)
    if not files:
        fail_without_replays(paths)
    if as_json:
        code = _print_lines(files, options, jobs)
    elif len(files) == 1 and not has_archives(files):
        code = _print_game(files[0].path, options)
    else:
        code = _print_rows(files, options, jobs, by)
    sys.stdout.flush()
    sys.exit(code)


def json_object(replay: Replay, *, compat: bool = False, crew: bool = False) -> Any:
    """Return the JSON object of `stats --json`.

    With `compat`, it has the members that slippi-js's `getStats()` returns.
    """
    stats = replay.stats(compat=compat, crew=crew)
    if compat:
        return stats
    return {
        "file": path_text(replay.path).encode("utf-8", "replace").decode(),
        "gameId": replay.game_id,
        **with_nulls(stats),
        "stadiumStats": with_nulls(replay.stadium_stats()),
    }


def with_nulls(value: Any) -> Any:
    """Convert stats to plain values, with `None` for members that are absent."""
    import msgspec

    if isinstance(value, msgspec.Struct):
        shown = {} if value.__struct_config__.tag is None else {value.__struct_config__.tag_field: _tag(value)}
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        return shown | {shown_as: with_nulls(getattr(value, name)) for name, shown_as in names}
    if isinstance(value, list):
        return [with_nulls(one) for one in value]
    return None if value is msgspec.UNSET else value


def _tag(value: msgspec.Struct) -> Any:
    return value.__struct_config__.tag


def examine(options: Options, found: FoundReplay) -> FileResult:
    """Compute the stats of a replay. `FormatError` and `SourceError` become the error message of the result."""
    import msgspec

    from slpstream.api import open_replay
    from slpstream.parts.stats.rows import game_row

    try:
        replay = open_replay(at_hand(found))
        error, code = _damage(replay)
        if options.as_json:
            shown = json_object(replay, compat=options.compat, crew=options.crew)
            return FileResult(msgspec.json.encode(shown) + b"\n", None, error, code)
        return FileResult(None, game_row(replay, compat=options.compat, crew=options.crew), error, code)
    except (FormatError, SourceError) as problem:
        message, code = describe_error(found.path, problem)
        # The lines of slippi-js do not name their files, so each file needs exactly one line.
        return FileResult(b"null\n" if options.as_json and options.compat else None, None, message, code)


def _damage(replay: Replay) -> tuple[str | None, int]:
    """Return the error message and the exit code for a game with an unreadable part.

    Its stats cover everything before this part.
    """
    if replay.game_end.reason != "error":
        return None, 0
    worst = next(d for d in reversed(replay.diagnostics) if d.severity == "error")
    return f"{replay.path}: {worst.message}, at offset {worst.offset}; the stats cover the game up to there", EXIT_NO


def _print_lines(files: list[ReplayFile], options: Options, jobs: int | None) -> int:
    out = sys.stdout.buffer
    code = 0
    for result in _results(files, options, jobs):
        code = max(code, _report_error(result))
        if result.line is not None:
            out.write(result.line)
    return code


def _print_rows(files: list[ReplayFile], options: Options, jobs: int | None, by: Grouping) -> int:
    from slpstream.parts.stats.tables import print_rows

    rows = []
    code = 0
    for result in _results(files, options, jobs):
        code = max(code, _report_error(result))
        if result.row is not None:
            rows.append(result.row)
    if rows:
        print_rows(rows, by)
    return code


def _print_game(file: Path, options: Options) -> int:
    from slpstream.api import open_replay
    from slpstream.parts.stats.tables import print_game

    try:
        replay = open_replay(file)
        result = FileResult(None, None, *_damage(replay))
        print_game(replay, compat=options.compat, crew=options.crew)
    except (FormatError, SourceError) as problem:
        return report_error(file, problem)
    return _report_error(result)


def _report_error(result: FileResult) -> int:
    if result.error is not None:
        report(result.error)
    return result.code


def _results(files: list[ReplayFile], options: Options, jobs: int | None) -> Iterator[FileResult]:
    """Yield the results in the order of the files. If stderr is a terminal, there is a progress bar."""
    archives = has_archives(files)
    shown = (archives or len(files) > 1) and not (options.as_json and sys.stdout.isatty())
    with progress_bar("stats", None if archives else len(files), shown=shown, transient=True) as update:
        for done, result in enumerate(_computed(files, options, jobs), 1):
            yield result
            update(done)


def _computed(files: list[ReplayFile], options: Options, jobs: int | None) -> Iterator[FileResult]:
    """Yield the results in the order of the files. They are computed by `jobs` processes."""
    count = jobs or _jobs(files)
    if not has_archives(files):
        count = min(len(files), count)
    if count < 2:
        yield from map(partial(examine, options), each_replay(files, _stats_endings()))
        return
    from slpstream.cli.replay_work import examined

    replays = each_replay(files, _stats_endings(), by_name=True)
    size = _FILES_PER_CHUNK if len(files) > 64 or has_archives(files) else 1
    yield from examined(partial(examine, options), replays, jobs=count, per_task=size)


def _stats_endings() -> tuple[str, ...]:
    from slpstream.formats.slplog.container import SUFFIX

    return (*_endings(), SUFFIX)


def _jobs(files: list[ReplayFile]) -> int:
    """Return the default number of processes. This is one per core if there is enough data, and otherwise 1."""
    size = 0
    for file in files:
        try:
            size += file.path.stat().st_size * (_ARCHIVE_RATIO if is_archive(file.path.name) else 1)
        except OSError:
            continue  # the error is reported when the file is read
        if size >= MIN_PARALLEL_BYTES:
            return usable_cores()
    return 1
