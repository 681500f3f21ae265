"""`slpstream trends`: how the figures of one player change."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, describe_error, fail, report
from slpstream.cli.atomic_file import write_atomically
from slpstream.cli.replay_files import FoundReplay, at_hand, fail_without_replays, find_files
from slpstream.cli.replay_work import examined_files
from slpstream.model.errors import FormatError, SourceError
from slpstream.parts.stats.cli_endings import stats_endings
from slpstream.system.member_paths import path_text
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.parts.stats.trends import Grouping, Trend, TrendGame


class Examined(NamedTuple):
    """The outcome for one replay: the player's part of the game, or the reason why the file can't be read."""

    game: TrendGame | None = None
    error: str = ""
    code: int = 0


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|ARCHIVE|DIR...")
@click.option("--me", multiple=True, required=True, metavar="CODE", help="Connect code, name or tag. Can be repeated.")
@click.option(
    "--by",
    type=click.Choice(["week", "opponent", "character", "stage"]),
    default="week",
    show_default=True,
    help="What each row is for.",
)
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Also draw the weeks into this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each row.")
@click.option("--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one per core if many files]")
def command(
    paths: tuple[Path, ...], me: tuple[str, ...], by: Grouping, svg: Path | None, as_json: bool, jobs: int | None
) -> None:
    """Show how the figures of one player change, from the replays in folders and archives.

    The exit code is 1 if the player isn't in any of the games, or if a file cannot be read (74 for input/output
    errors).
    """
    from slpstream.parts.stats.trends import trends

    endings = stats_endings()
    files = list(find_files(paths, endings))
    if not files:
        fail_without_replays(paths)
    games, code = [], 0
    wanted = frozenset(name.casefold() for name in me)
    for result in examined_files(partial(examine, wanted), files, endings, jobs):
        if result.error:
            report(result.error)
            code = max(code, result.code)
        if result.game is not None:
            games.append(result.game)
    if not games:
        fail(f"no game of {printable(', '.join(me))} in these replays", max(code, EXIT_NO))
    rows = trends(games, by)
    if as_json:
        _print_json(rows, by)
    else:
        _print_table(rows, by)
    if svg is not None:
        from slpstream.parts.stats.trend_plot import drawn

        try:
            write_atomically(svg, [drawn(me[0], trends(games, "week")).encode()], overwrite=True)
        except OSError as error:
            fail(f"{path_text(svg)}: {error.strerror}", EXIT_INPUT_OUTPUT)
    sys.exit(code)


def examine(me: frozenset[str], found: FoundReplay) -> Examined:
    """Compute the player's part of a game. You can call this in any process."""
    from slpstream.api import open_replay
    from slpstream.parts.stats.trends import trend_game

    try:
        return Examined(trend_game(open_replay(at_hand(found)), me))
    except (FormatError, SourceError) as error:
        message, code = describe_error(found.path, error)
        return Examined(None, message, code)


def _print_table(rows: list[Trend], by: Grouping) -> None:
    from rich.table import Table

    from slpstream.cli.terminal import table_console
    from slpstream.parts.stats.tables import TREND_COLUMNS, percent_text

    table = Table(box=None, pad_edge=False)
    table.add_column(by, vertical="bottom")
    for title, _ in TREND_COLUMNS:
        table.add_column(title, justify="right", vertical="bottom")
    for row in rows:
        table.add_row(printable(row.group) or "-", *(cell(row.figures, percent_text) for _, cell in TREND_COLUMNS))
    table_console().print(table)


def _print_json(rows: list[Trend], by: Grouping) -> None:
    import msgspec

    for row in rows:
        figures = {_camel_case(name): value for name, value in row.figures._asdict().items()}
        print(msgspec.json.encode({by: row.group, **figures}).decode())


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
