"""Matching of people between the games of a set: no name and no point goes to another person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from slpstream.sets import PlayedGame, Player, Rules
from tests.sets.games import CorrectedGames, played

RED, BLUE = 0, 1


def doubles(number: int, reds: Mapping[int, str], blues: Mapping[int, str], kind: str = "tag") -> PlayedGame:
    """A game that the red team wins. The teams have names of this kind by player index. An empty text is no name."""
    players = [
        Player(index=index, port=index + 1, team=team, start_stocks=4, stocks=1, **({kind: name} if name else {}))  # type: ignore[arg-type]
        for team, names in ((RED, reds), (BLUE, blues))
        for index, name in names.items()
    ]
    return played(number, players=players, is_teams=True, winner=next(iter(reds)))


def station_with(*games: PlayedGame) -> CorrectedGames:
    station = CorrectedGames(Rules(best_of=5))
    station.games = games
    return station


def scores_by_name(station: CorrectedGames) -> dict[str | None, int]:
    """The score of each person's side in the newest set."""
    return {player["name"]: player["score"] for player in station.payloads()[-1]["players"]}


@pytest.mark.parametrize("kind", ["connect_code", "netplay_name", "tag"])
@pytest.mark.parametrize("missing", [(), ("DDD",), ("BBB", "DDD")], ids=["all", "one-without", "two-without"])
def test_partners_who_change_begin_another_set(kind: str, missing: Sequence[str]) -> None:
    def team(*people: str) -> dict[int, str]:
        return {"ABCD".index(name[0]): "" if name in missing else name for name in people}

    first = doubles(0, team("AAA", "BBB"), team("CCC", "DDD"), kind)
    same = doubles(1, team("CCC", "DDD"), team("AAA", "BBB"), kind)
    others = doubles(2, team("AAA", "CCC"), team("BBB", "DDD"), kind)
    assert [len(each.games) for each in station_with(first, same, others).sets()] == [2, 1]


def test_partners_may_change_ports() -> None:
    station = station_with(
        doubles(0, {0: "AAA", 1: "BBB"}, {2: "CCC", 3: "DDD"}), doubles(1, {2: "BBB", 0: "AAA"}, {1: "DDD", 3: "CCC"})
    )
    station.games = (*station.games, doubles(2, {0: "DDD", 1: ""}, {2: "", 3: "AAA"}))
    assert scores_by_name(station) == {"AAA": 2, "BBB": 2, "CCC": 1, "DDD": 1}


def test_partners_without_names_are_known_by_their_ports() -> None:
    nobody = ""
    first = doubles(0, {0: nobody, 1: nobody}, {2: nobody, 3: nobody})
    assert len(station_with(first, doubles(1, {2: nobody, 3: nobody}, {0: nobody, 1: nobody})).sets()) == 1
    assert len(station_with(first, doubles(1, {0: nobody, 2: nobody}, {1: nobody, 3: nobody})).sets()) == 2


def _as_names(names: Mapping[int, str]) -> dict[str, Any]:
    return {"names": {str(index): name for index, name in names.items()}}


def _as_seats(names: Mapping[int, str]) -> dict[str, Any]:
    return {"seats": {str(index): {"name": name} for index, name in names.items()}}


@pytest.mark.parametrize("given", [_as_names, _as_seats], ids=["operator", "seats"])
def test_names_that_are_given_keep_people_on_their_side(given: Callable[[Mapping[int, str]], dict[str, Any]]) -> None:
    station = CorrectedGames(Rules(best_of=5))

    def play(*games: PlayedGame, names: Mapping[int, str]) -> None:
        *finished, newest = games
        running = msgspec.structs.replace(newest, in_progress=True, reason=None, ending=None, winners=[])
        station.games = (*finished, running)
        station.correct(**given(names))
        station.games = games

    first = doubles(0, {0: "", 1: ""}, {2: "", 3: ""})
    play(first, names={0: "Ann", 1: "Bob", 2: "Cyd", 3: "Dee"})
    second = doubles(1, {0: "", 2: ""}, {1: "", 3: ""})
    station.games = (first, second)
    assert len(station.sets()) == 2, "the ports of Bob and Cyd are on other sides"
    play(first, second, names={0: "Ann", 1: "Cyd", 2: "Bob", 3: "Dee"})
    assert len(station.sets()) == 1, "Bob and Cyd have changed ports"
    assert scores_by_name(station) == {"Ann": 2, "Bob": 2, "Cyd": 0, "Dee": 0}
    station.games = (first, doubles(1, {0: "", 1: ""}, {2: "", 3: ""}))
    assert len(station.sets()) == 2, "the ports have not changed, but Bob and Cyd have"


def test_operators_name_stays_with_its_person_when_another_arrives() -> None:
    """A player without a tag could be any person, but a player with another tag is another person."""
    station = station_with(played(0, "AAA", ""))
    station.correct(names={"0": "Annabel"})
    station.games = (*station.games, played(1, "CCC", ""))
    assert [[player.get("name") for player in payload["players"]] for payload in station.payloads()] == [
        ["Annabel", None],
        ["CCC", None],
    ]
    station.games = (station.games[0], played(1, "", "CCC"))
    assert scores_by_name(station) == {"Annabel": 2, "CCC": 0}


def test_name_goes_to_the_partner_without_a_tag() -> None:
    """Only one of the two players at the other ports can be BBB, in either order."""
    station = station_with(doubles(0, {0: "AAA", 1: "BBB"}, {2: "CCC", 3: ""}))
    station.correct(names={"1": "Bobby"})
    station.games = (*station.games, doubles(1, {0: "", 1: "AAA"}, {2: "DDD", 3: "CCC"}))
    names = {player["port"]: player["name"] for player in station.shown["players"]}
    assert names == {1: "Bobby", 2: "AAA", 3: "DDD", 4: "CCC"}


def test_names_stay_with_people_when_the_operator_joins_other_partners_to_a_set() -> None:
    station = station_with(
        doubles(0, {0: "AAA", 1: "BBB"}, {2: "CCC", 3: "DDD"}), doubles(1, {0: "AAA", 2: "CCC"}, {1: "BBB", 3: "DDD"})
    )
    station.games, later = station.games[:1], station.games[1]
    station.correct(names={"1": "Bobby", "2": "Cydney"}, score={"1": 3})
    station.games = (*station.games, later)
    station.correct(games={later.game_id: {"beginsSet": False}})
    assert {player["port"]: player["name"] for player in station.shown["players"]} == {
        1: "AAA",
        2: "Bobby",
        3: "Cydney",
        4: "DDD",
    }
    assert [side["players"] for side in station.shown["sides"]] == [[0, 2], [3, 1]]
    station.correct(score={"0": 1})
    assert [side["score"] for side in station.shown["sides"]] == [1, 0], "the older correction is replaced"


def test_seat_shows_whose_turn_it_is_in_a_crew_battle() -> None:
    station = station_with(played(0))
    station.correct(crewBattle={"crews": [{"name": "Reds", "stocks": 8}, {"name": "Blues", "stocks": 8}]})
    station.correct(seats={"0": {"name": "Ann"}, "1": {"name": "Bob"}})
    station.games = (*station.games, played(1, in_progress=True, reason=None, ending=None, winner=None))
    station.correct(seats={"0": {"name": "Cyd"}, "1": {"name": "Ann"}})
    assert [side["players"] for side in station.shown["sides"]] == [[1], [0]], "Ann has stayed and is a Red"
