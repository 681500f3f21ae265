"""The rules of sets one by one: verdicts, matching of players, corrections."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from slpstream.model.summary import GameSummary, IndexedGame, PlayerSummary
from slpstream.sets import (
    ImpossibleCorrection,
    PlayedGame,
    Player,
    Rules,
    newest_set,
    played_games,
    score_of,
    since_break,
)
from slpstream.sets.corrections import NOTHING, Corrections, GameCorrection
from slpstream.sets.patches import MAX_KEPT
from slpstream.sets.verdicts import judge
from tests.sets.games import MINUTE_MS, CorrectedGames, people, played


def station_with(*games: PlayedGame) -> CorrectedGames:
    station = CorrectedGames()
    station.games = games
    return station


def scores(station: CorrectedGames) -> list[int]:
    return [side.score for side in station.set.sides]


QUIT: dict[str, Any] = {"ending": "quit", "quitter": 1}
CPU = [Player(index=0, port=1), Player(index=1, port=2, human=False)]


def test_break_is_measured_by_arrival_if_known() -> None:
    """The console's clock jumps by hours between the games, or hides a break."""
    hours = 240 * MINUTE_MS
    first = played(0, arrived_at_ms=0, said_at_ms=hours)
    assert len(station_with(first, played(1, arrived_at_ms=5 * MINUTE_MS, said_at_ms=3 * hours)).sets()) == 1
    assert len(station_with(first, played(1, arrived_at_ms=hours, said_at_ms=hours + 5 * MINUTE_MS)).sets()) == 2
    assert len(station_with(first, played(1, said_at_ms=hours + 5 * MINUTE_MS)).sets()) == 1


def test_replay_copied_in_during_a_game_counts_with_its_own_time() -> None:
    """The file was just written, after the game in progress began to arrive."""
    day = 24 * 60 * MINUTE_MS
    current = played(1, arrived_at_ms=day, written_at_ms=day, reason=None, in_progress=True)
    copied = played(0, said_at_ms=0, written_at_ms=day + MINUTE_MS)
    assert len(station_with(copied, current).sets()) == 2
    before = played(0, said_at_ms=0, written_at_ms=day - MINUTE_MS)
    assert len(station_with(before, current).sets()) == 1, "before this daemon, with a console's clock that is slow"


@pytest.mark.parametrize(
    ("values", "correction", "verdict"),
    [
        ({}, NOTHING, "counted"),
        ({"winner": None}, NOTHING, "no_winner"),
        ({"ending": "time"}, NOTHING, "counted"),
        ({"winners": [0, 1]}, NOTHING, "no_winner"),
        ({"winners": [3]}, NOTHING, "no_winner"),
        (QUIT, NOTHING, "counted"),
        (QUIT | {"quitter": None}, NOTHING, "counted"),
        (QUIT | {"winner": None}, NOTHING, "no_winner"),
        (QUIT | {"duration_seconds": 29.9}, NOTHING, "handwarmer"),
        (QUIT | {"duration_seconds": None}, NOTHING, "handwarmer"),  # without a frame
        (QUIT | {"duration_seconds": None, "players": people("", "", stocks=2, percent=7.0)}, NOTHING, "counted"),
        (QUIT | {"players": people("", "", stocks=3)}, NOTHING, "handwarmer"),
        (QUIT | {"players": people("", "", stocks=2)}, NOTHING, "counted"),
        (QUIT | {"players": people("", "", stocks=None)}, NOTHING, "counted"),
        (QUIT | {"players": people("", "", stocks=1, start_stocks=1)}, NOTHING, "counted"),
        ({"players": CPU}, NOTHING, "with_cpu"),
        ({"ending": None, "reason": "incomplete"}, NOTHING, "unfinished"),
        ({"ending": None, "reason": None}, NOTHING, "unfinished"),
        ({"reason": "error"}, NOTHING, "unfinished"),
        ({"in_progress": True, "reason": None, "ending": None}, NOTHING, "playing"),
        ({}, GameCorrection(counts=False), "not_counted_by_operator"),
        ({"in_progress": True, "reason": None}, GameCorrection(counts=True), "playing"),
        ({"in_progress": True, "reason": None}, GameCorrection(winner=1), "counted"),
        (QUIT | {"duration_seconds": 1.0}, GameCorrection(counts=True), "counted"),
        (QUIT | {"winner": None}, GameCorrection(counts=True), "no_winner"),
        ({"winner": None}, GameCorrection(winner=1), "counted"),
        ({"players": CPU}, GameCorrection(winner=3), "with_cpu"),
    ],
)
def test_verdicts(values: dict[str, Any], correction: GameCorrection, verdict: str) -> None:
    judgement = judge(played(**values), correction, Rules(), newest=True)
    assert judgement.verdict == verdict
    assert judgement.counts == (verdict == "counted")
    assert judgement.reason


def test_game_followed_by_another_is_not_in_progress() -> None:
    station = station_with(played(0, in_progress=True, reason=None, ending=None, winner=None), played(1))
    assert [entry.judgement.verdict for entry in station.set.entries] == ["unfinished", "counted"]


def test_verdicts_follow_the_configured_rules() -> None:
    quit_late = played(**QUIT)
    assert judge(quit_late, NOTHING, Rules(quit_counts=False), newest=True).verdict == "quit"
    assert judge(quit_late, NOTHING, Rules(handwarmer_seconds=121), newest=True).verdict == "handwarmer"
    assert judge(quit_late, NOTHING, Rules(handwarmer_stocks=3), newest=True).verdict == "handwarmer"


@pytest.mark.parametrize(
    ("second", "same"),
    [
        (("Ann", "Bob"), True),
        (("Bob", "Ann"), True),
        (("", ""), True),
        (("Bob", ""), True),
        (("Cyd", ""), False),
        (("Ann", "Cyd"), False),
        (("Cyd", "Dee"), False),
        (("Ann", "Bob", "Cyd"), False),
    ],
)
def test_other_players_begin_another_set(second: tuple[str, ...], same: bool) -> None:
    assert (len(station_with(played(0, "Ann", "Bob"), played(1, *second)).sets()) == 1) == same


def test_connect_code_outweighs_netplay_name_and_tag() -> None:

    def two(*people: tuple[str, str]) -> list[Player]:
        return [Player(index=i, port=i + 1, connect_code=c, tag=t) for i, (c, t) in enumerate(people)]

    station = station_with(
        played(0, players=two(("A#1", "ANN"), ("B#2", "BOB"))), played(1, players=two(("B#2", "ANN"), ("A#1", "NEW")))
    )
    assert scores(station) == [1, 1]
    assert len(station.sets()) == 1
    assert (
        len(
            station_with(
                played(0, players=two(("A#1", "X"), ("B#2", "Y"))), played(1, players=two(("C#1", "X"), ("B#2", "Y")))
            ).sets()
        )
        == 2
    )


def test_players_with_equal_names_are_matched_by_port() -> None:
    station = station_with(played(0, "Same", "Same"), played(1, "Same", "Same", winner=1))
    assert scores(station) == [1, 1]


@pytest.mark.parametrize(("minute", "sets"), [(46.0, 1), (48.1, 2)])
def test_long_break_begins_another_set(minute: float, sets: int) -> None:
    assert len(station_with(played(0, minute=0), played(1, minute=minute)).sets()) == sets


def test_console_and_machine_clocks_are_not_compared() -> None:
    """The console's clock is wrong by hours, and a game in progress has only the machine's clock."""
    hours = 5 * 60 * MINUTE_MS
    first = played(0, said_at_ms=-hours)
    assert len(station_with(first, played(1, in_progress=True, reason=None, duration_seconds=None)).sets()) == 1
    assert len(station_with(first, played(1, said_at_ms=5 * MINUTE_MS - hours)).sets()) == 1
    assert len(station_with(first, played(1, minute=5, said_at_ms=0)).sets()) == 2


def test_each_ranked_match_is_a_set() -> None:
    assert len(station_with(played(0, match_id="a"), played(1, match_id="a"), played(2, match_id="b")).sets()) == 2


def test_best_of_two_can_be_a_tie() -> None:
    station = CorrectedGames(Rules(best_of=2))
    station.games = (played(0), played(1, winner=1))
    assert station.set.over
    assert station.set.winner is None


def test_only_names_of_known_players_outlive_the_set() -> None:
    station = station_with(played(0, "Ann", ""), played(1, "Ann", ""))
    station.correct(names={"0": "Annabel", "1": "Somebody"})
    assert [member.name for member in station.set.members] == ["Annabel", "Somebody"]
    station.games = (*station.games, played(2, "Ann", ""))
    assert [member.name for member in station.set.members] == ["Annabel", ""], "the set with the name is over"
    station.correct(names=None)
    assert [member.name for member in station.set.members] == ["", ""]


def test_name_follows_an_entered_port_change() -> None:
    station = station_with(played(0))
    station.correct(names={"0": "Ann", "1": "Bob"})
    station.games = (*station.games, played(1))
    assert scores(station) == [2, 0]
    station.correct(names={"0": "bob"})
    assert [(m.index, m.name) for m in station.set.members] == [(1, "Ann"), (0, "bob")]
    assert scores(station) == [1, 1]
    station.correct(names={"0": None})
    assert scores(station) == [2, 0], "the name was removed"


def test_name_given_to_the_wrong_port_can_be_moved() -> None:
    station = station_with(played(0))
    station.correct(names={"0": "Ann", "1": "Bob"})
    station.correct(names={"0": "Bob"})
    station.correct(names={"1": "Ann"})
    assert [(m.index, m.name) for m in station.set.members] == [(0, "Bob"), (1, "Ann")]
    assert scores(station) == [1, 0]


def test_corrected_score_grows_with_further_games() -> None:
    station = station_with(played(0))
    station.correct(score={"1": 1}, bestOf=5)
    assert scores(station) == [1, 1]
    station.games = (*station.games, played(1, winner=1))
    assert scores(station) == [1, 2]
    station.correct(score={"1": 0})
    assert scores(station) == [1, 0]
    station.correct(score={"1": None})
    assert scores(station) == [1, 1]
    station.correct(games={station.games[0].game_id: {"counts": False}})
    assert scores(station) == [0, 1]


def test_score_corrected_during_a_game_keeps_the_set() -> None:
    first, second = played(0), played(1, in_progress=True, reason=None, ending=None, winner=None)
    station = station_with(first, second)
    station.correct(score={"0": 2})
    assert station.set.over
    assert len(station.set.games) == 2
    station.games = (first, played(1, winner=1))
    assert len(station.sets()) == 1
    assert scores(station) == [2, 1]


def test_new_set_between_games() -> None:
    station = station_with(played(0))
    station.correct(newSet=True, names={"0": "Eve"}, bestOf=5, score={"1": 1})
    assert station.set.last is None
    assert [(member.name, side.score) for side in station.set.sides for member in side.members] == [("Eve", 0), ("", 1)]
    station.games = (*station.games, played(1))
    assert [member.name for member in station.set.members] == ["Eve", ""]
    assert (station.set.best_of, scores(station), len(station.set.games)) == (5, [1, 1], 1)
    station.correct(games={station.games[1].game_id: {"beginsSet": False}})
    assert scores(station) == [2, 0], "the set of the first game goes on"


def test_new_set_during_a_game_begins_with_it() -> None:
    station = station_with(played(0), played(1, in_progress=True, reason=None, ending=None, winner=None))
    station.correct(score={"0": 2})
    station.correct(newSet=True)
    assert scores(station) == [0, 0]
    assert [entry.judgement.verdict for entry in station.set.entries] == ["playing"]
    assert len(station.sets()) == 2


def test_correction_before_a_break_applies_after_it() -> None:
    """Reading therefore begins at the game before the break."""
    station = station_with(played(0), played(1))
    station.correct(newSet=True, names={"0": "Eve"})
    station.games = (*station.games, played(2, minute=120))
    first = since_break(station.games, station.corrections, station.rules)
    assert first == 1
    for games in (station.games, station.games[first:]):
        found = newest_set(games, station.corrections, station.rules)
        assert [member.name for member in found.members] == ["Eve", ""]
        assert [each.game_id for each in found.games] == [station.games[2].game_id]
    station.correct(games={station.games[2].game_id: {"beginsSet": False}})
    assert since_break(station.games, station.corrections, station.rules) is None


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"names": {"3": "Ann"}}, "no player 3 in this set"),
        ({"bestOf": 5, "score": {"2": 1}}, "no player 2 in this set"),
        ({"games": {"f" * 32: {"counts": True}}}, "there is no game f{32}"),
        ({"games": {"0" * 32: {"winner": 3}}}, "no player 3 in the game 0{32}"),
    ],
)
def test_correction_of_unknown_player_or_game_is_refused(patch: dict[str, Any], message: str) -> None:
    station = station_with(played(0))
    with pytest.raises(ImpossibleCorrection, match=message):
        station.correct(**patch)
    assert station.corrections == Corrections(), "no part of the patch was applied"


def test_corrections_are_bounded() -> None:
    station = station_with(played(0))
    station.corrections = Corrections(games={f"{n + 1:032x}": GameCorrection(counts=True) for n in range(MAX_KEPT)})
    station.correct(games={station.games[0].game_id: {"counts": False}})
    assert len(station.corrections.games) == MAX_KEPT
    assert station.corrections.games[station.games[0].game_id].counts is False


def indexed(
    number: int, ports: str = "01", *, winners: str = "", reason: str | None = "game_end", **summary: Any
) -> IndexedGame:
    """A game in the index, played to its end by the players at these indices unless `summary` differs."""
    values: dict[str, Any] = {"ending": "finished", "versus": True} | summary
    players = [PlayerSummary(index=int(index), start_stocks=4) for index in ports]
    found = GameSummary(players=players, winners=[int(index) for index in winners], **values)
    return IndexedGame(f"{number:032x}", found, {}, 1_000_000 * number, duration_seconds=400.0, reason=reason)


def verdicts(*games: IndexedGame, running: Collection[str] = ()) -> list[tuple[str, int | None]]:
    """Verdict and winning side of each game of the newest set."""
    station = station_with(*played_games(games, running))
    return [(entry.judgement.verdict, entry.winner) for entry in station.set.entries]


TIED: dict[str, Any] = {"ending": "time"}
SUDDEN: dict[str, Any] = {"sudden_death": True}


@pytest.mark.parametrize(
    ("games", "expected"),
    [
        ((indexed(1, **TIED), indexed(2, winners="1", **SUDDEN)), [("counted", 1)]),
        ((indexed(1, **TIED, winners="0"), indexed(2, winners="1", **SUDDEN)), [("counted", 1)]),
        ((indexed(1, ending=None), indexed(2, winners="1", **SUDDEN)), [("counted", 1)]),
        ((indexed(1), indexed(2, winners="0", **SUDDEN)), [("counted", 0)]),
        ((indexed(1, **TIED), indexed(2, **SUDDEN), indexed(3, winners="0", **SUDDEN)), [("counted", 0)]),
        ((indexed(1, "013", **TIED), indexed(2, "13", winners="3", **SUDDEN)), [("counted", 2)]),
        ((indexed(1, **TIED), indexed(2, **SUDDEN)), [("no_winner", None)]),
        ((indexed(1, **TIED), indexed(2, winners="1", **SUDDEN, ending="quit")), [("no_winner", None)]),
        ((indexed(1, **TIED, winners="0"), indexed(2, **SUDDEN, ending=None)), [("no_winner", None)]),
        ((indexed(1, winners="0"), indexed(2, winners="1", **SUDDEN)), [("counted", 0), ("sudden_death", 1)]),
        ((indexed(1, winners="1", **SUDDEN),), [("sudden_death", 1)]),
    ],
)
def test_sudden_death_decides_the_game_before_it(
    games: Sequence[IndexedGame], expected: list[tuple[str, int | None]]
) -> None:
    assert verdicts(*games) == expected


def test_game_is_played_until_its_sudden_death_is_over() -> None:
    games = indexed(1, **TIED, winners="0"), indexed(2, ending=None, reason=None, **SUDDEN)
    assert verdicts(*games, running=[games[1].game_id]) == [("playing", None)]


def test_correction_of_a_sudden_death_belongs_to_its_game() -> None:
    game, sudden_death = indexed(1, **TIED), indexed(2, **SUDDEN)
    station = station_with(*played_games((game, sudden_death), ()))
    station.correct(games={sudden_death.game_id: {"winner": 1}, game.game_id: {"beginsSet": True}})
    assert station.corrections.games == {game.game_id: GameCorrection(winner=1, begins_set=True)}
    assert scores(station) == [0, 1]
    station.correct(games={sudden_death.game_id: None})
    assert scores(station) == [0, 0]


@pytest.mark.parametrize(
    ("values", "verdict", "reason"),
    [
        ({"duration_seconds": 167.0}, "counted", "after more than 2:00"),
        ({"duration_seconds": 120.0}, "handwarmer", "nobody had lost more than 1 stock"),
        ({"players": people("", "", stocks=3, percent=154.0)}, "counted", "at 154 %"),
        ({"players": people("", "", stocks=3, percent=100.0)}, "handwarmer", "nobody had lost more than 1 stock"),
        ({"match_id": "mode.ranked-1", "duration_seconds": 3.0}, "counted", "ranked"),
    ],
)
def test_handwarmers_are_short_and_harmless_and_not_ranked(values: dict[str, Any], verdict: str, reason: str) -> None:
    found = judge(played(**(QUIT | {"players": people("", "", stocks=3)} | values)), NOTHING, Rules(), newest=True)
    assert found.verdict == verdict
    assert reason in found.reason


def test_operator_decides_the_sides_of_a_game() -> None:
    """Players without tags have changed ports after the first game."""
    station = station_with(played(0), played(1), played(2, winner=1))
    station.rules = Rules(best_of=5)
    assert scores(station) == [2, 1]
    station.correct(games={station.games[1].game_id: {"sides": {"0": 1}}})
    assert scores(station) == [2, 1], "Ann won games 1 and 3, from port 2 in game 3"
    assert [member.index for member in station.set.members] == [1, 0], "the second side sits at port 1 from then on"
    decided = score_of(station.set, station.corrections).games[1].operator
    assert decided is not None
    assert decided.sides == {"0": 1, "1": 0}
    station.correct(games={station.games[1].game_id: {"sides": None}})
    assert [member.index for member in station.set.members] == [0, 1]


def test_sides_of_the_first_game_are_those_of_the_set() -> None:
    station = station_with(played(0), played(1))
    station.correct(bestOf=5, games={station.games[0].game_id: {"sides": {"0": 1, "1": 0}}})
    assert scores(station) == [0, 2]
    assert [member.index for member in station.set.members] == [1, 0]


@pytest.mark.parametrize(
    ("sides", "message"),
    [({"0": 1, "1": 1}, "a side of its own"), ({"0": 2}, "a side of its own"), ({"3": 0}, "no player 3 in the game")],
)
def test_impossible_sides_are_refused(sides: dict[str, int], message: str) -> None:
    station = station_with(played(0))
    with pytest.raises(ImpossibleCorrection, match=message):
        station.correct(games={station.games[0].game_id: {"sides": sides}})


def test_sides_of_teams_stay_together() -> None:
    players = [Player(index=i, port=i + 1, team=i % 2, start_stocks=4, stocks=1) for i in range(4)]
    station = station_with(played(0, players=players, is_teams=True), played(1, players=players, is_teams=True))
    station.correct(bestOf=5, games={station.games[1].game_id: {"sides": {"2": 1}}})
    assert scores(station) == [1, 1]
    with pytest.raises(ImpossibleCorrection, match="on different sides"):
        station.correct(games={station.games[1].game_id: {"sides": {"0": 0, "2": 1}}})


def test_round_and_order_belong_to_the_set_and_the_event_to_the_station() -> None:
    station = station_with(played(0))
    station.correct(round=" Winners  Final ", swapped=True, event="Weekly 12", casters=["Eve", " ", "Kim"])
    shown = score_of(station.set, station.corrections)
    assert (shown.round, shown.swapped, shown.event, shown.casters) == (
        "Winners Final", True, "Weekly 12", ["Eve", "Kim"],
    )  # fmt: skip
    station.games = (*station.games, played(1))
    assert station.set.round == "Winners Final"
    station.correct(newSet=True)
    shown = score_of(station.set, station.corrections)
    assert (shown.round, shown.swapped, shown.event, shown.casters) == (None, False, "Weekly 12", ["Eve", "Kim"])
    station.correct(event=None, casters=None)
    shown = score_of(station.set, station.corrections)
    assert (shown.event, shown.casters) == (None, [])


def test_details_follow_a_player_like_the_name() -> None:
    """Details survive changes of ports. People with a name in the replays keep them in later sets."""
    station = station_with(played(0, "ANN", ""))
    station.correct(players={"0": {"sponsor": "GG", "seed": 1}, "1": {"pronouns": "she/her"}})
    station.games = (*station.games, played(1, "", "ANN"))

    def shown() -> list[tuple[str | None, str | None, int | None]]:
        return [(p.sponsor, p.pronouns, p.seed) for p in score_of(station.set, station.corrections).players]

    assert shown() == [("GG", None, 1), (None, "she/her", None)]
    station.correct(newSet=True)
    station.games = (*station.games, played(2, "", "ANN"))
    assert shown() == [(None, None, None), ("GG", None, 1)]
    station.correct(players={"1": {"sponsor": None}})
    assert shown() == [(None, None, None), (None, None, 1)]
    station.correct(players=None)
    assert shown() == [(None, None, None), (None, None, None)]
