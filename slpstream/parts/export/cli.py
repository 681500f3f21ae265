"""`slpstream export`: write tables of replays for analysis, as Parquet, Arrow or CSV.

We divide the replays, in the order of their paths, into parts. The rule for this is fixed, so the content of a part
doesn't depend on the number of processes. Each part is read and written by one process. It writes under a temporary
name, which readers of `*.parquet` or of the folder ignore. When all tables of the part are complete, it renames the
files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click

from slpstream.api import Replay
from slpstream.cli import EXIT_INPUT_OUTPUT, describe_error, fail, report
from slpstream.cli.game_query import GameQuery, checked_query, config_option, me_option
from slpstream.cli.process_pool import CONTEXT, map_in_order, process_pool, result_of
from slpstream.cli.progress import progress_bar
from slpstream.cli.replay_files import (
    FoundReplay,
    ReplayFile,
    at_hand,
    bytes_sent,
    each_replay,
    fail_without_replays,
    find_files,
    has_archives,
    in_parts,
    open_exportable,
)
from slpstream.cli.replay_work import usable_cores
from slpstream.model.csv_cells import SPECIAL
from slpstream.model.errors import FormatError, SourceError
from slpstream.parts import registry
from slpstream.system.text import printable

FileKind = Literal["parquet", "arrow", "csv"]

TABLES = ("frames", "items", "game_starts", "game_ends")

_ODDS = "odds_in_rows"
_PART_BYTES = 32 << 20
"""The maximum size of the replays in a part. A replay that is larger gets its own part."""
PART_FILES = 1024
_PARTS_AHEAD = 4


class Options(NamedTuple):
    """The options of an export."""

    out: Path
    kind: FileKind
    revisions: Literal["last", "all"]
    tables: tuple[str, ...]
    odds: bool = False
    """Whether frames have a column with the odds."""


class Part(NamedTuple):
    """Replays that are written to the same file of each table."""

    number: int
    files: tuple[FoundReplay, ...]


class Problem(NamedTuple):
    """A message about a replay for stderr, with its exit code. For a warning, this code is 0."""

    code: int
    message: str


class PartResult(NamedTuple):
    """The problems of a part, the number of its replays, and the numbers of games and rows that were written."""

    problems: list[Problem]
    replays: int
    games: int
    rows: dict[str, int]


def _parse_tables(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    names = {part.strip() for part in value.split(",") if part.strip()}
    if not names or names - set(TABLES):
        unknown = ", ".join(sorted(names - set(TABLES))) or "none"
        raise click.BadParameter(f"expected some of {', '.join(TABLES)}; found {unknown}")
    return tuple(name for name in TABLES if name in names)


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|ARCHIVE|DIR...")
@click.option(
    "--to",
    "kind",
    type=click.Choice(["parquet", "arrow", "csv", "training"]),
    required=True,
    help="Format of the files; `training` are rows of both players, in shards.",
)
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write into."
)
@click.option("--jobs", type=click.IntRange(min=1), default=None, help="Number of processes.  [default: one per core]")
@click.option(
    "--revisions",
    type=click.Choice(["last", "all", "first"]),
    help="Only the last revision of each frame, or all of them; for training also the first, which the player saw.  "
    "[default: last; first with `--layout slippi-ai`]",
)
@click.option(
    "--tables",
    default=",".join(TABLES),
    show_default=True,
    callback=_parse_tables,
    help="Tables to write, separated by commas.",
)
@click.option("--odds", is_flag=True, help="Add a column to frames: how likely the player was to win.")
@click.option("--overwrite", is_flag=True, help="Remove the parts of an earlier export.")
@click.option(
    "--shard-mib",
    type=click.IntRange(min=1, max=1 << 20),
    default=256,
    show_default=True,
    help="For training: maximum size of a shard, in MiB.",
)
@click.option(
    "--validation",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="For training: share of the games that the index marks for validation.",
)
@click.option(
    "--layout",
    type=click.Choice(["training", "slippi-ai"]),
    default="training",
    show_default=True,
    help="For training: what is in a row. `slippi-ai` writes the folder that slippi-ai trains on.",
)
@click.option(
    "--games",
    "query",
    metavar="QUERY",
    default="",
    help="For training: only games that match this query, as for `slpstream find`.",
)
@me_option
@config_option
@click.option("--seed", type=int, default=0, show_default=True, help="For training: decides which games these are.")
def command(
    paths: tuple[Path, ...],
    kind: FileKind | Literal["training"],
    out: Path,
    jobs: int | None,
    revisions: Literal["last", "all", "first"] | None,
    tables: tuple[str, ...],
    odds: bool,
    overwrite: bool,
    shard_mib: int,
    validation: float,
    layout: Literal["training", "slippi-ai"],
    query: str,
    me: tuple[str, ...],
    config_file: Path | None,
    seed: int,
) -> None:
    """Write tables of frames, items, game starts and game ends to OUT/TABLE/part-0000.KIND and so on.

    Files that cannot be read are reported and left out. Archives stand for the replays in them, and are found in
    folders too.
    """
    if find_spec("numpy") is None or find_spec("pyarrow") is None:
        fail("export needs numpy and pyarrow: pip install 'slpstream[analysis]'", 2)
    wanted_games: GameQuery | None = None
    if query or me or config_file is not None:
        if kind != "training":
            raise click.UsageError("--games, --me and --config are for --to training")
        wanted_games = checked_query(query, me, config_file)
    files = [ReplayFile(path, in_folder=True) for path in sorted({found.path for found in find_files(paths)})]
    if not files:
        fail_without_replays(paths)
    if odds and (kind == "training" or registry.function(_ODDS) is None):
        raise click.UsageError("--odds needs the part odds, and isn't for --to training")
    if kind == "training":
        export_training = registry.function("export_training")
        if export_training is None:
            fail("--to training: this installation lacks the part training", 2)
        if revisions == "all":
            fail("--to training: --revisions is first or last", 2)
        revisions = revisions or ("first" if layout == "slippi-ai" else "last")
        export_training(
            files,
            out,
            layout=layout,
            sending=revisions,
            shard_bytes=shard_mib << 20,
            seed=seed,
            validation=validation,
            query=query,
            me=() if wanted_games is None else wanted_games.me,
            jobs=jobs or usable_cores(),
            overwrite=overwrite,
        )
        return
    if revisions == "first":
        fail("--revisions first is for --to training", 2)
    _prepare_folders(out, tables, overwrite=overwrite)
    jobs = jobs or usable_cores()
    archives = has_archives(files)
    if not archives:
        jobs = min(jobs, sum(1 for _ in _parts(each_replay(files))))
    parts = _parts(each_replay(files, by_name=jobs > 1))
    options = Options(out, kind, revisions or "last", tables, odds)
    code, replays, games, rows = 0, 0, 0, dict.fromkeys(tables, 0)
    with progress_bar("exporting", None if archives else len(files), shown=True) as update:
        results = _export_in_processes(options, parts, jobs, update) if jobs > 1 else _export(options, parts, update)
        for result in results:
            for problem in result.problems:
                report(problem.message)
                code = max(code, problem.code)
            replays += result.replays
            games += result.games
            for name, count in result.rows.items():
                rows[name] += count
    for name, count in rows.items():
        print(printable(f"{out / name}: {count:,} rows"))
    print(f"{games} of {replays} replays")
    sys.exit(code)


def _prepare_folders(out: Path, tables: Sequence[str], *, overwrite: bool) -> None:
    """Create the folders of the tables. Earlier parts are removed if this is allowed, and unfinished ones always."""
    for name in tables:
        folder = out / name
        folder.mkdir(parents=True, exist_ok=True)
        old = sorted(folder.glob("part-*"))
        if old and not overwrite:
            fail(f"{folder}: contains parts of an earlier export; use --overwrite to remove them", 2)
        for file in (*old, *folder.glob(".part-*.tmp")):
            file.unlink()


def _parts(replays: Iterable[FoundReplay]) -> Iterator[Part]:
    """Divide the replays into parts. They stay in order, and only their sizes matter."""
    for number, files in enumerate(in_parts(replays, max_files=PART_FILES, max_bytes=_PART_BYTES)):
        yield Part(number, files)


def _export(options: Options, parts: Iterable[Part], update: Callable[[int], None]) -> Iterator[PartResult]:
    """Export one part after another in this process."""
    done = 0

    def file_done() -> None:
        nonlocal done
        done += 1
        update(done)

    for part in parts:
        yield export_part(options, part, file_done)


_files_done: Any = None
"""In a worker process, this is the number of files that all workers have done so far. It is in shared memory.

It is a global, because shared memory can only be passed to a process when it starts.
"""


def _initialize_worker(files_done: Any) -> None:
    global _files_done  # noqa: PLW0603
    _files_done = files_done


def _file_done() -> None:
    with _files_done.get_lock():
        _files_done.value += 1


def _export_in_worker(options: Options, part: Part) -> PartResult:
    return export_part(options, part, _file_done)


def _export_in_processes(
    options: Options, parts: Iterable[Part], jobs: int, update: Callable[[int], None]
) -> Iterator[PartResult]:
    """Export the parts in several processes, and yield the results in the order of the parts."""
    files_done = CONTEXT.Value("q", 0)
    with process_pool(jobs, _initialize_worker, files_done) as pool:
        try:
            export = partial(_export_in_worker, options)
            for future in map_in_order(pool, export, parts, ahead=_PARTS_AHEAD * jobs, size_bytes=_bytes_sent):
                result = result_of(future, lambda: update(files_done.value))
                update(files_done.value)
                yield result
        except BrokenProcessPool:
            fail("a worker process was killed, perhaps for lack of memory", EXIT_INPUT_OUTPUT)


def _bytes_sent(part: Part) -> int:
    return bytes_sent(part.files)


def export_part(options: Options, part: Part, file_done: Callable[[], None]) -> PartResult:
    """Read the replays of a part and write its tables, unless none of the replays can be read.

    `file_done` is called after each file. Raises `OSError` if a table can't be written.
    """
    tables: dict[str, list[Any]] = {name: [] for name in options.tables}
    problems: list[Problem] = []
    for found in part.files:
        try:
            replay = open_exportable(at_hand(found))
            game_tables = tables_of(replay, options)
            warnings = _truncation_warnings(replay)
        except (FormatError, SourceError) as error:
            message, code = describe_error(found.path, error)
            problems.append(Problem(code, message))
        else:
            problems += warnings
            for name, table in game_tables.items():
                tables[name].append(table)
        file_done()
    games = len(part.files) - sum(1 for problem in problems if problem.code)
    if games:
        _write_part(options, part.number, tables)
    return PartResult(
        problems, len(part.files), games, {name: sum(map(len, game_tables)) for name, game_tables in tables.items()}
    )


def tables_of(replay: Replay, options: Options) -> dict[str, Any]:
    """Return the tables of one game by name. The first columns of each are `file` and `game_id`."""
    from slpstream.formats.slippi import arrow

    file = str(replay.path).encode("utf-8", "replace").decode()

    def frames() -> Any:
        return replay.frames if options.revisions == "last" else replay.frames.sendings

    make: dict[str, Callable[[], Any]] = {
        "frames": lambda: (
            _with_odds(replay, arrow.frames_table(frames())) if options.odds else arrow.frames_table(frames())
        ),
        "items": lambda: arrow.items_table(frames()),
        "game_starts": lambda: arrow.game_start_table(replay.settings),
        "game_ends": lambda: arrow.game_end_table(replay.game_end, replay.metadata),
    }
    return {name: arrow.of_game(make[name](), file=file, game_id=replay.game_id) for name in options.tables}


def _with_odds(replay: Replay, table: Any) -> Any:
    """Add the column `odds` to a table of frames."""
    import pyarrow as pa

    odds_in_rows = registry.function(_ODDS)
    if odds_in_rows is None:
        return table
    numbers, players = table["frame"].to_numpy(), table["player_index"].to_numpy()
    odds = odds_in_rows(replay.settings, replay.frames, numbers, players)
    column = pa.field("odds", pa.float32(), metadata={"doc": "Chance of the player to win, from 0 to 1."})
    return table.append_column(column, pa.array(odds, from_pandas=True))


def _truncation_warnings(replay: Replay) -> list[Problem]:
    end = replay.game_end
    if end.reason not in ("incomplete", "error"):
        return []
    exported = f"exported {len(replay.frames):,} frames up to there"
    return [Problem(0, f"{replay.path}: breaks off at offset {end.end_offset} ({end.reason}); {exported}")]


def _write_part(options: Options, number: int, tables: dict[str, list[Any]]) -> None:
    import pyarrow as pa

    names = {
        name: (folder / f".part-{number:04}.{options.kind}.tmp", folder / f"part-{number:04}.{options.kind}")
        for name in tables
        for folder in [options.out / name]
    }
    try:
        for name, game_tables in tables.items():
            with names[name][0].open("wb") as file:
                # pyarrow writes a CSV header for each empty table in front of the first row.
                with_rows = [table for table in game_tables if len(table)] or game_tables[:1]
                _WRITE[options.kind](pa.concat_tables(with_rows).unify_dictionaries(), file)
        for temporary, final in names.values():
            temporary.replace(final)
    finally:
        for temporary, _ in names.values():
            temporary.unlink(missing_ok=True)


def _write_parquet(table: Any, file: Any) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd")


def _write_arrow(table: Any, file: Any) -> None:
    import pyarrow as pa

    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_csv(table: Any, file: Any) -> None:
    """Write CSV with a header.

    The values of a list are joined by spaces, and texts are safe to open in a spreadsheet.
    """
    import pyarrow as pa
    from pyarrow import compute, csv

    cells = partial(compute.replace_substring_regex, pattern=SPECIAL, replacement=r"'\1")
    for index, column in enumerate(table.schema):
        values = table.column(index)
        if pa.types.is_list(column.type):
            values = compute.binary_join(values.cast(pa.list_(pa.string())), " ")
        elif pa.types.is_dictionary(column.type):
            chunks = [cells(chunk.dictionary).take(chunk.indices) for chunk in values.chunks]
            values = pa.chunked_array(chunks, column.type.value_type)
        elif pa.types.is_string(column.type):
            values = cells(values)
        else:
            continue
        table = table.set_column(index, column.name, values)
    csv.write_csv(table, file)


_WRITE: dict[str, Callable[[Any, Any], None]] = {
    "parquet": _write_parquet,
    "arrow": _write_arrow,
    "csv": _write_csv,
}
