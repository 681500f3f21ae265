"""Those games of a `set` message that count. You need them for a tool that reports results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec


class ReportedGame(msgspec.Struct, frozen=True):
    """A game that counts.

    Its sides are in the same order as in the set or, in a report to a bracket, as in the bracket.
    """

    winner: int
    stocks: tuple[int | None, int | None] = (None, None)
    """Stocks left, by side."""
    stage_id: int | None = None
    characters: tuple[tuple[int, int], ...] = ()
    """Side and external character id of each player."""


def reported_games(payload: Mapping[str, Any]) -> tuple[ReportedGame, ...] | None:
    """Return the games that count, in order. If they don't add up to the score, this returns `None`."""
    counted = [game for game in payload.get("games") or () if game.get("counts") and game.get("winner") in (0, 1)]
    won = [sum(game["winner"] == side for game in counted) for side in (0, 1)]
    if won != [side.get("score") for side in payload.get("sides") or ()]:
        return None
    return tuple(_game(game) for game in counted)


def _game(game: Mapping[str, Any]) -> ReportedGame:
    players = [player for player in game.get("players") or () if player.get("side") in (0, 1)]
    characters = (
        (player["side"], player["characterId"]) for player in players if player.get("characterId") is not None
    )
    return ReportedGame(
        winner=game["winner"],
        stocks=(_stocks(players, 0), _stocks(players, 1)),
        stage_id=game.get("stageId"),
        characters=tuple(characters),
    )


def _stocks(players: Sequence[Mapping[str, Any]], side: int) -> int | None:
    """Return how many stocks the players of the given side have together, or `None` if we don't know this for one of
    them.
    """
    stocks = [player.get("stocks") for player in players if player["side"] == side]
    known = [count for count in stocks if count is not None]
    return sum(known) if known and len(known) == len(stocks) else None
