"""Which games of a player count, and how they are summed."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from typing import Any

import msgspec
import pytest

from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.trends.figures import Figures, figures_of, likely_rates
from slpstream.parts.trends.own_games import (
    GROUPINGS,
    Group,
    OwnGames,
    Trend,
    local_day,
    names_folded,
    own_game,
    sides_of,
    week_of,
)
from slpstream.parts.trends.rows import csv_of, trend_row

HOSTILE = ("=1+1", "<script>alert(1)</script>", "\x1b[31mred", "名前" * 40, "", "Ann ")
ME = names_folded(["ann#1", "  "])


def summary(name: str = "Bob", code: str = "", winner: int = 0, **other: Any) -> GameSummary:
    players = [
        PlayerSummary(index=0, name="Ann", code="ANN#1", character=Thing(kind="character", id=2, name="Fox")),
        PlayerSummary(index=2, name=name, code=code, character=Thing(kind="character", id=9, name="Marth")),
    ]
    values = {"players": players, "winners": [winner], "place": Thing(kind="stage", id=31, name="Battlefield")}
    return GameSummary(**{**values, **other})


def test_sums_are_those_of_a_plain_count() -> None:
    chance = random.Random(3)
    own, opponents, won = OwnGames(), Counter[str](), Counter[str]()
    openings = kills = 0
    for _ in range(200):
        name = chance.choice(HOSTILE)
        winner = chance.choice((0, 2))
        game = summary(name, winner=winner)
        sides = sides_of(game, ME)
        assert isinstance(sides, tuple)
        counts = (chance.randrange(30), chance.randrange(5))
        openings, kills = openings + counts[0], kills + counts[1]
        overall = [{"playerIndex": 2}, {"playerIndex": 0, "conversionCount": counts[0], "killCount": counts[1]}]
        stats = msgspec.json.encode({"overall": overall})
        figures = figures_of(stats, 0, won=winner == 0, seconds=chance.choice((None, 100.0, 200.0)))
        own.games.append(own_game(sides, game, date(2026, 1, 1 + chance.randrange(28)), figures))
        opponents[name] += 1
        won[name] += winner == 0
    found = {trend.group.key: (trend.figures.games, trend.figures.won) for trend in own.by("opponent")}
    assert found == {name: (opponents[name], won[name]) for name in opponents}
    assert [trend.group.key for trend in own.by("opponent")][-1] == ""
    assert [trend.group.key for trend in own.by("week")] == [
        "2025-12-29",
        *(f"2026-01-{d:02}" for d in (5, 12, 19, 26)),
    ]
    for by in GROUPINGS:
        sums = [trend.figures for trend in own.by(by)]
        assert sum(each.openings for each in sums) == openings == own.total().openings
        assert sum(each.kills for each in sums) == kills
    table = csv_of((by, trend_row(trend)) for by in GROUPINGS for trend in own.by(by))
    assert "'=1+1," in table


def test_which_games_count() -> None:
    assert isinstance(sides_of(summary(), ME), tuple)
    assert isinstance(sides_of(summary("Ann", "ANN#2"), ME), tuple)
    assert sides_of(summary("Ann", "ANN#2"), names_folded(["ANN"])) == "sameName"
    assert sides_of(summary(), names_folded(["Carl"])) is None
    assert sides_of(summary(is_teams=True), ME) == "notTwoPlayers"
    assert sides_of(summary(players=[*summary().players, PlayerSummary(index=3)]), ME) == "notTwoPlayers"
    assert sides_of(summary(players=[summary().players[0], PlayerSummary(index=1, human=False)]), ME) == "computer"
    assert sides_of(summary(winners=[]), ME) == sides_of(summary(winners=[0, 2], tied=True), ME) == "undecided"


def test_stats_that_are_missing_or_of_another_shape() -> None:
    for stats in (None, b"{}", b'{"overall": 3}', b'{"overall": [{"playerIndex": 1}]}'):
        assert figures_of(stats, 0, won=True, seconds=None) == Figures(games=1, won=1)
    row = trend_row(Trend(Group(""), OwnGames().total()))
    assert (row.games, row.win_rate, row.openings_per_kill) == (0, None, None)


def test_days_and_weeks() -> None:
    assert local_day("2026-11-29T23:00:00") == date(2026, 11, 29)
    assert local_day("") is local_day("yesterday") is None
    assert local_day("0001-01-01T00:00:00+14:00") in (None, date(1, 1, 1))
    assert week_of(date(2026, 11, 29)) == week_of(date(2026, 11, 23)) == "2026-11-23"
    assert week_of(date.min) == "0001-01-01"


@pytest.mark.parametrize(("won", "games"), [(0, 1), (1, 1), (3, 3), (150, 300), (299, 300)])
def test_few_games_are_less_certain(won: int, games: int) -> None:
    """The ends of the interval are those shares from which the observed one is 1.96 standard deviations away."""
    for end in likely_rates(won, games):
        assert (won / games - end) ** 2 == pytest.approx(1.96**2 * end * (1 - end) / games, abs=1e-12)
    low, high = likely_rates(won, games)
    more_low, more_high = likely_rates(100 * won, 100 * games)
    assert more_high - more_low < high - low < 1
