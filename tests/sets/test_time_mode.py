"""Games of time mode in sets: their scores, and the verdicts on ties and unknown winners. The games are synthetic."""

from __future__ import annotations

from tests.formats.slippi.timed_game import COIN_MODE, TimedGame
from tests.sets.of_replays import set_of


def test_games_count_and_show_scores() -> None:
    won = TimedGame(stocks=0).fall(1, by=0).fall(1).end(placements=(0, 1))
    lost = TimedGame(stocks=99).fall(0, by=1).end(placements=(1, 0))
    found = set_of(won, lost, won)
    assert (found["score"], found["state"], found["winner"]) == ([2, 1], "over", 0)
    first = found["games"][0]
    assert (first["mode"], first["verdict"], first["reason"]) == ("time", "counted", "decided by time")
    assert [(p["score"], p.get("stocks")) for p in first["players"]] == [(1, None), (-2, None)]


def test_four_players_and_teams() -> None:
    alone = TimedGame(players=4).fall(1, by=2).fall(0, by=2).fall(3).end(placements=(1, 2, 0, 3))
    assert set_of(alone)["score"] == [0, 0, 1, 0]
    teams = TimedGame(players=4, teams=(0, 1, 0, 1)).fall(1, by=2).end(placements=(1, 3, 0, 2))
    found = set_of(teams)
    assert [(side["players"], side["score"]) for side in found["sides"]] == [([0, 2], 1), ([1, 3], 0)]


def test_tie_is_named() -> None:
    game = TimedGame(players=3).fall(0, by=1).fall(1, by=0).fall(2, by=0).fall(2, by=1).end(placements=(0, 1, 2))
    (shown,) = set_of(game)["games"]
    assert (shown["verdict"], shown["reason"]) == (
        "no_winner",
        "decided by time, with a tie at 1 that goes on to sudden death",
    )


def test_unknown_winner_is_not_a_tie() -> None:
    (shown,) = set_of(TimedGame(mode=COIN_MODE, version=(3, 12, 0)).end())["games"]
    assert (shown["mode"], shown["verdict"]) == ("coin", "no_winner")
    assert shown["reason"] == "decided by time, and its replay does not have the winner"
