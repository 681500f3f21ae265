"""The text files for OBS are always complete, and written only a few times a second."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from slpstream.game.station_state import MAX_PLAYERS
from slpstream.model.messages import LogMessage
from slpstream.model.summary import GameSummary, PlayerSummary, Thing
from slpstream.parts.text_files.files import ObsFiles
from slpstream.stream.game import Game
from tests.stream.fakes import FakeLog, FakeStation

pytestmark = pytest.mark.trio
NAMES = {"player", "code", "character", "port", "score", "stocks", "percent"}


SUMMARY = GameSummary(
    place=Thing(kind="stage", id=31, name="Battlefield"),
    players=[
        PlayerSummary(index=0, port=1, code="VIXN#101", character=Thing(name="Fox")),
        PlayerSummary(index=3, tag="Altea", character=Thing(name="Marth")),
    ],
)


def texts(folder: Path, *names: str) -> list[str]:
    return [(folder / "main" / f"{name}.txt").read_text() for name in names]


def state(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "main" / "state.json").read_bytes())
    return found


def show(station: FakeStation, game: Game, number: int, *players: tuple[int, float, int]) -> None:
    """Publish a frame with the percent and stocks of players."""
    posts = {i: {"post": {"percent": percent, "stocksRemaining": stocks}} for i, percent, stocks in players}
    body = b'"frame":' + json.dumps({"frame": number, "players": posts}).encode() + b"}"
    station.channel.publish(game, {"live": [LogMessage("frame", game.game_id, "live", number, 0, body, number)]})


async def test_files_show_the_game_the_set_and_the_newest_frame(
    tmp_path: Path, nursery: trio.Nursery, clock: MockClock
) -> None:
    station, log = FakeStation(), FakeLog(1, batches=0)
    files = ObsFiles(tmp_path, limiter=trio.CapacityLimiter(1))
    nursery.start_soon(files.follow, station.channel)
    await trio.sleep(1)
    present = {path.name for path in (tmp_path / "main").iterdir()}
    assert present == {
        "state.json", "state.txt", "stage.txt", "best_of.txt",
        *(f"{name}{slot}.txt" for name in NAMES for slot in range(1, MAX_PLAYERS + 1)),
    }  # fmt: skip
    assert texts(tmp_path, "player1", "percent1", "stage") == ["", "", ""]
    game = station.begin(log)
    game.summary = SUMMARY
    station.write(game)
    station.channel.publish_state({"state": "playing", "reason": "game in progress"})
    show(station, game, 1000, (0, 12.9, 4), (3, 0.0, 3))
    await trio.sleep(1)
    assert texts(tmp_path, "player1", "code1", "character1", "port1", "stocks1", "percent1", "score1") == [
        "VIXN#101", "VIXN#101", "Fox", "1", "4", "12", "",
    ]  # fmt: skip
    assert texts(tmp_path, "player2", "port2", "percent2", "player3", "stage", "state") == [
        "Altea", "4", "0", "", "Battlefield", "playing",
    ]  # fmt: skip
    players = [{"playerIndex": 3, "score": 2, "name": "A. Tea"}, {"playerIndex": 0, "score": 1}]
    played = {"setId": "s", "gameId": log.game_id, "bestOf": 5, "state": "running", "players": players}
    files.set_changed("main", played)
    await trio.sleep(1)
    # Players are in the order of the set, so they stay on their side of the screen when ports change.
    assert texts(tmp_path, "player1", "score1", "port1", "player2", "score2", "percent2", "best_of") == [
        "A. Tea", "2", "4", "VIXN#101", "1", "12", "5",
    ]  # fmt: skip
    assert state(tmp_path)["players"][0] == {
        "player": "A. Tea", "code": "", "character": "Marth", "port": 4, "score": 2, "stocks": 3, "percent": 0,
    }  # fmt: skip
    files.set_changed("main", {**played, "gameId": "another"})
    await trio.sleep(1)
    assert texts(tmp_path, "player1", "score1") == ["VIXN#101", ""]
    assert not files.not_ready()
    assert not list(tmp_path.glob("*/.*"))
    nursery.cancel_scope.cancel()


async def test_files_are_written_a_few_times_a_second(
    tmp_path: Path, nursery: trio.Nursery, clock: MockClock, replaced: list[str]
) -> None:
    station, log = FakeStation(), FakeLog(1, batches=0)
    nursery.start_soon(ObsFiles(tmp_path, limiter=trio.CapacityLimiter(1)).follow, station.channel)
    game = station.begin(log)
    game.summary = SUMMARY
    station.write(game)
    await trio.sleep(1)
    replaced.clear()
    for number in range(600):
        show(station, game, 1000 + number, (0, float(number), 4))
        await trio.sleep(1 / 60)
    await trio.sleep(1)
    assert set(replaced) == {"percent1.txt", "stocks1.txt", "state.json"}
    assert replaced.count("stocks1.txt") == 1
    assert 30 <= replaced.count("percent1.txt") <= 42
    assert texts(tmp_path, "percent1") == ["599"]
    nursery.cancel_scope.cancel()


async def test_unwritable_folder_is_reported_until_it_works_again(
    tmp_path: Path, nursery: trio.Nursery, clock: MockClock
) -> None:
    (tmp_path / "main").write_text("not a folder")
    station = FakeStation()
    files = ObsFiles(tmp_path, limiter=trio.CapacityLimiter(1))
    nursery.start_soon(files.follow, station.channel)
    await trio.sleep(10)
    [reason] = files.not_ready()
    assert reason.startswith("OBS files of main: ")
    (tmp_path / "main").unlink()
    await trio.sleep(10)
    assert not files.not_ready()
    assert texts(tmp_path, "state") == ["offline"]
    nursery.cancel_scope.cancel()


async def test_files_show_the_score_of_a_game_without_stocks(
    tmp_path: Path, nursery: trio.Nursery, clock: MockClock
) -> None:
    """`stocks1.txt` ignores the stocks in frames: it has the score of the newest stats, finally of the summary."""
    station, log = FakeStation(), FakeLog(1, batches=0)
    nursery.start_soon(ObsFiles(tmp_path, limiter=trio.CapacityLimiter(1)).follow, station.channel)
    game = station.begin(log)
    players = [PlayerSummary(index=0), PlayerSummary(index=1)]
    game.summary = GameSummary(mode="time", players=players)
    station.write(game)
    show(station, game, 1000, (0, 12.9, 0), (1, 0.0, 99))
    await trio.sleep(1)
    assert texts(tmp_path, "stocks1", "stocks2", "percent1") == ["", "", "12"]
    scores = [{"playerIndex": 0, "score": 3, "falls": 1}, {"playerIndex": 1, "score": -2}]
    body = b'"frame":1001,"stats":' + json.dumps({"extra": {"players": scores}}).encode() + b"}"
    station.channel.publish(game, {"live": [LogMessage("stats", game.game_id, "live", 1001, 0, body, None)]})
    await trio.sleep(1)
    assert texts(tmp_path, "stocks1", "stocks2") == ["3", "-2"]
    shown = state(tmp_path)
    assert shown["mode"] == "time"
    assert [(player["stocks"], player["gameScore"]) for player in shown["players"]] == [(None, 3), (None, -2)]
    game.summary = GameSummary(mode="time", players=[PlayerSummary(index=0, score=3), PlayerSummary(index=1, score=-3)])
    station.channel.notify()
    await trio.sleep(1)
    assert texts(tmp_path, "stocks1", "stocks2") == ["3", "-3"]
    nursery.cancel_scope.cancel()
