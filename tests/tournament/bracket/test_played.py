"""Played sets from the payloads of `set` messages: sets whose games are not reported."""

from __future__ import annotations

import random
from typing import Any

from slpstream.daemon.tournament.bracket import games_left_out
from slpstream.tournament.bracket.played import played_set
from tests.tournament.bracket.startgg_double import Player
from tests.tournament.bracket.venue import PlayedGame, set_payload

PLAYERS = [[Player("one")], [Player("other")]]
KEPT_GAMES = 20


def test_why_games_are_left_out() -> None:
    rng = random.Random(1)
    games = [PlayedGame(rng, number % 2) for number in range(KEPT_GAMES + 1)]
    payload = set_payload("1", PLAYERS, games, best_of=41)
    reasons = []
    changes: list[dict[str, Any]] = [
        {},
        {"sides": [{"score": 3}, {"score": 0}]},
        {"games": payload["games"][1:], "olderGames": 1},
        {"crewBattle": {"crews": []}},
    ]
    for change in changes:
        played = played_set({**payload, **change})
        assert played is not None
        reasons.append(games_left_out(played))
    assert reasons == [None, "score", "length", "crew"]
