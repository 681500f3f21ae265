"""`slpstream trends`: how the games of one player change, from replays in folders and archives."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from slpstream.cli import EXIT_INPUT_OUTPUT, EXIT_NO, describe_error, fail, report
from slpstream.cli.atomic_file import write_atomically
from slpstream.cli.progress import progress_bar
from slpstream.cli.replay_files import FoundReplay, at_hand, fail_without_replays, find_files, has_archives
from slpstream.cli.replay_work import examined_files
from slpstream.model.errors import FormatError, SourceError
from slpstream.system.member_paths import path_text
from slpstream.system.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from slpstream.parts.trends.figures import Figures
    from slpstream.parts.trends.own_games import Grouping, OwnGame, OwnGames, Reason, Trend

_MAX_SHORT_ROWS = 5
_MAX_NAME_CHARS = 30
_COLUMNS: Sequence[tuple[str, Callable[[Figures], str]]] = (
    ("games", lambda f: str(f.games)),
    ("won", lambda f: str(f.won)),
    ("win\nrate", lambda f: _percent(f.win_rate)),
    ("length", lambda f: _length(f.average_seconds)),
    ("openings\n/kill", lambda f: _number(f.openings_per_kill, 1)),
    ("damage\n/opening", lambda f: _number(f.damage_per_opening, 1)),
    ("neutral\nwins", lambda f: _percent(f.neutral_win_rate)),
    ("L-\ncancels", lambda f: _percent(f.l_cancel_rate)),
    ("inputs\n/min", lambda f: _number(f.inputs_per_minute, 0)),
)
"""The columns, each with its title and a function that makes the cells."""
_TITLES: dict[Grouping, str] = {
    "week": "week of",
    "opponent": "opponent",
    "character": "with",
    "against": "against",
    "stage": "stage",
}
_REASONS: dict[Reason, str] = {
    "notTwoPlayers": "with teams or other than two players",
    "computer": "against the computer",
    "undecided": "without a winner",
    "sameName": "in which both players have such a name",
}


class Examined(NamedTuple):
    """The outcome for one replay: the player's part of the game, why it doesn't count, or why it can't be read."""

    game: OwnGame | None = None
    left_out: Reason | None = None
    error: str = ""
    code: int = 0


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|ARCHIVE|DIR...")
@click.option("--me", multiple=True, required=True, metavar="CODE", help="Connect code, name or tag. Can be repeated.")
@click.option(
    "--by",
    type=click.Choice(["week", "opponent", "character", "against", "stage"]),
    help="The kind of the rows.  [default: all weeks, and the most frequent of the others]",
)
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Also draw the weeks into this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each row.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@click.option("--jobs", type=click.IntRange(min=1), help="Number of processes.  [default: one per core if many files]")
def command(
    paths: tuple[Path, ...],
    me: tuple[str, ...],
    by: Grouping | None,
    svg: Path | None,
    as_json: bool,
    as_csv: bool,
    jobs: int | None,
) -> None:
    """Show how the games of one player change, from the replays in folders and archives.

    Only games that one of two people has won count. The exit code is 1 if the player has no such game, or if a file
    cannot be read (74 for input/output errors).
    """
    from slpstream.parts.trends.own_games import GROUPINGS

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    own, code = _read(paths, me, jobs)
    if not own.games:
        _report_left_out(own.left_out)
        fail(f"no game of {printable(', '.join(me))} that counts", max(code, EXIT_NO))
    groupings = GROUPINGS if by is None else (by,)
    if as_json or as_csv:
        _print_rows(own, groupings, as_csv=as_csv)
    else:
        _print_tables(own, groupings, short=by is None)
    sys.stdout.flush()
    _report_left_out(own.left_out)
    if svg is not None:
        from slpstream.parts.trends.plot import drawn

        try:
            write_atomically(svg, [drawn(me[0], own.by("week")).encode("utf-8", "replace")], overwrite=True)
        except OSError as error:
            fail(f"{path_text(svg)}: {error.strerror}", EXIT_INPUT_OUTPUT)
    sys.exit(code)


def _read(paths: tuple[Path, ...], me: tuple[str, ...], jobs: int | None) -> tuple[OwnGames, int]:
    """Return the games of the player, and the exit code of the files that can't be read."""
    from slpstream.parts.trends.own_games import OwnGames, names_folded

    endings = _endings()
    files = list(find_files(paths, endings))
    if not files:
        fail_without_replays(paths)
    own, code = OwnGames(), 0
    total = None if has_archives(files) else len(files)
    with progress_bar("trends", total, shown=total != 1, transient=True) as update:
        results = examined_files(partial(examine, names_folded(me)), files, endings, jobs)
        for done, result in enumerate(results, 1):
            if result.error:
                report(result.error)
                code = max(code, result.code)
            if result.left_out is not None:
                own.left_out[result.left_out] += 1
            if result.game is not None:
                own.games.append(result.game)
            update(done)
    return own, code


def _endings() -> tuple[str, ...]:
    from slpstream.formats.slplog.container import SUFFIX

    return (".slp", SUFFIX)


def examine(names: frozenset[str], found: FoundReplay) -> Examined:
    """Compute the player's part of a game. You can call this in any process.

    For the games of others, only both ends of the file are read.
    """
    import msgspec

    from slpstream.api import open_replay, read_game
    from slpstream.parts.trends.figures import figures_of
    from slpstream.parts.trends.own_games import local_day, own_game, sides_of

    try:
        path = at_hand(found)
        read = read_game(path)
        summary = read.summary()
        sides = sides_of(summary, names)
        if not isinstance(sides, tuple):
            return Examined(left_out=sides)
        stats = open_replay(path).stats()
    except (FormatError, SourceError) as error:
        message, code = describe_error(found.path, error)
        return Examined(error=message, code=code)
    index = sides[0].index
    figures = figures_of(
        msgspec.json.encode({"overall": stats.overall}),
        index,
        won=index in summary.winners,
        seconds=None if read.end is None else read.end.duration_seconds,
    )
    for each in stats.action_counts:
        if each.player_index == index:
            good, bad = each.l_cancel_count.success, each.l_cancel_count.fail
            figures = figures._replace(l_cancels=good, landings=good + bad)
    return Examined(own_game(sides, summary, local_day(summary.started_at), figures))


def _report_left_out(left_out: Counter[Reason]) -> None:
    if left_out:
        report("left out: " + ", ".join(f"{count} {_REASONS[reason]}" for reason, count in left_out.most_common()))


def _print_rows(own: OwnGames, groupings: Sequence[Grouping], *, as_csv: bool) -> None:
    import msgspec

    from slpstream.parts.trends.rows import csv_of, trend_row

    rows = [(by, trend_row(trend)) for by in groupings for trend in own.by(by)]
    if as_csv:
        sys.stdout.buffer.write(csv_of(rows).encode("utf-8", "replace"))
        return
    for by, row in rows:
        sys.stdout.buffer.write(msgspec.json.encode({"by": by, **msgspec.to_builtins(row)}) + b"\n")


def _print_tables(own: OwnGames, groupings: Sequence[Grouping], *, short: bool) -> None:
    """Print a table for each grouping. If they are `short`, only the first one has all rows."""
    from slpstream.cli.terminal import table_console

    console = table_console()
    for place, by in enumerate(groupings):
        rows = own.by(by)
        shown = rows[:_MAX_SHORT_ROWS] if short and place else rows
        if place:
            console.print()
        _print_table(console, by, shown)
        if len(shown) < len(rows):
            console.print(f"{len(rows) - len(shown)} more: --by {by}", highlight=False)


def _print_table(console: Console, by: Grouping, rows: Sequence[Trend]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(_TITLES[by], vertical="bottom", max_width=_MAX_NAME_CHARS, overflow="fold")
    for title, _ in _COLUMNS:
        table.add_column(title, justify="right", vertical="bottom", no_wrap=True)
    for group, figures in rows:
        name = " ".join(part for part in (group.name, group.key) if part)
        table.add_row(Text(printable(name) or "-"), *(cell(figures) for _, cell in _COLUMNS))
    console.print(table)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}%"


def _length(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
