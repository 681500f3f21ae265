"""The terms and lines of all games together. With these, a query only has to read games that have a chance to match."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from slpstream.model.game_facts import shape

_LAST_CHARACTER = "\U0010ffff"
_FEW_GAMES = 10_000
"""Maximum number of rows whose individual lookup is faster than reading all rows of a large index."""
FILE, PLAYER = "file", "player"
"""The kinds of lines in the table `search_lines`: shapes of file names, and codes and names of players."""


class KnownFacts:
    """All terms and lines that any game has or used to have."""

    def __init__(self, reader: sqlite3.Connection) -> None:
        self._reader = reader

    def has_term(self, beginning: str) -> bool:
        """Whether there's a term that begins with this text."""
        statement = "SELECT EXISTS (SELECT 1 FROM search_terms WHERE term >= ? AND term < ?)"
        return self._is_true(statement, (beginning, beginning + _LAST_CHARACTER))

    def is_in_file_names(self, text: str) -> bool:
        """Whether the text might be part of a file name.

        Since this ignores digits, the answer can be wrong in one direction.
        """
        statement = "SELECT EXISTS (SELECT 1 FROM search_lines WHERE kind = ? AND instr(line, ?) > 0)"
        return self._is_true(statement, (FILE, shape(text)))

    def player_lines(self, text: str, limit: int) -> list[str]:
        """Return codes and names of players that contain the text. You get at most `limit` of them."""
        statement = "SELECT line FROM search_lines WHERE kind = ? AND instr(line, ?) > 0 LIMIT ?"
        return [line for (line,) in self._reader.execute(statement, (PLAYER, text, limit))]

    def are_few(self, lines: Collection[str]) -> bool:
        """Whether there are only a few games with players that have one of these codes or names."""
        condition, values = _with_tags(lines)
        statement = f"SELECT count(*) <= {_FEW_GAMES} FROM (SELECT 1 FROM tags t {condition} LIMIT {_FEW_GAMES + 1})"  # noqa: S608 -- the values are bound
        return self._is_true(statement, values)

    def _is_true(self, statement: str, values: Sequence[str]) -> bool:
        return bool(self._reader.execute(statement, values).fetchone()[0])


class Filter(NamedTuple):
    """A condition on games. It consists of SQL that refers to the row `s` of the table `search`, and of the values in
    it.

    If `lines` is not `None`, only games of players that have one of these codes or names can match.
    """

    sql: str
    values: Sequence[Any]
    lines: frozenset[str] | None = None


MakeFilter = Callable[[KnownFacts], Filter]
"""Makes the filter of a query from the facts of an index."""


def games_with(lines: Collection[str]) -> tuple[str, list[str]]:
    """Return an SQL condition, and its values, that selects the games of players with one of these codes or names.

    The condition refers to the row `s`.
    """
    condition, values = _with_tags(lines)
    return f"(s.listed_at_ms, s.game_id) IN (SELECT t.listed_at_ms, t.game_id FROM tags t {condition})", values  # noqa: S608 -- the values are bound


def tag_of_line(line: str) -> str:
    """Return the tag of the kind `player` that every game with the given line has."""
    return line.strip().casefold()


def _with_tags(lines: Collection[str]) -> tuple[str, list[str]]:
    tags = sorted({tag_of_line(line) for line in lines})
    return f"WHERE t.kind = 'player' AND t.value IN ({', '.join('?' * len(tags))})", tags
