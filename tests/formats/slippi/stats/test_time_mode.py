"""The stats and events of games without stocks, which `timed_game` writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.slippi.stats.games import events_of, frame_of, game_of, run, shown
from tests.formats.slippi.timed_game import COIN_MODE, TimedGame


def extra(stats: Any) -> list[tuple[Any, ...]]:
    return [(p.kos, p.falls, p.self_destructs, p.score) for p in stats.stats().extra.players]


def three_players(stocks: int = 4) -> bytes:
    """Player 1 falls by 0, player 2 falls alone, and player 1 falls by 0 again."""
    return TimedGame(players=3, stocks=stocks).fall(1, by=0).fall(2).fall(1, by=0).end(placements=(0, 2, 1))


@pytest.mark.parametrize("stocks", [0, 1, 4, 99])
def test_falls_end_lives(stocks: int) -> None:
    stats, events = run(game_of(three_players(stocks)))
    falls = events_of(events, "fall")
    assert [(e.values["playerIndex"], e.values.get("byPlayerIndex"), e.values["selfDestruct"]) for e in falls] == [
        (1, 0, False),
        (2, None, True),
        (1, 0, False),
    ]
    assert not events_of(events, "stock_lost")
    lives = [(s.player_index, s.start_frame, s.end_frame) for s in stats.stats().stocks]
    first, second, third = map(frame_of, falls)
    # The fall is the first frame of dying, after 30 frames of standing and ten hits; 60 frames later the next life
    # begins.
    assert first == -123 + 30 + 10
    ends = [life for life in lives if isinstance(life[2], int)]
    assert ends == [(1, -123, first), (2, -123, second), (1, first + 60, third)]
    assert [s.end_percent for s in stats.stats().stocks if s.player_index == 1][:2] == [120.0, 120.0]
    assert extra(stats) == [(2, 0, 0, 2), (0, 2, 0, -2), (0, 1, 1, -1)]


def test_fall_has_the_scores_after_it() -> None:
    _, events = run(game_of(three_players()))
    scores = [[s.score for s in event.values["scores"]] for event in events_of(events, "fall")]
    assert scores == [[1, -1, 0], [1, -1, -1], [2, -2, -1]]


def test_no_member_has_the_number_of_stocks() -> None:
    stats, events = run(game_of(three_players(0)))
    assert all("count" not in life for life in shown(stats)["stocks"])
    assert all("stocksRemaining" not in event.values for event in events_of(events, "player_spawned"))


def test_conversions_end_with_the_fall() -> None:
    stats, _ = run(game_of(TimedGame(stocks=0).fall(1, by=0).fall(0, by=1).fall(0, by=1).end()))
    assert [c.did_kill for c in stats.stats().conversions] == [True, True, True]
    assert [entry.kill_count for entry in stats.stats().overall] == [1, 2]
    assert [len(player.kill_moves) for player in stats.stats().extra.players] == [1, 2]
    assert stats.stats().extra.first_blood.last_hit_by == 0


def test_star_ko_is_one_fall_at_its_first_frame() -> None:
    stats, events = run(game_of(TimedGame().fall(1, by=0, state=4, frames=176).end()))
    assert [frame_of(event) for event in events_of(events, "fall")] == [-83]
    assert extra(stats) == [(1, 0, 0, 1), (0, 1, 0, -1)]


def test_double_ko_is_two_falls_in_port_order() -> None:
    _, events = run(game_of(TimedGame(players=3).fall(0, 1, by=2).end()))
    falls = events_of(events, "fall")
    assert [(event.frame, event.values["playerIndex"]) for event in falls] == [(-83, 0), (-83, 1)]
    assert [s.score for s in falls[0].values["scores"]] == [-1, -1, 2]


def test_team_ko_does_not_count() -> None:
    stats, events = run(game_of(TimedGame(players=4, teams=(0, 1, 0, 1)).fall(2, by=0).fall(1, by=2).end()))
    assert [event.values["byPlayerIndex"] for event in events_of(events, "fall")] == [0, 2]
    assert extra(stats) == [(0, 0, 0, -1), (0, 1, 0, -1), (1, 1, 0, 0), (0, 0, 0, 0)]


def test_coin_mode_has_falls_without_scores() -> None:
    stats, events = run(game_of(TimedGame(mode=COIN_MODE).fall(1, by=0).end()))
    assert len(events_of(events, "fall")) == 1
    (first, second) = stats.stats().extra.players
    assert (first.kos, second.falls) == (1, 1)
    assert not isinstance(first.score, int)


def test_compatible_stats_have_no_falls() -> None:
    """slippi-js counts lives by stocks, which stay the same in time mode."""
    stats, events = run(game_of(TimedGame().fall(1, by=0).end()), compat=True)
    assert not events_of(events, "fall")
    assert [stock.count for stock in stats.stats().stocks] == [4, 4]


def test_stats_and_game_end_agree() -> None:
    game = game_of(three_players())
    stats, _ = run(game)
    assert extra(stats) == [(s.kos, s.falls, s.self_destructs, s.score) for s in game.end.values["scores"]]
