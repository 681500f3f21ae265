"""The record of a game for the index.

This isn't a part of `described`, because other users of that module don't need a database.
"""

from __future__ import annotations

from slpstream.game.described import DescribedGame
from slpstream.store.game_record import GameRecord


def record_of(game: DescribedGame) -> GameRecord:
    """Return the record of the given game for the index.

    It contains everything that we have read of the game so far.
    """
    return GameRecord.of(game.start, game.end, game.metadata, game.summary(), game.final_stats, game.highlights)
