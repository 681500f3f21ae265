"""`slpstream sql`: answer a query in SQL over replays, by DuckDB. Reads no more than the query needs."""

from __future__ import annotations

import io
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slpstream.cli import EXIT_NO, fail, report
from slpstream.cli.game_query import GameQuery, checked_games, config_option, games_option, me_option, require_text
from slpstream.cli.replay_files import fail_without_replays, find_files
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.parts.sql.database import InvalidQuery

_EXIT_USAGE = 2
_KINDS = (".parquet", ".arrow", ".csv", ".json", ".jsonl")


@click.command()
@click.argument("arguments", nargs=-1, metavar="FILE|ARCHIVE|DIR... QUERY")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per row.")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write FILE.parquet, .arrow, .csv or .jsonl.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file of --to.")
@games_option
@me_option
@config_option
@click.option("--schema", is_flag=True, help="Print the tables with their columns, types and meanings, and exit.")
@click.option("--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one per core for many files]")
def command(
    arguments: tuple[str, ...],
    as_csv: bool,
    as_json: bool,
    target: Path | None,
    overwrite: bool,
    games: str | None,
    me: tuple[str, ...],
    config_file: Path | None,
    schema: bool,
    jobs: int | None,
) -> None:
    """Answer a query in SQL over replays: select character, count(*) from players group by all.

    The tables are games, players, frames and conversions; --schema lists their columns. Archives stand for the replays
    in them. The query comes last; - reads it from standard input.
    """
    if any(find_spec(name) is None for name in ("duckdb", "numpy", "pyarrow")):
        fail("sql needs DuckDB and pyarrow: pip install 'slpstream[sql]'", _EXIT_USAGE)
    if schema:
        from slpstream.parts.sql.cli_output import print_schema

        print_schema(as_json=as_json)
        return
    if len(arguments) < 2:
        raise click.UsageError("expected files or folders, and then a query")
    if as_csv + as_json + (target is not None) > 1:
        raise click.UsageError("choose one of --csv, --json and --to")
    if target is not None and target.suffix.lower() not in _KINDS:
        raise click.UsageError(f"--to: expected a file that ends with {', '.join(_KINDS)}")
    if target is not None and target.exists() and not overwrite:
        fail(f"{target}: exists; use --overwrite to replace it", _EXIT_USAGE)
    *names, query = arguments
    if query == "-":
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="surrogateescape")  # as arguments have bytes that are not UTF-8
        query = sys.stdin.read()
    require_text(query)
    wanted = checked_games(games, me, config_file)
    code = _answer(tuple(map(Path, names)), query, wanted, target, as_csv=as_csv, as_json=as_json, jobs=jobs)
    sys.stdout.flush()
    sys.exit(code)


def _answer(
    paths: tuple[Path, ...],
    query: str,
    games: GameQuery | None,
    target: Path | None,
    *,
    as_csv: bool,
    as_json: bool,
    jobs: int | None,
) -> int:
    """Answer a query. Returns the exit code."""
    from slpstream.cli.replay_work import examined, usable_cores
    from slpstream.formats.registry import suffixes
    from slpstream.formats.slplog.container import SUFFIX
    from slpstream.parts.sql.cli_output import printers, write_file
    from slpstream.parts.sql.cli_reading import ReplayReader
    from slpstream.parts.sql.database import FailedQuery, InvalidQuery, open_database

    endings = (*suffixes(), SUFFIX)
    files = list(find_files(paths, endings))
    if not files:
        fail_without_replays(paths)
    reader = ReplayReader(files, endings, examined, games=games, jobs=jobs or usable_cores())
    try:
        with open_database(reader.read) as database:
            if target is not None:
                print(printable(f"{target}: {write_file(database, query, target):,} rows"))
            else:
                kind = "json" if as_json else "csv" if as_csv else "table"
                names, rows = database.rows(query)
                printers[kind](names, rows)
    except InvalidQuery as mistake:
        _show(mistake)
        return _EXIT_USAGE
    except FailedQuery as failure:
        report(f"query: {failure}")
        return max(reader.code, EXIT_NO)
    return reader.code


def _show(mistake: InvalidQuery) -> None:
    report(f"query: {mistake}")
    for line in mistake.place.splitlines():
        print(f"  {printable(line)}", file=sys.stderr)
