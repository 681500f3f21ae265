"""Seats in sets: names that people entered for themselves. The operator's names take precedence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import pytest

from slpstream.sets import (
    Corrections,
    ImpossibleCorrection,
    Ledger,
    PlayedGame,
    Player,
    Rules,
    SetPatch,
    changed,
    corrected,
    newest_set,
    score_of,
    sets_of,
    undone,
)
from slpstream.sets.changes import MAX_SEAT_CHANGES, decode, encode
from tests.sets.games import played

RULES = Rules(best_of=5)


def game(number: int, *ports: int, in_progress: bool = False) -> PlayedGame:
    players = [Player(index=port - 1, port=port, start_stocks=4) for port in ports]
    running: dict[str, Any] = {"in_progress": True, "reason": None, "ending": None, "duration_seconds": None}
    return played(
        number, winner=None if in_progress else ports[0] - 1, players=players, **running if in_progress else {}
    )


def after(games: Sequence[PlayedGame], patch: Any, corrections: Corrections | None = None) -> Corrections:
    newest = partial(newest_set, games, rules=RULES)
    return corrected(corrections or Corrections(), msgspec.convert(patch, SetPatch), newest)


def shown(games: Sequence[PlayedGame], corrections: Corrections) -> dict[int, tuple[str | None, int]]:
    """Names and scores by port."""
    score = score_of(newest_set(games, corrections, RULES), corrections)
    return {player.port: (player.name, player.score) for player in score.players}


def test_next_set_has_players_at_named_ports() -> None:
    games = [game(1, 1, 2)]
    corrections = after(games, {"newSet": True, "seats": {"2": {"name": "Ann"}}})
    assert shown(games, corrections) == {1: (None, 0), 3: ("Ann", 0)}
    corrections = after(games, {"names": {"3": "Dan"}}, corrections)
    assert shown(games, corrections) == {3: ("Ann", 0), 4: ("Dan", 0)}
    games.append(game(2, 3, 4))
    assert shown(games, corrections) == {3: ("Ann", 1), 4: ("Dan", 0)}


def test_further_people_join_the_next_set() -> None:
    corrections = after([], {"names": {"0": "Ann", "1": "Bob", "2": "Cyd"}})
    assert shown([], corrections) == {1: ("Ann", 0), 2: ("Bob", 0), 3: ("Cyd", 0)}


def test_set_that_has_begun_has_no_players_at_other_ports() -> None:
    with pytest.raises(ImpossibleCorrection, match="no player 2 in this set"):
        after([game(1, 1, 2)], {"seats": {"2": {"name": "Ann"}}})


def test_score_follows_seats_that_change_ports() -> None:
    games = [game(1, 1, 2)]
    corrections = after(games, {"seats": {"0": {"name": "Ann"}, "1": {"name": "Bob"}}})
    games.append(game(2, 1, 2, in_progress=True))
    corrections = after(games, {"seats": {"0": {"name": "Bob"}, "1": {"name": "Ann"}}}, corrections)
    assert shown(games, corrections) == {1: ("Bob", 0), 2: ("Ann", 1)}


def test_operators_name_follows_the_person_in_the_seat() -> None:
    games = [game(1, 1, 2)]
    corrections = after(games, {"names": {"0": "Zoe"}, "seats": {"0": {"name": "Ann"}, "1": {"name": "Bob"}}})
    assert shown(games, corrections) == {1: ("Zoe", 1), 2: ("Bob", 0)}
    games.append(game(2, 1, 2, in_progress=True))
    corrections = after(games, {"seats": {"0": {"name": "Bob"}, "1": {"name": "Ann"}}}, corrections)
    assert shown(games, corrections) == {1: ("Bob", 0), 2: ("Zoe", 1)}


def names_in_sets(games: Sequence[PlayedGame], corrections: Corrections) -> list[list[str | None]]:
    scores = [score_of(each, corrections) for each in sets_of(games, corrections, RULES)]
    return [[player.name for player in score.players] for score in scores]


def test_seats_taken_between_games_belong_to_a_continued_set() -> None:
    games = [game(1, 1, 2)]
    corrections = after(games, {"seats": {"0": {"name": "Ann"}, "1": {"name": "Bob"}}})
    assert shown(games, corrections) == {1: ("Ann", 1), 2: ("Bob", 0)}
    assert shown([*games, game(2, 1, 2)], corrections) == {1: ("Ann", 2), 2: ("Bob", 0)}
    assert names_in_sets([*games, game(2, 1, 2, 3)], corrections) == [[None, None], [None, None, None]]
    assert names_in_sets([*games, game(20, 1, 2)], corrections) == [[None, None], [None, None]], "after a break"


def test_operator_who_begins_a_set_takes_no_seats_from_the_old_one() -> None:
    games = [game(1, 1, 2)]
    corrections = after(games, {"seats": {"0": {"name": "Ann"}}})
    games.append(game(2, 1, 2))
    divided = after(games, {"games": {games[1].game_id: {"beginsSet": True}}}, corrections)
    assert names_in_sets(games, divided) == [["Ann", None], [None, None]]
    announced = after(games[:1], {"newSet": True}, corrections)
    assert names_in_sets(games, announced) == [["Ann", None], [None, None]]


def test_seats_that_were_taken_during_a_game_stay_when_another_set_begins() -> None:
    playing = game(1, 1, 2, in_progress=True)
    corrections = after([playing], {"seats": {"0": {"name": "Ann"}}})
    games = [game(1, 1, 2)]
    corrections = after(games, {"seats": {"0": {"name": "Anna"}}}, corrections)
    corrections = after(games, {"seats": {"1": {"name": "Bob"}}}, corrections)
    assert shown(games, corrections) == {1: ("Anna", 1), 2: ("Bob", 0)}
    assert names_in_sets([*games, game(2, 1, 2, 3)], corrections)[0] == ["Anna", None]
    emptied = after(games, {"seats": {"1": None}}, corrections)
    assert shown(games, emptied) == {1: ("Anna", 1), 2: (None, 0)}


def test_claim_is_a_change_that_can_be_undone() -> None:
    games = [game(1, 1, 2)]
    newest = partial(newest_set, games, rules=RULES)
    patch = msgspec.convert({"seats": {"0": {"name": "Ann", "sponsor": "GG"}}}, SetPatch)
    ledger = changed(Ledger(), patch, newest, at_ms=1, by="phone: Ann")
    [change] = ledger.changes
    assert (change.by, change.values[0].field, change.values[0].after) == ("phone: Ann", "name", "Ann")
    assert decode(encode(ledger)) == ledger
    assert undone(ledger, 1, at_ms=2).corrections == Corrections()
    removed = changed(ledger, msgspec.convert({"seats": None}, SetPatch), newest, at_ms=2)
    assert removed.corrections == Corrections()


@pytest.mark.parametrize("games", [[], [game(1, 1, 2)]], ids=["before", "between"])
def test_phones_do_not_displace_changes_by_operators(games: Sequence[PlayedGame]) -> None:
    newest = partial(newest_set, games, rules=RULES)
    ledger = changed(Ledger(), SetPatch(best_of=7), newest, at_ms=1, by="Olga")
    for number in range(MAX_SEAT_CHANGES + 20):
        patch = msgspec.convert({"seats": {"0": {"name": f"Eve {number}"}}}, SetPatch)
        ledger = changed(ledger, patch, newest, at_ms=2, by="phone: Eve")
    assert len(ledger.changes) == MAX_SEAT_CHANGES + 1
    assert ledger.changes[0].by == "Olga"
    assert undone(ledger, 1, at_ms=3).changes[-1].undoes == 1
