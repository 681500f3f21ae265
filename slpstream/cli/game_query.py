"""Queries for games on the command line: `--games QUERY`, and the comparison of a replay with a query.

Heavy modules are imported when they are needed, so that help is printed at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slpstream.cli import report
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.store import GameRecord

_EXIT_USAGE = 2

games_option = click.option(
    "--games", metavar="QUERY", help="Only games that match a query in the syntax of the Slippi Launcher, as for find."
)
me_option = click.option("--me", multiple=True, metavar="CODE", help="A connect code that @me means. Can be repeated.")


def check(text: str, me: tuple[str, ...]) -> None:
    """Exit with 2 if the query has mistakes, after showing them."""
    from slpstream.search.query.parse import Context, parse

    exit_with(text, parse(text, Context(me)).problems)


def exit_with(text: str, problems: Any) -> None:
    """Exit with 2 if there are mistakes in a query, after showing them."""
    for problem in problems:
        shown = printable(text)
        report(f"query: {problem.message}")
        if len(shown) == len(text):
            print(f"  {shown}\n  {' ' * problem.position}{'^' * max(1, problem.length)}", file=sys.stderr)
    if problems:
        sys.exit(_EXIT_USAGE)


def record_at(source: Any) -> GameRecord:
    """The record of the game in a replay. Raises `FormatError` and `SourceError`."""
    from slpstream.api import read_game
    from slpstream.game.record import record_of

    return record_of(read_game(source))


def is_wanted(record: GameRecord, path: Path, text: str, me: tuple[str, ...]) -> bool:
    """Whether a game matches a query without mistakes. Games of a folder have no station."""
    from slpstream.model.game_facts import facts_of
    from slpstream.search.games.predicate import matches

    facts = facts_of(
        record.summary,
        format=record.format,
        stations=(),
        file_name=path.name.encode("utf-8", "replace").decode(),
        duration_seconds=record.duration_seconds,
        began_ms=record.said_at_ms,
    )
    return matches(_condition(text, me), facts)


def _condition(text: str, me: tuple[str, ...]) -> Any:
    """The condition of a query; each process parses it once."""
    if (text, me) not in _conditions:
        from slpstream.search.query.parse import Context, parse

        _conditions[text, me] = parse(text, Context(me)).condition
    return _conditions[text, me]


_conditions: dict[tuple[str, tuple[str, ...]], Any] = {}
