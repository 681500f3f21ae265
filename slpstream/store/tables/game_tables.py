"""The interface of table families with rows about games, for the transactions that add and delete games."""

from __future__ import annotations

import sqlite3

from slpstream.store.game_record import Entry, GameRecord


class GameTables:
    """A family of tables with rows about games."""

    def add_game(self, writer: sqlite3.Connection, entry: Entry, record: GameRecord, *, counts: bool) -> None:
        """Store the rows of a game that was added or updated.

        `counts` is whether the row of the game was made from this file.
        """

    def delete_game(self, writer: sqlite3.Connection, game_id: str) -> None:
        """Delete the rows of a game."""
