"""Matching of played sets with sets of the bracket, and of sides with entrants."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from slpstream.parts.bracket.interface import BracketSet, BracketStation, Entrant, Participant, SetState
from slpstream.parts.bracket.matching import KnownSets, Match, Rule, match, sides_of, stations_here
from slpstream.parts.bracket.played import Played, PlayedPlayer

HERE = {"501": "wii-1"}


def entrant(*participants: Participant) -> Entrant:
    return Entrant(f"e-{participants[0].name}", " / ".join(each.name for each in participants), participants)


def bracket_set(
    id: str, one: Entrant | None, other: Entrant | None, state: SetState = "open", station: str | None = None
) -> BracketSet:
    at = None if station is None else BracketStation(station)
    return BracketSet(id=id, state=state, entrants=(one, other), station=at)


def played(one: Sequence[PlayedPlayer], other: Sequence[PlayedPlayer]) -> Played:
    return Played(over=False, score=(0, 0), best_of=3, players=(tuple(one), tuple(other)))


def named(name: str, sponsor: str = "", code: str = "") -> PlayedPlayer:
    return PlayedPlayer(name=name, sponsor=sponsor, connect_code=code)


def found(what: Played, *sets: BracketSet, taken: Sequence[str] = (), rule: Rule = "players") -> Match:
    return match(what, KnownSets(sets, HERE), "wii-1", taken, rule)


MANGO = Participant("Mango", "C9")
ZAIN = Participant("Zain", "GG", connect_code="ZAIN#0")
SET = bracket_set("1", entrant(MANGO), entrant(ZAIN))


@pytest.mark.parametrize(
    "mango",
    [named("mango"), named(" C9  |  MANGO "), named("Mango", "C9"), named("C9 Mango"), named("Mango", "Cloud 9")],
)
def test_names_with_and_without_prefix(mango: PlayedPlayer) -> None:
    assert found(played([mango], [named("Zain")]), SET) == Match(SET)
    assert found(played([named("Zain")], [mango]), SET) == Match(SET, swapped=True)


def test_connect_code_wins_over_names() -> None:
    assert found(played([named("some tag", code="zain#0")], [named("Mango")]), SET) == Match(SET, swapped=True)
    other = found(played([named("Zain", code="OTHR#1")], [named("Mango")]), SET)
    assert other.found is None


def test_doubles_in_any_order() -> None:
    teams = bracket_set("2", entrant(MANGO, Participant("Lucky")), entrant(ZAIN, Participant("Aklo")))
    what = played([named("aklo"), named("zain")], [named("mango"), named("lucky")])
    assert found(what, teams) == Match(teams, swapped=True)
    mixed = played([named("mango"), named("zain")], [named("aklo"), named("lucky")])
    assert found(mixed, teams).found is None
    assert found(played([named("Mango")], [named("Zain")]), teams).found is None


def test_several_sets_need_a_decision_unless_one_is_here_or_begun() -> None:
    what = played([named("Mango")], [named("Zain")])
    again = bracket_set("2", entrant(ZAIN), entrant(MANGO))
    assert found(what, SET, again).candidates == ("1", "2")
    here = bracket_set("3", entrant(ZAIN), entrant(MANGO), station="501")
    assert found(what, SET, here).found == here
    called = bracket_set("4", entrant(ZAIN), entrant(MANGO), "called")
    assert found(what, SET, called).found == called
    assert found(what, SET, again, taken=["2"]).found == SET


def test_completed_and_incomplete_sets_are_not_candidates() -> None:
    what = played([named("Mango")], [named("Zain")])
    done = bracket_set("1", entrant(MANGO), entrant(ZAIN), "done")
    half = bracket_set("2", entrant(MANGO), None)
    assert found(what, done, half) == Match(why="no set of the bracket has these players")


def test_rule_called_ignores_uncalled_sets() -> None:
    what = played([named("Mango")], [named("Zain")])
    assert found(what, SET, rule="called").found is None
    running = bracket_set("1", entrant(MANGO), entrant(ZAIN), "running")
    assert found(what, running, rule="called").found == running


def test_one_known_name_is_enough_only_at_the_station() -> None:
    what = played([PlayedPlayer()], [named("Mango")])
    assert found(what, SET).found is None
    here = bracket_set("1", entrant(MANGO), entrant(ZAIN), station="501")
    assert found(what, here) == Match(here, swapped=True)
    stranger = played([named("Nobody")], [named("Mango")])
    assert found(stranger, here).found is None
    assert found(stranger, here).candidates == ("1",)


def test_same_name_on_both_sides_needs_a_decision() -> None:
    twins = bracket_set("1", entrant(Participant("Alex")), entrant(Participant("Alex")), station="501")
    assert found(played([named("Alex")], [PlayedPlayer()]), twins).candidates == ("1",)
    alex = entrant(Participant("Alex"))
    assert sides_of(played([named("Alex")], [named("Alex")]), (alex, alex)) == "unclear"


@pytest.mark.parametrize(
    ("one", "other", "sides"),
    [
        (named("Mango"), named("Zain"), "same"),
        (named("Zain"), named("Mango"), "swapped"),
        (named("Mango"), PlayedPlayer(), "same"),
        (PlayedPlayer(), named("Mango"), "swapped"),
        (PlayedPlayer(), PlayedPlayer(), "unclear"),
        (named("Mango"), named("Lucky"), "others"),
        (named("Aklo"), named("Lucky"), "others"),
    ],
)
def test_which_side_is_which_entrant(one: PlayedPlayer, other: PlayedPlayer, sides: str) -> None:
    assert sides_of(played([one], [other]), (entrant(MANGO), entrant(ZAIN))) == sides


def test_crews_are_matched_by_their_names() -> None:
    """Their players change from game to game, and the entrants list all of them."""
    red = Entrant("1", "Red Crew", tuple(Participant(f"r{number}") for number in range(5)))
    blue = Entrant("2", "Blue Crew", tuple(Participant(f"b{number}") for number in range(5)))
    crews = bracket_set("1", red, blue)
    what = msgspec.structs.replace(played([named("b3")], [named("r1")]), crews=("blue crew", "Red  Crew"))
    assert found(what, crews) == Match(crews, swapped=True)
    other = msgspec.structs.replace(what, crews=("blue crew", "Green Crew"))
    assert found(other, crews).found is None


def test_set_in_progress_elsewhere_needs_a_decision() -> None:
    what = played([named("Mango")], [named("Zain")])
    known = KnownSets([SET], HERE)
    moved = match(what, known, "wii-1", ["1"], "players", elsewhere={"1": "wii-2"})
    assert moved == Match(candidates=("1",), why="it began on wii-2")
    others = played([named("Aklo")], [named("Lucky")])
    assert match(others, known, "wii-1", ["1"], "players", elsewhere={"1": "wii-2"}).candidates == ()


def test_stations_by_number_name_and_configuration() -> None:
    ours = {"wii-1": "wii-1", "wii-2": "Stage", "north": "Setup 3", "south": "Other"}
    theirs = [
        BracketStation("a", 1),
        BracketStation("b", 9, "stage"),
        BracketStation("c", 3),
        BracketStation("d", 4, "4"),
        BracketStation("e", 7),
    ]
    assert stations_here(theirs, ours, {"4": "south"}) == {"a": "wii-1", "b": "wii-2", "c": "north", "d": "south"}
    assert stations_here([BracketStation("a", 1)], {"left-1": "x", "right-1": "y"}, {}) == {}
