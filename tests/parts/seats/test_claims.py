"""Seats of a station during complete sets: the claims, and the names in the set."""

from __future__ import annotations

import pytest

from slpstream.parts.seats.claims import SeatTaken
from tests.parts.seats.station import Station


def ann_and_bob(best_of: int = 3) -> Station:
    """A station at whose first two ports Ann and Bob sit."""
    station = Station(best_of)
    station.claim("a", 1, "Ann")
    station.claim("b", 2, "Bob")
    return station


def test_other_ports_than_the_usual_ones() -> None:
    station = Station()
    station.claim("a", 1, "Ann")
    station.claim("d", 4, "Dan")
    assert station.shown == {1: "Ann", 4: "Dan"}
    assert len(station.payload["players"]) == 2, "the unnamed port 2 makes room"
    station.begin(1, 4)
    assert station.shown == {1: "Ann", 4: "Dan"}


def test_name_is_at_one_port_only() -> None:
    station = Station()
    station.claim("a", 1, "Ann")
    with pytest.raises(SeatTaken, match="Ann sits at port 1"):
        station.claim("b", 2, " ANN ")
    station.claim("b", 2, "Ann", take_over=True)
    assert station.shown == {2: "Ann"}


def test_swap_between_games_waits_for_the_next_game_and_keeps_the_score() -> None:
    station = ann_and_bob(best_of=5)
    station.play(winner=1)
    station.swap("a", 2)
    assert station.claimed == {1: "Bob", 2: "Ann"}
    assert station.scores == {"Ann": 1, "Bob": 0}
    assert station.shown == {1: "Ann", 2: "Bob"}, "the score is that of the last game's ports"
    station.begin(1, 2)
    assert station.shown == {1: "Bob", 2: "Ann"}
    assert station.scores == {"Ann": 1, "Bob": 0}
    station.end(winner=2)
    assert station.scores == {"Ann": 2, "Bob": 0}
    station.play(winner=1)
    assert station.scores == {"Ann": 2, "Bob": 1}


def test_seats_follow_players_whom_the_set_recognises() -> None:
    station = Station(best_of=5)
    station.begin(1, 2, tags={1: "AA", 2: "BB"})
    station.claim("a", 1, "Ann")
    station.claim("b", 2, "Bob")
    station.end(winner=1)
    station.begin(1, 2, tags={1: "BB", 2: "AA"})
    assert station.claimed == station.shown == {1: "Bob", 2: "Ann"}
    assert station.scores == {"Ann": 1, "Bob": 0}


def test_seats_follow_players_to_ports_that_nobody_claimed() -> None:
    station = ann_and_bob(best_of=5)
    station.play(winner=2)
    station.begin(1, 3)
    assert station.claimed == station.shown == {1: "Ann", 3: "Bob"}
    assert station.scores == {"Ann": 0, "Bob": 1}


def test_operators_name_wins_until_it_is_withdrawn() -> None:
    station = Station()
    station.claim("a", 1, "Ann")
    station.correct(names={"0": "Zoe"})
    assert (station.shown, station.claimed) == ({1: "Zoe"}, {1: "Ann"})
    station.claim("b", 2, "Bob")
    station.begin(1, 2)
    assert station.shown == {1: "Zoe", 2: "Bob"}
    station.correct(names={"0": None})
    assert station.shown == {1: "Ann", 2: "Bob"}


def test_operators_name_leaves_nobody_with_two_seats() -> None:
    """Somebody changes ports between two games, and then the operator names this port."""
    station = Station()
    station.play(1, 1, 2, 3, 4)
    station.claim("ann", 1)
    station.claim("ann", 4)
    station.begin(1, 2, 3, 4)
    assert station.shown == {4: "ann"}
    station.correct(names={"3": "Zoe"})
    assert station.shown == {4: "Zoe"}
    assert station.now.seated == {3: "ann"}


def test_operator_removes_a_phones_name() -> None:
    station = Station()
    station.claim("a", 1, "Rude")
    station.claim("b", 2, "Bob")
    station.correct(names={"0": None})
    assert (station.shown, station.claimed) == ({2: "Bob"}, {2: "Bob"})
    station.begin(1, 2)
    assert station.shown == {2: "Bob"}


def test_details_are_shown_unless_the_operator_names_another_person() -> None:
    station = Station()
    station.correct(seats={"0": {"name": "Ann", "sponsor": "GG", "pronouns": "she/her"}})
    assert (station.payload["players"][0]["sponsor"], station.payload["players"][0]["pronouns"]) == ("GG", "she/her")
    station.correct(names={"0": "Zoe"})
    assert "sponsor" not in station.payload["players"][0]
    station.correct(names={"0": "ann"}, players={"0": {"sponsor": "XX"}})
    assert (station.payload["players"][0]["sponsor"], station.payload["players"][0]["pronouns"]) == ("XX", "she/her")


def test_leaving_keeps_the_name_after_the_set() -> None:
    station = ann_and_bob(best_of=1)
    station.play(winner=1)
    assert station.payload["state"] == "over"
    station.leave("b")
    assert (station.shown, station.claimed) == ({1: "Ann", 2: "Bob"}, {1: "Ann"})


def test_first_claim_of_other_people_after_a_set_frees_the_seats() -> None:
    station = ann_and_bob(best_of=1)
    station.play(winner=1)
    station.claim("a", 1, "Ann")  # the phone asks again: no new set
    assert station.payload["state"] == "over"
    station.claim("c", 2, "Cyd")
    assert (station.payload["state"], station.shown) == ("upcoming", {2: "Cyd"})
    station.claim("a", 1, "Ann")
    assert station.shown == {1: "Ann", 2: "Cyd"}
    station.play(winner=2)
    assert station.scores == {"Ann": 0, "Cyd": 1}


def test_new_set_by_the_operator_frees_the_seats() -> None:
    station = Station(best_of=5)
    station.claim("a", 1, "Ann")
    station.play(winner=1)
    station.correct(newSet=True)
    assert (station.shown, station.claimed) == ({}, {})


def test_name_can_be_corrected_by_its_phone_at_any_time() -> None:
    station = Station(best_of=1)
    station.claim("a", 1, "An")
    station.claim("b", 2, "Bob")
    station.play(winner=1)
    station.claim("a", 1, "Ann")
    assert (station.payload["state"], station.scores) == ("over", {"Ann": 1, "Bob": 0})
    with pytest.raises(SeatTaken):
        station.claim("a", 1, "Bob")


def test_other_people_at_all_ports_of_an_unfinished_set_begin_a_new_one() -> None:
    station = ann_and_bob(best_of=5)
    station.play(winner=1)
    station.claim("c", 1, "Cyd", take_over=True)
    assert station.scores == {"Ann": 1, "Bob": 0}
    station.claim("d", 2, "Dan", take_over=True)
    assert (station.payload["state"], station.shown) == ("upcoming", {1: "Cyd", 2: "Dan"})


def test_seats_become_free_after_inactivity() -> None:
    station = Station(best_of=1)
    station.claim("a", 1, "Ann")
    station.wait(29)
    assert station.shown == {1: "Ann"}
    station.wait(2)
    assert (station.shown, station.claimed) == ({}, {})
    station.claim("a", 1, "Ann")
    station.claim("b", 2, "Bob")
    station.begin(1, 2)
    station.wait(60)
    assert station.claimed == {1: "Ann", 2: "Bob"}, "a game is played"
    station.end(winner=1)
    station.wait(31)
    assert (station.shown, station.claimed) == ({1: "Ann", 2: "Bob"}, {}), "the result keeps its names"


@pytest.mark.parametrize(("minutes", "ports"), [(60, (1, 2)), (0, (1, 2, 3, 4))])
def test_names_after_test_games_are_those_of_the_next_set(minutes: float, ports: tuple[int, ...]) -> None:
    """The next set begins with another number of ports, or after a break."""
    station = Station(best_of=5)
    station.play(1, *ports)
    station.wait(minutes)
    station.claim("a", 1, "Ann")
    station.claim("b", 2, "Bob")
    station.claim("b", 2, "Bobby")
    assert station.shown == {1: "Ann", 2: "Bobby"}
    station.begin(1, 2)
    assert station.claimed == station.shown == {1: "Ann", 2: "Bobby"}
    assert station.record == [{}, {1: "Ann", 2: "Bobby"}]
    station.end(winner=2)
    assert station.scores == {"Ann": 0, "Bobby": 1}
    station.play(1, 1, 2, 3)
    assert (station.claimed, station.record) == ({}, [{}, {1: "Ann", 2: "Bobby"}, {}]), "they have played their set"


def test_late_names_belong_to_the_unfinished_set() -> None:
    station = Station(best_of=5)
    station.play(winner=1)
    station.claim("a", 1, "Ann")
    station.claim("b", 2, "Bob")
    station.play(winner=1)
    station.begin(1, 2, 3)
    assert (station.claimed, station.record) == ({}, [{1: "Ann", 2: "Bob"}, {}])


def test_operator_divides_the_games_differently() -> None:
    station = ann_and_bob(best_of=5)
    station.play(winner=1)
    station.play(winner=1)
    station.correct(games={f"{1:032x}": {"beginsSet": True}})
    assert (station.shown, station.claimed) == ({}, {}), "a separate set belongs to other people"
    station.claim("c", 1, "Cyd")
    station.correct(games={f"{1:032x}": {"beginsSet": False}})
    assert station.claimed == {1: "Cyd"}, "the game is the same"


CREWS = {"crews": [{"name": "Red", "stocks": 8}, {"name": "Blue", "stocks": 8}]}


def _turns(station: Station) -> list[list[str | None]]:
    """The names in each game of a crew battle."""
    return [[player.get("name") for player in game["players"]] for game in station.payload["games"]]


def test_next_player_of_a_crew_without_a_claim_has_no_name() -> None:
    station = Station()
    station.correct(crewBattle=CREWS)
    station.claim("a", 1, "Ann")
    station.claim("b", 2, "Bob")
    station.play(winner=1)
    station.begin(1, 2)
    assert station.claimed == station.shown == {1: "Ann"}
    assert _turns(station) == [["Ann", "Bob"], ["Ann", None]]
    station.claim("c", 2, "Cyd")
    assert station.claimed == station.shown == {1: "Ann", 2: "Cyd"}


def test_next_player_of_a_crew_taps_between_the_games() -> None:
    station = Station()
    station.correct(crewBattle=CREWS)
    station.claim("a", 1, "Ann")
    station.claim("b", 2, "Bob")
    station.play(winner=1)
    station.claim("c", 2, "Cyd", take_over=True)
    assert station.shown == {1: "Ann", 2: "Bob"}
    station.play(winner=2)
    station.begin(1, 2)
    assert station.claimed == station.shown == {2: "Cyd"}
    assert _turns(station) == [["Ann", "Bob"], ["Ann", "Cyd"], [None, "Cyd"]]
