"""The set of a station with only the given replays, each after a short break."""

from __future__ import annotations

from typing import Any

import msgspec

from slpstream.formats.slippi.reader import SlippiReader
from slpstream.game.described import DescribedGame
from slpstream.model.summary import IndexedGame, Standing
from slpstream.sets import Corrections, Rules, newest_set, played_games, score_of


def indexed(number: int, data: bytes) -> IndexedGame:
    reader = SlippiReader()
    game = DescribedGame.of([*reader.feed(data), *reader.finish()])
    assert game is not None
    assert game.end is not None
    standings = {index: Standing(**values) for index, values in game.end.standings.items()}
    started_at_ms = 1_000_000 + 200_000 * number
    return IndexedGame(
        game_id=str(number),
        summary=game.summary(),
        standings=standings,
        listed_at_ms=started_at_ms,
        duration_seconds=game.end.duration_seconds,
        reason=game.end.reason,
    )


def set_of(*games: bytes) -> dict[str, Any]:
    """The payload for the set, as in `set` messages."""
    played = played_games([indexed(i, data) for i, data in enumerate(games)], running=())
    found: dict[str, Any] = msgspec.to_builtins(score_of(newest_set(played, Corrections(), Rules()), Corrections()))
    return found
