"""The record of a game for the index. A module of its own, because few users of `described` need a database."""

from __future__ import annotations

from slpstream.game.described import DescribedGame
from slpstream.store.game_record import GameRecord


def record_of(game: DescribedGame) -> GameRecord:
    """The record of a game, as far as it has been read."""
    return GameRecord.of(game.start, game.end, game.metadata, game.summary(), game.final_stats, game.highlights)
