"""Single rules: verdicts, who is who, what operators say."""

from __future__ import annotations

from typing import Any

import pytest

from slpstream.sets import ImpossibleCorrection, PlayedGame, Player, Rules, newest_set, since_break
from slpstream.sets.corrections import NOTHING, Corrections, GameCorrection
from slpstream.sets.patches import MAX_KEPT
from slpstream.sets.verdicts import judge
from tests.sets.made import Table

MINUTE_MS = 60_000


def seats(*names: str, first: int = 0, **values: Any) -> list[Player]:
    fields: dict[str, Any] = {"start_stocks": 4, "stocks": 1} | values
    return [Player(index=i, port=i + 1, tag=name, **fields) for i, name in enumerate(names, first)]


def game(
    number: int = 0, *names: str, winner: int | None = 0, minute: float | None = None, **values: Any
) -> PlayedGame:
    at = 5 * number if minute is None else minute
    fields: dict[str, Any] = {
        "game_id": f"{number:032x}",
        "players": seats(*(names or ("", ""))),
        "written_at_ms": round((at + 2) * MINUTE_MS),
        "duration_seconds": 120.0,
        "reason": "game_end",
        "ending": "finished",
        "winners": [] if winner is None else [winner],
    }
    return PlayedGame(**fields | values)


def table(*games: PlayedGame) -> Table:
    made = Table()
    made.games = games
    return made


def scores(made: Table) -> list[int]:
    return [side.score for side in made.set.sides]


QUIT: dict[str, Any] = {"ending": "quit", "quitter": 1}
CPU = [Player(index=0, port=1), Player(index=1, port=2, human=False)]


@pytest.mark.parametrize(
    ("values", "said", "verdict"),
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
        (QUIT | {"players": seats("", "", stocks=3)}, NOTHING, "handwarmer"),
        (QUIT | {"players": seats("", "", stocks=2)}, NOTHING, "counted"),
        (QUIT | {"players": seats("", "", stocks=None)}, NOTHING, "counted"),
        (QUIT | {"players": seats("", "", stocks=1, start_stocks=1)}, NOTHING, "counted"),
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
def test_verdicts(values: dict[str, Any], said: GameCorrection, verdict: str) -> None:
    judgement = judge(game(**values), said, Rules(), newest=True)
    assert judgement.verdict == verdict
    assert judgement.counts == (verdict == "counted")
    assert judgement.reason


def test_a_game_that_another_followed_is_not_being_played() -> None:
    made = table(game(0, in_progress=True, reason=None, ending=None, winner=None), game(1))
    assert [entry.judgement.verdict for entry in made.set.entries] == ["unfinished", "counted"]


def test_options() -> None:
    quit_late = game(**QUIT)
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
def test_others_begin_another_set(second: tuple[str, ...], same: bool) -> None:
    assert (len(table(game(0, "Ann", "Bob"), game(1, *second)).sets()) == 1) == same


def test_the_surest_name_decides() -> None:
    """Who has changed tag and netplay name is still who the connect code says."""

    def two(*people: tuple[str, str]) -> list[Player]:
        return [Player(index=i, port=i + 1, connect_code=c, tag=t) for i, (c, t) in enumerate(people)]

    made = table(
        game(0, players=two(("A#1", "ANN"), ("B#2", "BOB"))), game(1, players=two(("B#2", "ANN"), ("A#1", "NEW")))
    )
    assert scores(made) == [1, 1]
    assert len(made.sets()) == 1
    assert (
        len(
            table(
                game(0, players=two(("A#1", "X"), ("B#2", "Y"))), game(1, players=two(("C#1", "X"), ("B#2", "Y")))
            ).sets()
        )
        == 2
    )


def test_two_of_one_name_are_nobody() -> None:
    made = table(game(0, "Same", "Same"), game(1, "Same", "Same", winner=1))
    assert scores(made) == [1, 1]


@pytest.mark.parametrize(("minute", "sets"), [(46.0, 1), (48.1, 2)])
def test_a_long_break(minute: float, sets: int) -> None:
    assert len(table(game(0, minute=0), game(1, minute=minute)).sets()) == sets


def test_clocks_are_not_held_against_each_other() -> None:
    """The console's is hours off, and a game that is played has only the machine's."""
    hours = 5 * 60 * MINUTE_MS
    first = game(0, said_at_ms=-hours)
    assert len(table(first, game(1, in_progress=True, reason=None, duration_seconds=None)).sets()) == 1
    assert len(table(first, game(1, said_at_ms=5 * MINUTE_MS - hours)).sets()) == 1
    assert len(table(first, game(1, minute=5, said_at_ms=0)).sets()) == 2


def test_ranked_matches_are_sets() -> None:
    assert len(table(game(0, match_id="a"), game(1, match_id="a"), game(2, match_id="b")).sets()) == 2


def test_a_set_of_two_can_be_a_tie() -> None:
    made = Table(Rules(best_of=2))
    made.games = (game(0), game(1, winner=1))
    assert made.set.over
    assert made.set.winner is None


def test_training_is_in_no_set() -> None:
    made = table(game(0), game(1, players=seats("")), game(2))
    assert scores(made) == [2, 0]


def test_an_anonymous_name_is_for_this_set_and_a_known_one_stays() -> None:
    made = table(game(0, "Ann", ""), game(1, "Ann", ""))
    made.say(names={"0": "Annabel", "1": "Somebody"})
    assert [member.name for member in made.set.members] == ["Annabel", "Somebody"]
    made.games = (*made.games, game(2, "Ann", ""))
    assert [member.name for member in made.set.members] == ["Annabel", ""], "the set before was over"
    made.say(names=None)
    assert [member.name for member in made.set.members] == ["", ""]


def test_a_name_follows_a_port_change_that_the_operator_tells() -> None:
    made = table(game(0))
    made.say(names={"0": "Ann", "1": "Bob"})
    made.games = (*made.games, game(1))
    assert scores(made) == [2, 0]
    made.say(names={"0": "bob"})
    assert [(m.index, m.name) for m in made.set.members] == [(1, "Ann"), (0, "bob")]
    assert scores(made) == [1, 1]
    made.say(names={"0": None})
    assert scores(made) == [2, 0], "taken back"


def test_a_name_that_was_given_to_the_wrong_port() -> None:
    made = table(game(0))
    made.say(names={"0": "Ann", "1": "Bob"})
    made.say(names={"0": "Bob"})
    made.say(names={"1": "Ann"})
    assert [(m.index, m.name) for m in made.set.members] == [(0, "Bob"), (1, "Ann")]
    assert scores(made) == [1, 0]


def test_a_score_that_was_given_grows_with_further_games() -> None:
    made = table(game(0))
    made.say(score={"1": 1}, bestOf=5)
    assert scores(made) == [1, 1]
    made.games = (*made.games, game(1, winner=1))
    assert scores(made) == [1, 2]
    made.say(score={"1": 0})
    assert scores(made) == [1, 0]
    made.say(score={"1": None})
    assert scores(made) == [1, 1]
    made.say(games={made.games[0].game_id: {"counts": False}})
    assert scores(made) == [0, 1]


def test_a_score_is_never_below_nothing() -> None:
    made = table(game(0), game(1, winner=1))
    made.say(score={"0": 0})
    made.say(games={made.games[0].game_id: {"counts": False}})
    assert [side.added for side in made.set.sides] == [-1, 0]
    assert scores(made) == [0, 1]


def test_a_given_score_makes_later_games_no_other_set() -> None:
    """It was given during the second game, so the second game is of this set."""
    first, second = game(0), game(1, in_progress=True, reason=None, ending=None, winner=None)
    made = table(first, second)
    made.say(score={"0": 2})
    assert made.set.over
    assert len(made.set.games) == 2
    made.games = (first, game(1, winner=1))
    assert len(made.sets()) == 1
    assert scores(made) == [2, 1]


def test_a_game_taken_back_lets_the_set_go_on() -> None:
    made = table(game(0), game(1), game(2))
    assert len(made.sets()) == 2
    made.say(games={made.games[0].game_id: {"counts": False}})
    assert len(made.sets()) == 1
    assert scores(made) == [2, 0]


def test_a_new_set_between_games() -> None:
    made = table(game(0))
    made.say(newSet=True, names={"0": "Eve"}, bestOf=5, score={"1": 1})
    assert made.set.last is None
    assert [(member.name, side.score) for side in made.set.sides for member in side.members] == [("Eve", 0), ("", 1)]
    made.games = (*made.games, game(1))
    assert [member.name for member in made.set.members] == ["Eve", ""]
    assert (made.set.best_of, scores(made), len(made.set.games)) == (5, [1, 1], 1)
    made.say(games={made.games[1].game_id: {"beginsSet": False}})
    assert scores(made) == [2, 0], "taken back: it goes on with the first"


def test_a_new_set_while_a_game_is_played() -> None:
    made = table(game(0), game(1, in_progress=True, reason=None, ending=None, winner=None))
    made.say(score={"0": 2})
    made.say(newSet=True)
    assert scores(made) == [0, 0]
    assert [entry.judgement.verdict for entry in made.set.entries] == ["playing"]
    assert len(made.sets()) == 2


def test_a_new_set_begins_although_games_are_taken_back_beside_it() -> None:
    made = table(game(0), game(1, in_progress=True, reason=None, ending=None, winner=None))
    made.say(newSet=True, games=None)
    assert [entry.judgement.verdict for entry in made.set.entries] == ["playing"]


def test_names_before_the_first_game() -> None:
    made = table()
    made.say(names={"0": "Ann", "1": "Bob"}, newSet=True)
    assert [member.name for member in made.set.members] == ["Ann", "Bob"]
    made.games = (game(0),)
    assert [member.name for member in made.set.members] == ["Ann", "Bob"]


def test_what_was_said_before_a_long_break_is_said_of_the_set_after_it() -> None:
    """So the game before the break is needed, and no earlier one."""
    made = table(game(0), game(1))
    made.say(newSet=True, names={"0": "Eve"})
    made.games = (*made.games, game(2, minute=120))
    at = since_break(made.games, made.corrections, made.rules)
    assert at == 1
    for games in (made.games, made.games[at:]):
        found = newest_set(games, made.corrections, made.rules)
        assert [member.name for member in found.members] == ["Eve", ""]
        assert [each.game_id for each in found.games] == [made.games[2].game_id]
    made.say(games={made.games[2].game_id: {"beginsSet": False}})
    assert since_break(made.games, made.corrections, made.rules) is None


@pytest.mark.parametrize(
    ("patch", "what"),
    [
        ({"names": {"3": "Ann"}}, "no player 3 in this set"),
        ({"bestOf": 5, "score": {"2": 1}}, "no player 2 in this set"),
        ({"games": {"f" * 32: {"counts": True}}}, "there is no game f{32}"),
        ({"games": {"0" * 32: {"winner": 3}}}, "no player 3 in the game 0{32}"),
    ],
)
def test_what_is_not_there_cannot_be_corrected(patch: dict[str, Any], what: str) -> None:
    made = table(game(0))
    with pytest.raises(ImpossibleCorrection, match=what):
        made.say(**patch)
    assert made.corrections == Corrections(), "nothing of it holds"


def test_corrections_do_not_grow_without_bound() -> None:
    made = table(game(0))
    made.corrections = Corrections(games={f"{n + 1:032x}": GameCorrection(counts=True) for n in range(MAX_KEPT)})
    made.say(games={made.games[0].game_id: {"counts": False}})
    assert len(made.corrections.games) == MAX_KEPT
    assert made.corrections.games[made.games[0].game_id].counts is False
