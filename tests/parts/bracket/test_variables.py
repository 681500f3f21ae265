"""The variables of start.gg's mutation `reportBracketSet`."""

from __future__ import annotations

import random
from typing import Any

import pytest

from slpstream.parts.bracket.configured import games_left_out
from slpstream.parts.bracket.played import played_set
from slpstream.parts.bracket.startgg.variables import bracket_set, ids
from tests.parts.bracket.startgg_double import Player
from tests.parts.bracket.venue import PlayedGame, set_payload


def player(side: int, character_id: int, stocks: int | None) -> dict[str, Any]:
    known = {"playerIndex": side, "port": side + 1, "side": side, "characterId": character_id}
    return known if stocks is None else {**known, "stocks": stocks}


def game(winner: int | None, players: list[dict[str, Any]], stage_id: int = 31, counts: bool = True) -> dict[str, Any]:
    return {"gameId": "g", "stageId": stage_id, "counts": counts, "winner": winner, "players": players}


def best_of_three() -> dict[str, Any]:
    fox, marth, puff = 2, 9, 15
    return {
        "setId": "g",
        "state": "over",
        "bestOf": 3,
        "winner": 1,
        "sides": [{"score": 1}, {"score": 2}],
        "games": [
            game(0, [player(0, fox, 4), player(1, marth, 4)], counts=False),  # a handwarmer
            game(0, [player(0, fox, 2), player(1, marth, 0)], 31),
            game(1, [player(1, marth, 1), player(0, fox, 0)], 32),  # ports changed
            game(1, [player(0, fox, 0), player(1, puff, 3)], 8),
        ],
    }


def reported(number: int, winner: int, scores: tuple[int, int], stage: int, *picks: tuple[int, int]) -> dict[str, Any]:
    """A game as start.gg gets it, with the entrants and characters that were picked."""
    return {
        "gameNum": number,
        "winnerId": f"{{entrant{winner}}}",
        "entrant1Score": scores[0],
        "entrant2Score": scores[1],
        "stageId": stage,
        "selections": [{"entrantId": f"{{entrant{who}}}", "characterId": character} for who, character in picks],
    }


def test_best_of_three() -> None:
    assert bracket_set(best_of_three()) == {
        "setId": "{setId}",
        "isDQ": False,
        "winnerId": "{entrant2}",
        "gameData": [
            reported(1, 1, (2, 0), 19, (1, 6), (2, 14)),
            reported(2, 2, (0, 1), 20, (2, 14), (1, 6)),
            reported(3, 2, (0, 3), 5, (1, 6), (2, 9)),
        ],
    }


def test_games_are_left_out_if_they_do_not_add_up_to_the_score() -> None:
    played = best_of_three()
    played["sides"] = [{"score": 0}, {"score": 2}]  # the operator took one away
    assert bracket_set(played) == {"setId": "{setId}", "isDQ": False, "winnerId": "{entrant2}"}


def test_unknown_stages_characters_and_stocks_are_left_out() -> None:
    played = best_of_three()
    played["sides"] = [{"score": 1}, {"score": 0}]
    played["games"] = [game(0, [player(0, 2, 1), player(1, 32, None)], stage_id=285)]
    variables = bracket_set(played)
    assert variables is not None
    [reported] = variables["gameData"]
    assert reported["selections"] == [{"entrantId": "{entrant1}", "characterId": 6}]
    assert reported.keys() == {"gameNum", "winnerId", "entrant1Score", "selections"}


def test_stocks_of_a_team_are_added() -> None:
    played = {
        "sides": [{"score": 1}, {"score": 0}],
        "games": [game(0, [player(0, 2, 1), player(0, 20, 2), player(1, 9, 0), player(1, 9, 0)])],
    }
    variables = bracket_set(played)
    assert variables is not None
    [reported] = variables["gameData"]
    assert (reported["entrant1Score"], reported["entrant2Score"], len(reported["selections"])) == (3, 0, 4)


@pytest.mark.parametrize("sides", [0, 1, 3, 4])
def test_set_without_two_sides_has_no_variables(sides: int) -> None:
    assert bracket_set({**best_of_three(), "sides": [{"score": 0}] * sides}) is None


def test_set_without_games_has_no_variables() -> None:
    assert bracket_set({**best_of_three(), "games": []}) is None


def test_all_characters_and_legal_stages_have_an_id() -> None:
    assert sorted(ids("characters")) == list(range(26))
    assert {2, 3, 8, 28, 31, 32} <= ids("stages").keys()
    for name in ("characters", "stages"):
        assert len(set(ids(name).values())) == len(ids(name))


def test_reason_for_left_out_games() -> None:
    rng = random.Random(1)
    games = [PlayedGame(rng, number % 2) for number in range(21)]
    payload = set_payload("1", [[Player("one")], [Player("other")]], games, best_of=41)
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
