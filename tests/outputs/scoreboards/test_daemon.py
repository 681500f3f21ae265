"""Scoreboards of a real daemon follow a station, and `/readyz` names the one that does not work."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import trio

from slpstream.config import Config, Scoreboard
from slpstream.daemon.outputs import Outputs
from slpstream.model.errors import ConfigError
from slpstream.stream import OnAir
from slpstream.system.metrics import Metrics
from tests.daemon_process import DaemonProcess, running
from tests.outputs.scoreboards.helper_double import HelperDouble, served
from tests.outputs.scoreboards.sets import Station, game, player
from tests.sets.games import MARTH, Seat, replay


def readiness(daemon: DaemonProcess) -> str:
    try:
        with urllib.request.urlopen(daemon.url + "/readyz", timeout=10) as response:
            return str(response.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return error.read().decode()


def test_every_kind_shows_the_game_of_a_station(tmp_path: Path) -> None:
    setup, texts, folder = tmp_path / "setup", tmp_path / "Texts", tmp_path / "plain"
    setup.mkdir()
    double = HelperDouble()
    config = tmp_path / "slpstream.toml"
    with served(double) as url:
        config.write_text(
            "[[scoreboards]]\nkind = 'tournament-stream-helper'\nstation = 'setup'\n"
            f"url = '{url}'\n"
            f"[[scoreboards]]\nkind = 'melee-stream-tool'\nstation = 'setup'\npath = '{texts}'\n"
            "[[scoreboards]]\nkind = 'streamcontrol'\nstation = 'setup'\n"
            f"path = '{tmp_path / 'streamcontrol.json'}'\nmapping = {{ left = 'character1' }}\n"
            f"[[scoreboards]]\nkind = 'text'\nname = 'plain'\nstation = 'setup'\npath = '{folder}'\n"
        )
        with running(setup, arguments=("--config", str(config))) as daemon:
            daemon.wait_ready()
            seats = {0: Seat("Vixen"), 1: Seat("Altea", character=MARTH)}
            (setup / "Game_1.slp").write_bytes(replay(seats, {0: 0, 1: 2}, seconds=60, minute=0))
            daemon.until(lambda: (folder / "name2.txt").exists() and (folder / "name2.txt").read_text() == "Altea", 60)
            daemon.until(lambda: double.score == [0, 1] and double.names == [["Vixen"], ["Altea"]], 60)
            daemon.until(lambda: "scoreboard melee-stream-tool: " in readiness(daemon), 60)
            texts.mkdir()
            daemon.until(lambda: "scoreboard" not in readiness(daemon), 60)
            info = json.loads((texts / "ScoreboardInfo.json").read_bytes())
            assert [info["p1Score"], info["p2Score"]] == double.score
            assert json.loads((tmp_path / "streamcontrol.json").read_bytes())["left"] == info["p1Character"] == "Fox"
            page = daemon.text("/metrics")
            assert 'slpstream_scoreboard_working{scoreboard="plain"} 1.0' in page
            assert 'slpstream_scoreboard_updates_total{outcome="failed",scoreboard="melee-stream-tool"} ' in page


@pytest.mark.trio
async def test_scoreboards_of_the_station_on_air(tmp_path: Path) -> None:
    on_air, paths = OnAir(), [tmp_path / name for name in ("one", "other")]
    config = Config(scoreboards=[Scoreboard(kind="text", station="on-air", path=str(path)) for path in paths])
    outputs = Outputs(config, Metrics(), on_air=on_air)
    for station, tag in (("a", "Vixen"), ("b", "Altea")):
        outputs.set_changed(station, Station().play(game(1, player(0, name=tag), player(1))))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(outputs.run)
        with trio.fail_after(30):
            for station, shown in (("a", "Vixen"), ("b", "Altea")):
                on_air.put(station, "operator", 0.0)
                for name in (path / "name1.txt" for path in paths):
                    while not (name.exists() and name.read_text(encoding="utf-8") == shown):
                        await trio.sleep(0.01)
        nursery.cancel_scope.cancel()
    assert outputs._scoreboards is not None
    assert [board.name for board in outputs._scoreboards.boards] == ["text", "text-2"]


def test_address_that_cannot_be_used_is_a_configuration_error() -> None:
    board = Scoreboard(kind="tournament-stream-helper", station="a", url="http://127.0.0.1:123456")
    with pytest.raises(ConfigError, match=r"scoreboards\[0\].url"):
        Outputs(Config(scoreboards=[board]), Metrics())
