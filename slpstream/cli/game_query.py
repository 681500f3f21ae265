"""A query for games on the command line, in the syntax of the Slippi Launcher, and the test whether the games in files
match it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from slpstream.cli import fail, report
from slpstream.system.text import printable

if TYPE_CHECKING:
    from slpstream.model.query_problem import QueryProblem
    from slpstream.parts.services import ParsedQuery
    from slpstream.store.game_record import GameRecord

_EXIT_USAGE = 2

games_option = click.option(
    "--games", metavar="QUERY", help="Only games that match a query in the syntax of the Slippi Launcher, as for find."
)
me_option = click.option("--me", multiple=True, metavar="CODE", help="A connect code that @me means. Can be repeated.")
config_option = click.option(
    "--config", "config_file", type=click.Path(path_type=Path), help="Configuration file, for search.me."
)


class GameQuery(NamedTuple):
    """A query, which you can send to other processes."""

    text: str
    me: tuple[str, ...]
    """The connect codes that `@me` stands for."""
    parsed: ParsedQuery

    @classmethod
    def of(cls, text: str, me: tuple[str, ...]) -> GameQuery:
        """Parse a query."""
        from slpstream.parts import registry

        parse = registry.function("parse_game_query")
        if parse is None:
            raise click.ClickException("queries for games need the part find")
        return cls(text, me, parse(text, me))


def _configured_me(file: Path | None) -> tuple[str, ...]:
    """Return the connect codes of `search.me` in a configuration file. Raises `ConfigError` if the file isn't valid."""
    if file is None:
        return ()
    from slpstream.parts import registry

    return tuple(registry.load(file).search.me)


def require_text(query: str) -> None:
    """Exit with 2 if an argument or standard input wasn't UTF-8. Python keeps such bytes in surrogates."""
    try:
        query.encode()
    except UnicodeEncodeError:
        fail("the query is not UTF-8", _EXIT_USAGE)


def checked_query(text: str, me: tuple[str, ...], config_file: Path | None) -> GameQuery:
    """Return the query. In it, `@me` stands for the given codes and those of the configuration.

    If there are mistakes in the query, this shows them and exits with 2. Raises `ConfigError`.
    """
    require_text(text)
    query = GameQuery.of(text, (*_configured_me(config_file), *me))
    exit_with_problems(text, query.parsed.problems)
    return query


def checked_games(games: str | None, me: tuple[str, ...], config_file: Path | None) -> GameQuery | None:
    """Return the query of `--games`, or `None` if this option is missing. Everything else is as in `checked_query`."""
    if games is None:
        if me or config_file is not None:
            raise click.UsageError("--me and --config are for --games")
        return None
    return checked_query(games, me, config_file)


def exit_with_problems(text: str, problems: Iterable[QueryProblem]) -> None:
    """If there are any mistakes in a query, show them at their places, and exit with 2."""
    found = False
    for problem in problems:
        found = True
        shown = printable(text)
        report(f"query: {problem.message}")
        if len(shown) == len(text):
            print(f"  {shown}\n  {' ' * problem.position}{'^' * max(1, problem.length)}", file=sys.stderr)
    if found:
        sys.exit(_EXIT_USAGE)


def is_match(query: GameQuery, path: Path, record: GameRecord) -> bool:
    """Whether the game of a replay matches a query. You can call this in any process."""
    from slpstream.model.game_facts import facts_of

    facts = facts_of(
        record.summary,
        format=record.format,
        stations=(),
        file_name=path.name.encode("utf-8", "replace").decode(),
        duration_seconds=record.duration_seconds,
        began_ms=record.said_at_ms,
    )
    return query.parsed.matches(facts)
