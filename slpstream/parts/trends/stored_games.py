"""Reads the games of one player from the index. All of this blocks.

A player can have many thousands of games there, so some of them are read at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import msgspec

from slpstream.parts.trends.figures import figures_of
from slpstream.parts.trends.own_games import OwnGames, own_game, sides_of
from slpstream.store import Database
from slpstream.store.documents import decode_summary
from slpstream.store.player_games import Place


def add_games(database: Database, own: OwnGames, names: frozenset[str], places: Sequence[Place]) -> None:
    """Add games to those of the player, in the order of their times. Games that are being played are left out."""
    ids = msgspec.json.encode([game_id for _, game_id in places]).decode()
    with database.reader() as reader:
        rows: list[tuple[Any, ...]] = reader.execute(
            "SELECT listed_at_ms, game_id, summary, stats, duration_seconds FROM games"
            " WHERE game_id IN (SELECT value FROM json_each(?)) AND reason IS NOT NULL",
            (ids,),
        ).fetchall()
    for listed_at_ms, _, document, stats, seconds in sorted(rows, key=lambda row: (row[0], row[1])):
        summary = decode_summary(document)
        sides = sides_of(summary, names)
        if isinstance(sides, tuple):
            index = sides[0].index
            figures = figures_of(
                None if stats is None else stats.encode(), index, won=index in summary.winners, seconds=seconds
            )
            own.games.append(own_game(sides, summary, _local_day(listed_at_ms), figures))
        elif sides is not None:
            own.left_out[sides] += 1


def _local_day(listed_at_ms: int) -> date | None:
    try:
        return datetime.fromtimestamp(listed_at_ms / 1000).astimezone().date()
    except (ValueError, OverflowError, OSError):
        return None
