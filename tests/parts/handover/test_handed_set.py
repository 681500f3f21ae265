"""The zip of a set and its document, checked by the rules of the programs that read them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from slpstream.model.bracket_facts import SetContext
from slpstream.model.clock_skew import ClockSkew, clock_skew
from slpstream.parts.handover.archive import write_zip, write_zip_file
from slpstream.parts.handover.handed_set import Templates
from slpstream.sets import Rules
from tests.parts.handover.setups import ANN, BOB, Setup
from tests.parts.handover.validator import copied, document, problems
from tests.replays import replay as recorded
from tests.replays import replay_path
from tests.sets.games import DAY, MARTH, Seat, replay

REPLAYS = (
    "short_pre_frames_3.17", "ranked_3.14", "rollbacks_3.18", "ice_climbers_3.18",
    "FodPlatforms", "ranked_game1_tiebreak", "unranked_game1", "v3.18",
)  # fmt: skip
"""Our own replays, and real ones, which may be missing."""
STARTGG: Mapping[str, Any] = {
    "tournament": {"name": "The Weekly", "location": "Hall 3"},
    "event": {"id": 1, "name": "Melee Singles", "slug": "tournament/the-weekly/event/melee-singles"},
    "phase": {"id": 2, "name": "Top 8", "hasSiblings": True},
    "phaseGroup": {"id": 3, "name": "1", "bracketType": 2, "hasSiblings": False},
    "set": {"id": 4, "internalId": 4, "fullRoundText": "Winners Semi-Final", "ordinal": 7, "round": 3, "stream": None},
}


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return Setup(tmp_path)


def test_zip_has_the_communitys_names_and_the_score_before_each_game(setup: Setup) -> None:
    setup.play("010")
    setup.correct(round="Winners Semi-Final", event="Melee Singles")
    handed = setup.handed()
    archive = setup.zipped()
    assert handed.name == "Melee Singles WSF - Ann (Fox) vs Bob (Marth)"
    assert archive.namelist() == [
        "context.json",
        "1 - Ann (Fox), Bob (Marth) - Battlefield.slp",
        "2 - Ann (Fox), Bob (Marth) - Dream Land N64.slp",
        "3 - Ann (Fox), Bob (Marth) - Battlefield.slp",
    ]
    found = document(archive)
    assert [[slot["score"] for slot in each["slots"]] for each in found["scores"]] == [[0, 0], [1, 0], [1, 1]]
    assert [slot["score"] for slot in found["finalScore"]["slots"]] == [2, 1]
    assert found["bestOf"] == 3
    assert found["startMs"] == round(1000 * DAY)
    assert found["players"] == {
        "entrant1": [{"name": "Ann", "characters": ["Fox"]}],
        "entrant2": [{"name": "Bob", "characters": ["Marth"]}],
    }
    # 40 seconds: frames -39 to 2361, and 84 before them.
    assert found["durationMs"] == 3 * 41459


def test_operators_names_and_details_are_in_the_replays_and_the_document(setup: Setup, tmp_path: Path) -> None:
    setup.play("00", {0: Seat(tag="A"), 3: Seat()})
    setup.correct(
        names={"0": "Mango", "3": "a/b: <Zaïn>"},
        players={"0": {"sponsor": "C9", "pronouns": "he/him"}},
    )
    archive = setup.zipped()
    name = archive.namelist()[1]
    assert name == "1 - Mango (Fox), ab Zaïn (Fox) - Battlefield.slp"
    slots = document(archive)["scores"][0]["slots"]
    assert slots == [
        {"displayNames": ["Mango"], "ports": [1], "prefixes": ["C9"], "pronouns": ["he/him"], "score": 0},
        {"displayNames": ["a/b: <Zaïn>"], "ports": [4], "prefixes": [""], "pronouns": [""], "score": 0},
    ]
    game = copied(archive, name, tmp_path)
    assert [player.name for player in game.summary().players] == ["Mango", "a/b: <Zain>"]


def test_lower_port_of_the_first_game_comes_first_and_names_follow_the_players(setup: Setup, tmp_path: Path) -> None:
    setup.play("1", {1: ANN, 3: BOB})
    setup.play("1", {0: BOB, 1: ANN}, minute=5)
    archive = setup.zipped()
    ports = [[slot["ports"] for slot in each["slots"]] for each in document(archive)["scores"]]
    assert ports == [[[2], [4]], [[2], [1]]]
    game = copied(archive, archive.namelist()[2], tmp_path)
    assert {player.index: player.name for player in game.summary().players} == {0: "Bob", 1: "Ann"}


def test_ten_games_play_in_order(setup: Setup) -> None:
    setup.rules = Rules(best_of=19)
    setup.play("0101010101010101010")
    archive = setup.zipped()
    assert [name[:3] for name in archive.namelist()[1:4]] == ["01 ", "02 ", "03 "]
    assert len(archive.namelist()) == 20
    assert document(archive)["bestOf"] == 19


def test_sudden_death_is_a_separate_replay(setup: Setup) -> None:
    seats = {0: ANN, 1: BOB}
    setup.add(replay(seats, {0: 1, 1: 1}, seconds=480, minute=0, method=1, percent={0: 30.0, 1: 30.0}))
    setup.add(replay(seats, {0: 1, 1: 0}, seconds=5, minute=9, sudden_death=True))
    setup.play("0", minute=15)
    archive = setup.zipped()
    scores = [[slot["score"] for slot in each["slots"]] for each in document(archive)["scores"]]
    assert scores == [[0, 0], [0, 0], [1, 0]]


def test_doubles_have_two_players_a_side(setup: Setup) -> None:
    seats = {
        0: Seat("Ann", "A#1", team=0), 1: Seat("Bob", "B#2", team=1),
        2: Seat("Cy", "C#3", team=0), 3: Seat("Di", "D#4", team=1, character=MARTH),
    }  # fmt: skip
    for minute in (0, 5):
        setup.add(replay(seats, {0: 1, 1: 0, 2: 1, 3: 0}, seconds=40, minute=minute))
    archive = setup.zipped()
    assert archive.namelist()[1] == "1 - Ann (Fox) + Cy (Fox), Bob (Fox) + Di (Marth) - Battlefield.slp"
    assert [slot["displayNames"] for slot in document(archive)["scores"][0]["slots"]] == [["Ann", "Cy"], ["Bob", "Di"]]
    assert [slot["ports"] for slot in document(archive)["scores"][0]["slots"]] == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (lambda setup: setup.play("00", {0: Seat(), 1: BOB}), "the player at port 1 has no name"),
        (lambda setup: setup.play("00", {0: ANN, 1: BOB, 2: Seat("Cy", "C#3")}), "the set has 3 sides, not two"),
    ],
)
def test_zip_without_document_has_a_reason(setup: Setup, play: Callable[[Setup], None], why: str) -> None:
    play(setup)
    handed = setup.handed()
    assert (handed.context, handed.reason) == (None, why)
    file = io.BytesIO()
    assert write_zip(handed, file) == 2
    assert problems(file) == ["no document"]


def test_crew_battle_has_the_players_of_each_game(setup: Setup) -> None:
    crews = [{"name": "Red", "stocks": 8}, {"name": "Blue", "stocks": 8}]
    setup.play("0")
    setup.correct(crewBattle={"crews": crews})
    setup.play("0", {0: ANN, 1: Seat("Cy", "CY#3")}, minute=5)
    handed = setup.handed()
    assert handed.name == "Red vs Blue"
    assert [member.name for member in handed.members] == [
        "1 - Ann (Fox), Bob (Marth) - Battlefield.slp",
        "2 - Ann (Fox), Cy (Fox) - Battlefield.slp",
    ]
    assert [member.edits.names for member in handed.members] == [{0: "Ann", 1: "Bob"}, {0: "Ann", 1: "Cy"}]
    assert handed.reason == "it is a crew battle, which the document has no form for"


def test_bracket_adds_to_the_document_and_to_the_names(setup: Setup) -> None:
    setup.play("00")
    setup.correct(round="Winners Semi-Final", event="Singles")
    bracket = SetContext({"startgg": STARTGG})
    archive = setup.zipped(bracket=bracket)
    assert document(archive)["startgg"] == STARTGG
    assert setup.handed(bracket=bracket).name == "Top 8 WSF - Ann (Fox) vs Bob (Marth)"


@pytest.mark.parametrize(
    ("siblings", "name"), [({"hasSiblings": True}, "Top 8"), ({}, "Top 8"), ({"hasSiblings": False}, "Melee Singles")]
)
def test_zip_has_the_name_of_the_phase_unless_it_is_the_only_one(
    setup: Setup, siblings: Mapping[str, bool], name: str
) -> None:
    setup.play("00")
    about = {**STARTGG, "phase": {"id": 2, "name": "Top 8", **siblings}}
    assert setup.handed(bracket=SetContext({"startgg": about})).name == f"{name} - Ann (Fox) vs Bob (Marth)"


@pytest.mark.parametrize(("swapped", "names"), [(False, ["Bob", "Ann"]), (True, ["Ann", "Bob"])])
def test_players_of_the_document_are_in_the_brackets_order(setup: Setup, swapped: bool, names: list[str]) -> None:
    setup.play("0", {0: BOB, 1: ANN})
    setup.play("1", {0: ANN, 1: BOB}, minute=5)
    found = document(setup.zipped(bracket=SetContext(swapped=swapped)))
    assert [found["players"][f"entrant{number}"][0]["name"] for number in (1, 2)] == names
    assert [slot["displayNames"] for slot in found["finalScore"]["slots"]] == [["Bob"], ["Ann"]]
    assert [slot["score"] for slot in found["finalScore"]["slots"]] == [2, 0]


def test_planted_skew_of_37_minutes_is_found_and_corrected(setup: Setup, tmp_path: Path) -> None:
    skew_ms = 37 * 60 * 1000
    for number in range(3):
        minute = 37 + 5 * number
        data = replay({0: ANN, 1: BOB}, {0: 2, 1: 0}, seconds=40, minute=minute)
        setup.add(data, arrived_ms=round(1000 * DAY) + 300_000 * number)
    setup.rules = Rules(best_of=5)
    skew = clock_skew(setup.indexed)
    assert skew is not None
    assert skew.sure
    assert round(1000 * skew.seconds) == skew_ms
    archive = setup.zipped(skew=skew)
    assert document(archive)["startMs"] == round(1000 * DAY)
    for number, name in enumerate(archive.namelist()[1:]):
        said = copied(archive, name, tmp_path).summary().started_at
        assert datetime.fromisoformat(said).timestamp() == DAY + 300 * number


def test_without_skew_the_last_game_ends_when_the_set_was_completed(setup: Setup) -> None:
    setup.play("00", minute=37)
    ended_ms = round(1000 * DAY) + 300_000 + 40_000
    found = document(setup.zipped(completed_at_ms=ended_ms))
    last = setup.indexed[-1]
    length_ms = round(1000 * (last.duration_seconds or 0))
    assert found["startMs"] == ended_ms - length_ms - 300_000


def test_replay_without_metadata_begins_at_its_arrival(setup: Setup, tmp_path: Path) -> None:
    data = replay({0: ANN, 1: BOB}, {0: 2, 1: 0}, seconds=40, minute=0, ended=False)
    game_id = setup.add(data, arrived_ms=1_700_000_000_000)
    setup.correct(games={game_id: {"winner": 0}})
    setup.rules = Rules(best_of=1)
    archive = setup.zipped(skew=ClockSkew(seconds=2220, games=3, spread_seconds=0))
    assert document(archive)["startMs"] == 1_700_000_000_000
    assert copied(archive, archive.namelist()[1], tmp_path).summary().started_at == "2023-11-14T22:13:20Z"


def test_originals_are_only_read(setup: Setup) -> None:
    setup.play("00")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in setup.folder.iterdir()}
    setup.correct(names={"0": "Somebody else"})
    setup.zipped()
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in setup.folder.iterdir()} == before


def test_missing_replay_is_left_out_with_the_document(setup: Setup) -> None:
    setup.play("00")
    sorted(setup.folder.iterdir())[0].unlink()
    told: list[str] = []
    file = io.BytesIO()
    assert write_zip(setup.handed(), file, lambda path, what: told.append(f"{path.name} {what}")) == 1
    assert problems(file) == ["no document"]
    assert told == ["Game_000.slp left out: it is not there any more"]


def test_unreadable_replay_prevents_the_zip(setup: Setup) -> None:
    setup.play("00")

    def denied(path: Path) -> BinaryIO:
        if path.name == "Game_001.slp":
            raise PermissionError(13, "Permission denied", str(path))
        return path.open("rb")

    with pytest.raises(PermissionError):
        write_zip(setup.handed(), io.BytesIO(), open_file=denied)


def test_replay_that_cannot_be_edited_is_exported_unchanged(setup: Setup) -> None:
    setup.play("00")
    damaged = sorted(setup.folder.iterdir())[0]
    damaged.write_bytes(b"not a replay any more")
    told: list[str] = []
    file = io.BytesIO()
    write_zip(setup.handed(), file, lambda path, what: told.append(what))
    with zipfile.ZipFile(file) as archive:
        assert archive.read(archive.namelist()[1]) == b"not a replay any more"
    assert told == ["handed on unchanged: not a Slippi replay, at offset 0"]


def test_same_set_gives_the_same_zip(setup: Setup) -> None:
    setup.play("00")
    first, second = io.BytesIO(), io.BytesIO()
    write_zip(setup.handed(), first)
    write_zip(setup.handed(), second)
    assert first.getvalue() == second.getvalue()


def test_zip_appears_complete_or_not_at_all(setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup.play("00")
    folder = tmp_path / "out"
    folder.mkdir()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_zip_file(folder / "a.zip", setup.handed())
    assert list(folder.iterdir()) == []


def test_templates(setup: Setup) -> None:
    setup.play("00")
    setup.correct(round="Grand Final", event="Singles", names={"0": "{stage}"})
    templates = Templates(" {playersOnly} {stage} {date}{time}", "{date} {time} {games} {roundLong} {playersOnly}", UTC)
    handed = setup.handed(templates=templates)
    assert handed.name == "20260314 1000 2 Grand Final {stage} vs Bob"
    assert handed.members[0].name == "1 {stage}, Bob Battlefield 20260314100000.slp"


@pytest.mark.parametrize("name", [name for name in REPLAYS if replay_path(name).exists()])
def test_replay_of_a_console_in_a_zip(setup: Setup, name: str) -> None:
    game_id = setup.add(recorded(name))
    setup.rules = Rules(best_of=1)
    players = setup.payload()["players"]
    setup.correct(games={game_id: {"winner": players[0]["playerIndex"]}})
    setup.correct(names={str(player["playerIndex"]): f"P{player['port']}" for player in players})
    archive = setup.zipped()
    names = [slot["displayNames"] for slot in document(archive)["finalScore"]["slots"]]
    assert names == [[f"P{player['port']}"] for player in players]
