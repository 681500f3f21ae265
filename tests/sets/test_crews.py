"""Crew battles: stocks carry over, the winner stays, and the next player of the other crew enters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slpstream.sets import (
    Corrections,
    ImpossibleCorrection,
    Ledger,
    PlayedGame,
    Player,
    Rules,
    SetPatch,
    changed,
    newest_set,
    undone,
)
from slpstream.sets.grouping import Set
from tests.sets.games import CorrectedGames, played

RED, BLUE = 0, 1
CREWS: dict[str, Any] = {"crews": [{"name": "Red", "stocks": 8}, {"name": "Blue", "stocks": 8}]}


def game(
    number: int,
    stocks: tuple[int | None, int | None],
    *,
    names: tuple[str, str] = ("", ""),
    ports: tuple[int, int] = (0, 1),
    winner: int | None = None,
    **values: Any,
) -> PlayedGame:
    """A game with the stocks at its end; the side with stocks has won."""
    players = [
        Player(index=port, port=port + 1, tag=name, start_stocks=4, stocks=left)
        for port, name, left in zip(ports, names, stocks, strict=True)
    ]
    won = winner if winner is not None else RED if (stocks[0] or 0) > (stocks[1] or 0) else BLUE
    return played(number, winner=ports[won], **({"players": players} | values))


class Battle(CorrectedGames):
    """A crew battle that the operator has begun with its first game."""

    def __init__(self, games: Sequence[PlayedGame], crews: dict[str, Any] | None = None) -> None:
        super().__init__(Rules())
        self.games = games[:1]
        self.correct(crewBattle=crews or CREWS)
        self.games = games

    @property
    def scores(self) -> list[list[int]]:
        return [each["score"] for each in self.shown["games"]]

    @property
    def turns(self) -> list[list[tuple[int, int | None]]]:
        return [
            [(player["enteredStocks"], player.get("keptStocks")) for player in each["players"]]
            for each in self.shown["games"]
        ]


def test_winner_stays_with_the_remaining_stocks() -> None:
    battle = Battle(
        [
            game(1, (3, 0), names=("ANN", "BOB")),  # Bob's four stocks for one of Ann's
            game(2, (0, 2), names=("ANN", "CY")),  # Ann came with three; one of the four she lost on purpose
            game(3, (1, 0), names=("DI", "CY")),
        ]
    )
    assert battle.scores == [[7, 4], [4, 2], [1, 0]]
    assert battle.turns == [[(4, 3), (4, 0)], [(3, 0), (4, 2)], [(4, 1), (2, 0)]]
    shown = battle.shown
    assert shown["state"] == "over"
    assert shown["winner"] == RED
    assert [side["name"] for side in shown["sides"]] == ["Red", "Blue"]
    assert [side["score"] for side in shown["sides"]] == [1, 0]
    assert [player["name"] for player in shown["players"]] == ["DI", "CY"]
    assert [[player["name"] for player in each["players"]] for each in shown["games"]] == [
        ["ANN", "BOB"], ["ANN", "CY"], ["DI", "CY"],
    ]  # fmt: skip
    assert (shown["bestOf"], shown["winsNeeded"]) == (3, 0)
    assert shown["crewBattle"]["crews"][0] == {"name": "Red", "stocks": 8}


def test_new_players_continue_a_crew_battle_until_its_end() -> None:
    games = [game(n, (4, 0), names=("ANN", f"P{n}")) for n in (1, 2)]
    battle = Battle([*games, game(3, (2, 0), names=("ANN", "ZED"))])
    first, second = battle.payloads()
    assert (first["state"], first["score"]) == ("over", [8, 0])
    assert "crewBattle" not in second


def test_player_who_stays_may_change_the_port_with_a_name() -> None:
    battle = Battle(
        [game(1, (3, 0), names=("ANN", "BOB")), game(2, (4, 1), names=("CY", "ANN"), winner=1, ports=(0, 1))]
    )
    # Ann is on the right now, and won.
    assert battle.scores == [[7, 4], [5, 0]]
    assert [player["side"] for player in battle.shown["games"][-1]["players"]] == [1, 0]


def test_winner_who_forgot_to_lose_stocks_gains_none() -> None:
    battle = Battle([game(1, (1, 0)), game(2, (3, 0))])
    assert battle.scores == [[5, 4], [5, 0]]


def test_winner_of_a_sudden_death_keeps_a_stock() -> None:
    both_lost = game(1, (0, 0), winners=[], tied=True, sudden_deaths=[game(2, (1, 0))])
    battle = Battle([both_lost, game(3, (1, 0))])
    assert battle.scores == [[5, 4], [5, 0]]
    assert battle.turns == [[(4, 1), (4, 0)], [(1, 1), (4, 0)]]


def test_winner_named_by_the_operator_keeps_a_stock() -> None:
    battle = Battle([game(1, (0, 2))])
    battle.correct(games={f"{1:032x}": {"winner": 0}})
    assert battle.turns == [[(4, 1), (4, 0)]]
    battle.correct(games={f"{1:032x}": {"stocks": {"0": 3}}})
    assert battle.turns == [[(4, 3), (4, 0)]]
    battle.correct(games={f"{1:032x}": {"stocks": {"0": 0}}})
    assert battle.turns == [[(4, 0), (4, 0)]]


def test_loser_on_time_and_by_quitting_leaves() -> None:
    battle = Battle(
        [game(1, (2, 1), ending="time"), game(2, (3, 3), winner=1, ending="quit", quitter=0, duration_seconds=250.0)]
    )
    assert battle.scores == [[6, 4], [4, 3]]


def test_games_that_do_not_count_cost_nothing() -> None:
    handwarmer = game(2, (4, 3), ending="quit", quitter=1, duration_seconds=9.0)
    battle = Battle([game(1, (3, 0)), handwarmer, game(3, (2, 0))])
    assert battle.scores == [[7, 4], [7, 4], [6, 0]]
    assert battle.turns[1] == [(3, None), (4, None)]


def test_operator_corrects_a_miscounted_stock() -> None:
    battle = Battle([game(1, (3, 0)), game(2, (0, 4))])
    battle.correct(games={f"{1:032x}": {"stocks": {"0": 2}}})
    assert battle.scores == [[6, 4], [4, 4]]
    assert battle.shown["games"][0]["operator"] == {"stocks": {"0": 2}}
    battle.correct(games={f"{1:032x}": {"stocks": None}})
    assert battle.scores == [[7, 4], [4, 4]]
    battle.correct(score={"0": 5})
    assert battle.scores[-1] == [5, 4]
    with pytest.raises(ImpossibleCorrection, match="no player 3"):
        battle.correct(games={f"{1:032x}": {"stocks": {"3": 2}}})


def test_late_operator_makes_a_crew_battle_from_its_first_game() -> None:
    games = [game(1, (3, 0)), game(2, (0, 2)), game(3, (4, 0))]
    late = CorrectedGames(Rules(best_of=99))
    late.games = games[:2]
    late.correct(crewBattle=CREWS)
    late.games = games
    payload = late.shown
    assert [each["score"] for each in payload["games"]] == [[7, 4], [4, 2], [4, 0]]


def test_crew_battle_before_its_first_game() -> None:
    battle = CorrectedGames()
    battle.correct(crewBattle=CREWS)
    payload = battle.shown
    assert (payload["state"], payload["score"]) == ("upcoming", [8, 8])
    battle.games = [game(1, (3, 0), names=("ANN", "BOB"))]
    payload = battle.shown
    assert payload["score"] == [7, 4]


def test_sets_with_teams_or_more_sides_cannot_be_crew_battles() -> None:
    three = CorrectedGames()
    players = [Player(index=i, port=i + 1, stocks=i, start_stocks=4) for i in range(3)]
    three.games = [game(1, (1, 0), players=players)]
    with pytest.raises(ImpossibleCorrection, match="3 sides"):
        three.correct(crewBattle=CREWS)


def test_names_belong_to_the_player_whose_turn_it_was() -> None:
    battle = Battle([game(1, (3, 0))])
    battle.correct(names={"0": "Ann", "1": "Bob"})
    battle.games = [game(1, (3, 0)), game(2, (0, 2))]
    battle.correct(names={"1": "Cy"})
    battle.games = [*battle.games, game(3, (4, 0))]
    names = [[player.get("name") for player in each["players"]] for each in battle.shown["games"]]
    assert names == [["Ann", "Bob"], ["Ann", "Cy"], [None, "Cy"]]


def test_names_of_seats_belong_to_the_player_whose_turn_it_was() -> None:
    battle = Battle([game(1, (3, 0), in_progress=True)])
    battle.correct(seats={"0": {"name": "Ann"}, "1": {"name": "Bob"}})
    battle.games = [game(1, (3, 0)), game(2, (0, 2), names=("", "CY"))]
    names = [[player.get("name") for player in each["players"]] for each in battle.shown["games"]]
    assert names == [["Ann", "Bob"], ["Ann", "CY"]]


def test_changes_are_listed_and_undone() -> None:
    games = [game(1, (3, 0)), game(2, (0, 4))]

    def newest(corrections: Corrections) -> Set:
        return newest_set(games, corrections, Rules())

    patches: list[dict[str, Any]] = [{"crewBattle": CREWS}, {"games": {f"{2:032x}": {"stocks": {"1": 3}}}}]
    ledger = Ledger()
    for patch in patches:
        ledger = changed(ledger, msgspec.convert(patch, SetPatch), newest, at_ms=1)
    assert [(value.field, value.before, value.after) for change in ledger.changes for value in change.values] == [
        ("crewBattle", None, "Red 8 – Blue 8"), ("stocks", None, "P2: 3"),
    ]  # fmt: skip
    assert [side.score for side in newest(ledger.corrections).sides] == [4, 3]
    ledger = undone(ledger, 2, at_ms=2)
    assert [side.score for side in newest(ledger.corrections).sides] == [4, 4]
    ledger = undone(ledger, 1, at_ms=3)
    assert newest(ledger.corrections).crew_battle is None


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4)), max_size=40),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_stocks_add_up(results: list[tuple[int, int]], reds: int, blues: int, missing: int) -> None:
    """Every stock that a crew has lost was lost by one of its players in a game that counts."""
    stocks = [4 * reds - min(missing, 4 * reds - 1), 4 * blues]
    games = [game(n, (left, 0) if side == RED else (0, left)) for n, (side, left) in enumerate(results, 1)]
    crews = {"crews": [{"stocks": stocks[0]}, {"stocks": stocks[1]}]}
    if not games:
        return
    payload = Battle(games, crews).payloads()[0]
    lost = [0, 0]
    carried: list[int | None] = [None, None]
    for number, each in enumerate(payload["games"], 1):
        for player in each["players"]:
            side, entered, kept = player["side"], player["enteredStocks"], player["keptStocks"]
            assert 0 <= kept <= entered <= 4
            assert carried[side] is None or entered == carried[side]
            lost[side] += entered - kept
            carried[side] = kept or None
        assert each["score"] == [stocks[0] - lost[0], stocks[1] - lost[1]]
        assert min(each["score"]) >= 0
        assert (0 in each["score"]) == (number == len(payload["games"]) and payload["state"] == "over")
    assert len(payload["games"]) <= payload["bestOf"]
    assert [side["score"] for side in payload["sides"]] == payload["games"][-1]["score"]
