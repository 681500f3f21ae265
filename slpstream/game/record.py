"""The record of a game for the index. Apart from `described`, whose other users need no database."""

from __future__ import annotations

from slpstream.game.described import DescribedGame
from slpstream.store.game_record import GameRecord


def record_of(game: DescribedGame) -> GameRecord:
    """Return the index record of a game, as far as it has been read."""
    return GameRecord.of(game.start, game.end, game.metadata, game.summary(), game.final_stats, game.highlights)
