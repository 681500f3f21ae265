"""A board has the values of a set, and can switch to another station."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from slpstream.formats.slippi.names import characters as names_of_the_game
from slpstream.formats.slippi.stream_tool_names import character_name, characters, stream_tool_names
from slpstream.parts.scoreboards.board import Board, board_of, values_of
from slpstream.parts.scoreboards.followed_station import FollowedStation
from slpstream.parts.scoreboards.part import SCOREBOARD_VALUES
from tests.sets.played_sets import FOX, MARTH, Station, game, player

VIXEN, ALTEA = player(0, "Vixen", FOX, 1, code="VIXN#1"), player(1, "Altea", MARTH)


def shown(board: Board | None) -> Board:
    assert board is not None
    return board


def test_values_match_the_configuration() -> None:
    board = shown(board_of(Station().play(game(1, VIXEN, ALTEA))))
    assert sorted(values_of(board)) == sorted(SCOREBOARD_VALUES)


def test_values_of_a_set_that_is_over() -> None:
    station = Station()
    station.play(game(1, VIXEN, ALTEA, winners=[1]), game(2, VIXEN, ALTEA, winners=[1]))
    payload = station.correct(
        casters=["Ann", "Bob", "Cy"], event="Local 7", round="Pools", swapped=True, players={"1": {"seed": 3}}
    )
    values = values_of(shown(board_of(payload)))
    assert {name: value for name, value in values.items() if value is not None} == {
        "name1": "Altea", "character1": "Marth", "port1": "2", "score1": "2", "result1": "W", "seed1": "3",
        "name2": "Vixen", "character2": "Fox", "port2": "1", "score2": "0", "result2": "L", "code2": "VIXN#1",
        "best_of": "3", "round": "Pools", "event": "Local 7", "winner": "Altea",
        "caster1": "Ann", "caster2": "Bob", "casters": "Ann, Bob, Cy",
    }  # fmt: skip


def test_values_of_doubles_are_joined_and_unknown_ones_are_missing() -> None:
    team = (player(0, "A", team=0), player(1, "B", team=0), player(2, team=1), player(3, "D", 99, team=1))
    values = values_of(shown(board_of(Station().play(game(1, *team)))))
    assert (values["name1"], values["character1"], values["port2"]) == ("A & B", "Fox & Fox", "3 & 4")
    assert (values["name2"], values["character2"]) == (None, None)


def test_free_for_all_has_no_board() -> None:
    assert board_of(Station().play(game(1, VIXEN, ALTEA, player(2, "Third")))) is None


def test_characters_have_their_names_of_the_game() -> None:
    assert list(characters()) == list(range(26))
    for id, character in characters().items():
        of_game = names_of_the_game()[id]
        assert (character.name, len(character.skins)) == (of_game.name, len(of_game.costumes))
    assert character_name(99) is None


def test_names_in_melee_stream_tool() -> None:
    assert stream_tool_names(19, 2) == ("Zelda", "Sheik Blue")
    assert stream_tool_names(22, 0) == ("Dr Mario", "Default")
    assert stream_tool_names(3, 200) == ("Mr Game & Watch", "Default")
    assert stream_tool_names(26, 0) is None


@pytest.mark.trio
async def test_followed_station_reports_only_changes_of_its_board(nursery: trio.Nursery) -> None:
    followed, one, two = FollowedStation("one"), Station(), Station()
    scores: list[int | None] = []

    async def watch() -> None:
        while True:
            await followed.changed()
            scores.append(None if followed.board is None else followed.board.left.score)

    nursery.start_soon(watch)
    steps: list[tuple[Callable[[], object], list[int | None]]] = [
        (lambda: None, []),
        (lambda: followed.set_changed("one", one.play(game(1, VIXEN, ALTEA))), [0]),
        (lambda: followed.set_changed("two", two.play(game(1, VIXEN, ALTEA, winners=[0]))), [0]),
        (lambda: followed.set_changed("one", one.payload), [0]),
        (lambda: followed.turn_to("two"), [0, 1]),
        (lambda: followed.turn_to(None), [0, 1, None]),
        (lambda: followed.turn_to("nobody"), [0, 1, None]),
    ]
    for change, seen in steps:
        change()
        await trio.testing.wait_all_tasks_blocked()
        assert scores == seen
    nursery.cancel_scope.cancel()
