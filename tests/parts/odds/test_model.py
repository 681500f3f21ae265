"""The model of the odds: its recursion against a plain second calculation, its symmetry, and damaged files."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from slpstream.parts.odds.model import PACKAGED, GameState, ModelError, packaged_model, read_model, win_set

MODEL = packaged_model()


def logistic(value: float) -> float:
    return math.exp(value) / (1 + math.exp(value))


def weight(percent: float) -> float:
    return 1 - math.exp(-percent / 80)


def plain_win(state: GameState) -> float:
    """The chance to win, by following every order in which stocks can be lost."""
    strength = MODEL.damage_weight * (state.dealt - state.opponent_dealt)
    strength /= MODEL.prior_damage + state.dealt + state.opponent_dealt

    def takes(percent: float, opponent_percent: float) -> float:
        return logistic(strength + MODEL.percent_weight * (weight(opponent_percent) - weight(percent)))

    def more(opponent_percent: float) -> float:
        return max(0.0, MODEL.carried_percent - MODEL.carried_slope * opponent_percent)

    def won(own: int, other: int, taken: list[bool]) -> float:
        if own == 0 or other == 0:
            return float(other == 0)
        if not taken:
            chance = takes(state.percent, state.opponent_percent)
        elif len(taken) == 1 and taken[0]:
            chance = takes(state.percent + more(state.opponent_percent), 0)
        elif len(taken) == 1:
            chance = takes(0, state.opponent_percent + more(state.percent))
        else:
            chance = logistic(strength)
        return chance * won(own, other - 1, [*taken, True]) + (1 - chance) * won(own - 1, other, [*taken, False])

    return won(state.stocks, state.opponent_stocks, [])


def states(count: int) -> Iterator[GameState]:
    rng = random.Random(5)
    for _ in range(count):
        yield GameState(
            *(rng.randint(1, 4) for _ in range(2)),
            *(rng.choice([0.0, rng.uniform(0, 200)]) for _ in range(2)),
            *(rng.uniform(0, 600) for _ in range(2)),
        )


def test_recursion_over_stocks_equals_a_plain_calculation() -> None:
    for state in states(200):
        assert MODEL.win(state) == pytest.approx(plain_win(state), abs=1e-12)


def test_players_are_interchangeable() -> None:
    for state in states(50):
        own, other, percent, opponent_percent, dealt, taken = state
        swapped = GameState(other, own, opponent_percent, percent, taken, dealt)
        assert MODEL.win(state) + MODEL.win(swapped) == pytest.approx(1)
    assert MODEL.win(GameState(4, 4, 0, 0, 0, 0)) == pytest.approx(0.5)


def test_lost_game_and_won_game_are_certain() -> None:
    assert MODEL.win(GameState(0, 2, 0, 50, 100, 300)) == 0
    assert MODEL.win(GameState(1, 0, 90, 0, 100, 300)) == 1
    assert MODEL.win(GameState(0, 0, 0, 0, 100, 300)) == 0.5


def test_stocks_percent_and_damage_count() -> None:
    even = GameState(2, 2, 50, 50, 200, 200)
    for better in (
        even._replace(stocks=3),
        even._replace(opponent_percent=90),
        even._replace(percent=0),
        even._replace(dealt=300),
    ):
        assert MODEL.win(better) > MODEL.win(even) + 0.02


def plain_set(game: float, won: int, lost: int, needed: int) -> float:
    if won == needed or lost == needed:
        return float(won == needed)
    return game * plain_set(0.5, won + 1, lost, needed) + (1 - game) * plain_set(0.5, won, lost + 1, needed)


def test_recursion_over_games_equals_a_plain_calculation() -> None:
    for best_of in (1, 3, 5):
        needed = best_of // 2 + 1
        for won in range(needed):
            for lost in range(needed):
                assert win_set(0.7, won, lost, best_of) == pytest.approx(plain_set(0.7, won, lost, needed))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b"{" * 10_000,
        PACKAGED.read_bytes()[:-10],
        PACKAGED.read_bytes().replace(b"games", b"game"),
        PACKAGED.read_bytes().replace(b'"prior_damage": ', b'"prior_damage": -'),
        PACKAGED.read_bytes().replace(b'"damage_weight": ', b'"damage_weight": 1e999, "x": '),
        PACKAGED.read_bytes().replace(b'"percent_weight": ', b'"percent_weight": null, "x": '),
    ],
)
def test_damaged_model_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(text)
    with pytest.raises(ModelError) as refused:
        read_model(path)
    assert "\n" not in str(refused.value)
