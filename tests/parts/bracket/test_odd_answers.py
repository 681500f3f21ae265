"""Answers of start.gg about one set or station that must not hold up the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import trio

from slpstream.model.errors import ActRefused
from slpstream.parts.bracket.interface import HttpAnswer, Refused
from slpstream.parts.bracket.startgg.answers import bracket_set_of, content, station_of
from slpstream.parts.bracket.startgg.client import StartggBracket
from tests.parts.bracket.desks import event, play, running, until
from tests.parts.bracket.pools import ALICE, BOB, CARL, DORA, ONE, TWO, at, payload, pools
from tests.virtual_time import now


async def test_score_that_contradicts_games_in_the_bracket_needs_confirmation(tmp_path: Path) -> None:
    double = pools()
    async with running(double, tmp_path) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "1"), ONE[0])
        await until(lambda: len(double.sets["one"].games) == 1)
        over = payload(ONE, ALICE, BOB, "00")
        desk.intake.set_changed(ONE[0], {**over, "games": payload(ONE, ALICE, BOB, "1")["games"]})
        await until(lambda: at(desk, ONE).state == "confirm")
        why = "the score was changed to 2–0, and the bracket keeps the games reported before: 1 won by Bob"
        assert at(desk, ONE).why == why
        await trio.sleep(60)
        assert double.sets["one"].state == 2
        await desk.decisions.confirm(ONE)
        await until(lambda: double.sets["one"].state == 3)
    assert double.sets["one"].winner == 0


async def test_correction_without_games_is_refused_for_the_same_winner(tmp_path: Path) -> None:
    double = pools()
    async with running(double, tmp_path) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "010"), ONE[0])
        await until(lambda: at(desk, ONE).state == "done")
        desk.intake.set_changed(ONE[0], {**payload(ONE, ALICE, BOB, "00"), "games": []})
        await until(lambda: at(desk, ONE).changed)
        with pytest.raises(ActRefused, match="has this winner already"):
            await desk.decisions.correct(ONE, reset_dependents=False)
        assert at(desk, ONE).changed


@pytest.mark.parametrize("status", [400, 403])
async def test_refused_set_does_not_delay_the_others(tmp_path: Path, status: int) -> None:
    double = pools()
    refusal = status, b'{"success": false, "message": "Invalid value for selections"}'
    double.instead = lambda operation, asked: refusal if (operation, asked.get("setId")) == ("Report", "1") else None
    async with running(double, tmp_path) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "00"), ONE[0])
        await trio.sleep(30)
        await play(desk, payload(TWO, CARL, DORA, "00"), TWO[0])
        await until(lambda: double.sets["two"].state == 3)
        assert at(desk, ONE).state == "due"
        double.instead = lambda operation, asked: None
        await until(lambda: double.sets["one"].state == 3, 3600)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b'{"success": false, "message": "Invalid authentication token"}', "forbidden"),
        (400, b"Token has expired", "forbidden"),
        (400, b'{"success": false, "message": "Variable $gameData got invalid value"}', "unknown"),
        (400, b"", "unknown"),
        (401, b"", "forbidden"),
        (503, b"", "unavailable"),
    ],
)
def test_meaning_of_each_status(status: int, body: bytes, kind: str) -> None:
    with pytest.raises(Refused) as refused:
        content(HttpAnswer(status, body))
    assert refused.value.kind == kind


@pytest.mark.parametrize(
    "odd",
    [
        {"games": [None]},
        {"totalGames": "3"},
        {"updatedAt": "5"},
        {"phaseGroup": {"id": None}},
        {"phaseGroup": None},
        {"station": {"id": 1, "number": "3"}},
    ],
)
def test_odd_members_of_a_set_are_accepted(odd: Mapping[str, Any]) -> None:
    plain = bracket_set_of({"id": 1, "slots": [], "totalGames": 3, "updatedAt": 5})
    found = bracket_set_of({"id": 1, "slots": [], "totalGames": 3, "updatedAt": 5, **odd})
    assert (found.id, found.best_of, found.updated_at) == (plain.id, plain.best_of, plain.updated_at)


def test_player_called_null_keeps_the_name() -> None:
    entrant = {"id": 7, "name": "null", "participants": [{"gamerTag": "null"}]}
    found = bracket_set_of({"id": 1, "slots": [{"entrant": entrant}]}).entrants[0]
    assert found is not None
    assert (found.name, found.participants[0].name) == ("null", "null")
    assert station_of({"id": 1, "number": "4", "identifier": 5}).number == 4


async def test_odd_sets_and_stations_are_left_out_of_lists(tmp_path: Path) -> None:
    double = pools()
    double.odd["one"] = {"slots": {}}
    double.odd_stations = [None, {"id": None}]
    async with running(double, tmp_path) as desk:
        await play(desk, payload(TWO, CARL, DORA, "00"), TWO[0])
        await until(lambda: double.sets["two"].state == 3)
        assert desk.link.trouble is None
        assert len(desk.here) == 3
        with pytest.raises(Refused, match="in an unknown way") as refused:
            await StartggBracket(double.connection()).read("1")
        assert refused.value.kind == "unknown", "others go on"


async def test_dropped_set_is_not_reported(tmp_path: Path) -> None:
    """Also if it was completed or deleted in the bracket, and was going to be looked at."""
    double = pools()
    async with running(double, tmp_path, confirm=True) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "00"), ONE[0])
        await play(desk, payload(TWO, CARL, DORA, "00"), TWO[0])
        await until(lambda: desk.waiting == 2)
        double.trouble = lambda operation: "unreachable" if operation == "Set" else ""
        double.complete_by_hand("one", 1, [], [0, 2])
        del double.sets["two"]
        await trio.sleep(1000)
        await desk.decisions.drop(ONE)
        await desk.decisions.drop(TWO)
        double.trouble = lambda operation: ""
        await trio.sleep(1000)
        asked = len([operation for operation, _ in double.requests if operation == "Set"])
        await trio.sleep(2000)
        assert [at(desk, key).state for key in (ONE, TWO)] == ["dropped", "dropped"]
        assert len([operation for operation, _ in double.requests if operation == "Set"]) == asked


async def test_sets_that_others_complete_during_a_restart_are_recognised(tmp_path: Path) -> None:
    double = pools()
    async with running(double, tmp_path, confirm=True) as desk:
        await play(desk, payload(ONE, ALICE, BOB, "00"), ONE[0])
        await until(lambda: at(desk, ONE).state == "confirm")
    double.complete_by_hand("one", 0, [], [2, 0])
    await trio.sleep(600)
    double.sets["two"].updated_at = int(now())
    async with running(double, tmp_path, confirm=True) as desk:
        await until(lambda: at(desk, ONE).state == "done")
        begin = len(double.requests)
        await trio.sleep(2000)
        assert "Set" not in [operation for operation, _ in double.requests[begin:]]


@pytest.mark.parametrize("token", ["tök", "ab\u200bc", "ab\x01c"])
async def test_malformed_token_is_refused(tmp_path: Path, token: str) -> None:
    double = event()
    async with running(double, tmp_path, token=token) as desk:
        await trio.sleep(60)
        assert desk.link.trouble == "refuses the token: the token in its file has characters that no token has"
        assert token not in desk.link.trouble
    assert double.requests == []
