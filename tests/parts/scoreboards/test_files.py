"""Files of scoreboards: foreign values stay, nothing is written without a change, failures are repaired."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock

from slpstream.config import Config
from slpstream.model.errors import SinkError
from slpstream.parts.scoreboards.board import Board, board_of
from slpstream.parts.scoreboards.files import JsonFile
from slpstream.parts.scoreboards.followed_station import FollowedStation
from slpstream.parts.scoreboards.melee_stream_tool import DEFAULTS, FILE_NAME, MeleeStreamTool
from slpstream.parts.scoreboards.part import Scoreboard as ScoreboardConfig
from slpstream.parts.scoreboards.scoreboard import RETRY_SECONDS, Scoreboard
from slpstream.parts.scoreboards.scoreboards import Scoreboards
from slpstream.parts.scoreboards.streamcontrol import StreamControl
from slpstream.parts.scoreboards.text_files import TextScoreboard
from slpstream.system.replaced_files import replace_file
from tests.daemons.hosts import host_of
from tests.sets.played_sets import DONKEY_KONG, SHEIK, Station, game, player

VIXEN, ALTEA = player(0, "Vixen", DONKEY_KONG, 3), player(1, "Altea", SHEIK, 4)
# The keys of the file shipped with Melee Stream Tool, commit 1b0afae, with values typed by its user.
TYPED = {
    "p1Name": "Matwood", "p1Team": "IMP", "p1Character": "Falco", "p1Skin": "Default", "p1Color": "Yellow",
    "p1Score": 2, "p1WL": "W", "p2Name": "", "p2Team": "", "p2Character": "Captain Falcon", "p2Skin": "Blue",
    "p2Color": "Green", "p2Score": 1, "p2WL": "L", "bestOf": "Bo5", "round": "Grand Finals", "tournamentName": "PR",
    "caster1Name": "wens", "caster1Twitter": "asdf", "caster1Twitch": "", "caster2Name": "cakemix",
    "caster2Twitter": "fdas", "caster2Twitch": "", "allowIntro": False, "workshop": "another key",
}  # fmt: skip


def board(payload: dict[str, Any]) -> Board:
    found = board_of(payload)
    assert found is not None
    return found


def read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def test_stream_tool_gets_the_set_and_keeps_values_of_its_user(tmp_path: Path, replaced: list[str]) -> None:
    info = tmp_path / FILE_NAME
    info.write_text(json.dumps(TYPED))
    tool, station = MeleeStreamTool(tmp_path), Station()
    payload = station.play(game(1, VIXEN, ALTEA, winners=[0]), game(2, VIXEN, player(1, "Altea", SHEIK, 4)))
    assert tool.update(board(payload))
    assert read(info) == TYPED | {
        "p1Name": "Vixen", "p1Character": "Donkey Kong", "p1Skin": "Purple", "p1Color": "Red", "p1Score": 1,
        "p2Name": "Altea", "p2Character": "Zelda", "p2Skin": "Sheik Purple", "p2Color": "Blue", "p2Score": 0,
        "bestOf": "Bo3",
    }  # fmt: skip
    texts = {path.name: path.read_text() for path in (tmp_path / "Simple Texts").iterdir()}
    assert texts == {
        "Player 1.txt": "Vixen", "Player 2.txt": "Altea", "Round.txt": "", "Tournament Name.txt": "",
        "Caster 1 Name.txt": "", "Caster 2 Name.txt": "",
    }  # fmt: skip
    assert sorted(replaced) == sorted([*texts, FILE_NAME])
    replaced.clear()
    assert not tool.update(board(payload))
    assert replaced == []
    payload = station.correct(round="Pools", bestOf=5, score={"0": 5}, casters=["Ann"])
    assert tool.update(board(payload))
    found = read(info)
    assert [found[key] for key in ("round", "bestOf", "p1Score", "caster1Name", "caster2Name")] == [
        "Pools", "Bo5", 3, "Ann", "cakemix",
    ]  # fmt: skip
    assert tool.update(board(station.correct(round=None)))
    assert read(info)["round"] == "", "it was written from here"
    assert not list(tmp_path.glob("**/.*"))


def test_stream_tool_has_all_keys_in_a_new_file(tmp_path: Path) -> None:
    unnamed = game(1, player(0, "", 99), player(1))
    assert MeleeStreamTool(tmp_path).update(board(Station().play(unnamed)))
    found = read(tmp_path / FILE_NAME)
    assert found.keys() == DEFAULTS.keys() == TYPED.keys() - {"workshop"}
    assert all(type(found[key]) is type(value) for key, value in TYPED.items() if key != "workshop")
    assert (found["p1Name"], found["p1Character"], found["p2Character"]) == ("", "Random", "Fox")


def test_streamcontrol_with_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "streamcontrol.json"
    path.write_text('{"timestamp": "99999999999", "cTitle1": "Ann", "p1": "x"}')
    tool, station = StreamControl(path, {"p1": "name1", "s1": "score1", "s2": "score2", "r": "round"}), Station()
    payload = station.play(game(1, VIXEN, ALTEA, winners=[1]))
    assert tool.update(board(payload))
    assert read(path) == {"timestamp": "100000000000", "cTitle1": "Ann", "p1": "Vixen", "s1": "0", "s2": "1"}
    assert not tool.update(board(payload))
    assert tool.update(board(station.correct(round="Pools")))
    assert read(path)["timestamp"] == "100000000001"
    assert all(isinstance(value, str) for value in read(path).values())


def test_streamcontrol_with_the_shipped_layout(tmp_path: Path) -> None:
    path = tmp_path / "streamcontrol.json"
    assert StreamControl(path, {}).update(board(Station().play(game(1, VIXEN, ALTEA))))
    found = read(path)
    assert int(found.pop("timestamp")) > 1_700_000_000
    assert found == {"pName1": "Vixen", "pName2": "Altea", "pScore1": "0", "pScore2": "0"}


def test_text_files_all_exist_and_are_emptied(tmp_path: Path, replaced: list[str]) -> None:
    folder, station = tmp_path / "new" / "folder", Station()
    texts = TextScoreboard(folder, {})
    payload = station.play(game(1, VIXEN, ALTEA))
    payload = station.correct(round="Pools")
    assert texts.update(board(payload))
    assert (folder / "name1.txt").read_text() == "Vixen"
    assert (folder / "round.txt").read_text() == "Pools"
    assert (folder / "winner.txt").read_text() == ""
    replaced.clear()
    assert TextScoreboard(folder, {}).update(board(station.correct(round=None))), "also after a restart"
    assert replaced == ["round.txt"]
    assert (folder / "round.txt").read_text() == ""


def test_half_written_file_is_left_alone_and_a_damaged_one_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    file = JsonFile(path, {"other": ""})
    path.write_text('{"other": "typed", "na')
    for _ in range(2):
        with pytest.raises(SinkError, match="not a JSON object"):
            file.update({"name": "Vixen"})
    path.write_text('{"other": "typed"}')
    assert file.update({"name": "Vixen"})
    assert read(path) == {"other": "typed", "name": "Vixen"}
    path.write_text("[]")
    for _ in range(2):
        with pytest.raises(SinkError, match="not a JSON object"):
            file.update({"name": "Vixen"})
    assert file.update({"name": "Vixen"})
    assert read(path) == {"other": "", "name": "Vixen"}


def test_nothing_is_written_without_a_set(tmp_path: Path) -> None:
    assert not MeleeStreamTool(tmp_path).update(None)
    assert not StreamControl(tmp_path / "a.json", {}).update(None)
    assert not list(tmp_path.iterdir())


def test_text_files_exist_before_the_first_set_and_keep_what_they_show(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("Vixen")
    texts = TextScoreboard(tmp_path, {"a.txt": "name1", "b.txt": "name2"})
    assert texts.update(None)
    assert not texts.update(None)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "", "b.txt": "Vixen"}


def test_replacing_waits_for_a_reader_that_has_the_file_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows refuses to rename over an open file."""
    path, real, refusals = tmp_path / "a.txt", Path.replace, [2]

    def replace(new: Path, target: Path) -> Path:
        if refusals[0]:
            refusals[0] -= 1
            raise PermissionError(13, "The process cannot access the file", str(target))
        return real(new, target)

    monkeypatch.setattr(Path, "replace", replace)
    replace_file(path, b"new", attempts=3)
    assert path.read_bytes() == b"new"
    refusals[0] = 9
    with pytest.raises(PermissionError):
        replace_file(path, b"newer", attempts=2)
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.trio
async def test_failure_is_logged_once_and_repaired(tmp_path: Path, clock: MockClock) -> None:
    tool = MeleeStreamTool(tmp_path / "Texts")

    async def update(shown: Board | None) -> bool:
        await trio.lowlevel.checkpoint()
        return tool.update(shown)

    followed, outcomes = FollowedStation("main"), list[str]()
    scoreboard = Scoreboard("mst", followed, update, on_outcome=outcomes.append)
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scoreboard.run)
            station = Station()
            followed.set_changed("main", station.play(game(1, VIXEN, ALTEA)))
            await trio.sleep(2.5 * RETRY_SECONDS)
            assert FILE_NAME in str(scoreboard.trouble)
            followed.set_changed("main", station.play(game(1, VIXEN, ALTEA, winners=[0])))
            (tmp_path / "Texts").mkdir()
            await trio.sleep(2 * RETRY_SECONDS)
            assert scoreboard.trouble is None
            nursery.cancel_scope.cancel()
    assert read(tmp_path / "Texts" / FILE_NAME)["p1Score"] == 1
    assert outcomes == [*["failed"] * (len(outcomes) - 1), "updated"]
    assert [line["event"] for line in logs] == [
        "scoreboard cannot be updated; trying again", "scoreboard is updated again",
    ]  # fmt: skip


@pytest.mark.trio
async def test_scoreboards_of_the_station_on_air(tmp_path: Path, clock: MockClock, nursery: trio.Nursery) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    boards = [ScoreboardConfig(kind="text", station="on-air", path=str(folder)) for folder in folders]
    host = host_of(Config(parts={"scoreboards": boards}))
    outputs = Scoreboards(host)
    outputs.set_changed("a", Station().play(game(1, player(0, "Ann"), player(1))))
    outputs.set_changed("b", Station().play(game(1, player(0, "Bob"), player(1))))

    def names() -> list[str]:
        return [path.read_text() for folder in folders for path in folder.glob("name1.txt")]

    nursery.start_soon(outputs.run)
    await trio.sleep(5)
    assert names() == ["", ""]
    for station, name in (("a", "Ann"), ("b", "Bob")):
        host.on_air.put(station, "operator", 0.0)
        await trio.sleep(5)
        assert names() == [name, name]
    nursery.cancel_scope.cancel()
