"""Highlights by their score.

They are either from the log, and then a column of the games, or situations that count as highlights. The part
`highlights` reads them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from slpstream.model.highlight import Highlight
from slpstream.store.database_file import DatabaseFile
from slpstream.store.game_record import Entry, GameRecord
from slpstream.store.highlights_query import tenths

MIGRATIONS: Mapping[int, tuple[str, ...]] = {
    9: (
        # The highlights of a game, as JSON; NULL while they are not computed.
        "ALTER TABLE games ADD COLUMN highlights TEXT",
        # Their order by score. `number` is the index in that list.
        """CREATE TABLE highlights (
            game_id TEXT NOT NULL,
            number INTEGER NOT NULL,
            score INTEGER NOT NULL,            -- tenths of a point
            PRIMARY KEY (game_id, number)
        ) STRICT, WITHOUT ROWID""",
        "CREATE INDEX highlights_by_score ON highlights (score, game_id, number)",
    ),
}


class Highlights:
    """The table of highlights."""

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file

    def keep(self, game_id: str, highlights: Sequence[Highlight]) -> None:
        """Store the highlights of a game. They must be in the order in which they ended."""
        with self._file.transaction() as writer:
            text = msgspec.json.encode(highlights).decode()
            updated = writer.execute("UPDATE games SET highlights = ? WHERE game_id = ?", (text, game_id))
            if updated.rowcount:
                _store_order(writer, game_id, highlights)

    def add_game(self, writer: sqlite3.Connection, entry: Entry, record: GameRecord, *, counts: bool) -> None:
        """Store the order of the highlights of a game, if this file counts and if they were computed."""
        if counts and record.highlights is not None:
            _store_order(writer, record.game_id, record.highlights)

    def delete_game(self, writer: sqlite3.Connection, game_id: str) -> None:
        """Delete the highlights of a game."""
        writer.execute("DELETE FROM highlights WHERE game_id = ?", (game_id,))


def _store_order(writer: sqlite3.Connection, game_id: str, highlights: Sequence[Highlight]) -> None:
    """Store the order in which the highlights of a game's log come by score.

    This replaces the order that was stored before.
    """
    writer.execute("DELETE FROM highlights WHERE game_id = ? AND situation IS NULL", (game_id,))
    writer.executemany(
        "INSERT INTO highlights (game_id, number, score) VALUES (?, ?, ?)",
        [(game_id, number, tenths(highlight.score)) for number, highlight in enumerate(highlights)],
    )
