"""Scoreboards of a real daemon follow a station, and `/readyz` names the one that does not work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from slpstream.config import Config, Scoreboard
from slpstream.daemon.outputs import Outputs
from slpstream.model.errors import ConfigError
from slpstream.stream import OnAir
from slpstream.system.metrics import Metrics
from tests.daemons.process import running
from tests.outputs.scoreboards.helper_double import HelperDouble, served
from tests.outputs.scoreboards.sets import Station, game, player
from tests.sets.games import MARTH, Seat, replay


@pytest.mark.slow
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
            daemon.until(lambda: "scoreboard melee-stream-tool: " in str(daemon.not_ready()), 60)
            texts.mkdir()
            daemon.until(lambda: "scoreboard" not in str(daemon.not_ready()), 60)
            info = json.loads((texts / "ScoreboardInfo.json").read_bytes())
            assert [info["p1Score"], info["p2Score"]] == double.score
            assert json.loads((tmp_path / "streamcontrol.json").read_bytes())["left"] == info["p1Character"] == "Fox"
            page = daemon.text("/metrics")
            assert 'slpstream_scoreboard_working{scoreboard="plain"} 1.0' in page
            assert 'slpstream_scoreboard_updates_total{outcome="failed",scoreboard="melee-stream-tool"} ' in page


@pytest.mark.trio
async def test_scoreboards_of_the_station_on_air(tmp_path: Path, clock: MockClock, nursery: trio.Nursery) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    boards = [Scoreboard(kind="text", station="on-air", path=str(folder)) for folder in folders]
    on_air = OnAir()
    outputs = Outputs(Config(scoreboards=boards), Metrics(), on_air=on_air)
    outputs.set_changed("a", Station().play(game(1, player(0, "Ann"), player(1))))
    outputs.set_changed("b", Station().play(game(1, player(0, "Bob"), player(1))))

    def names() -> list[str]:
        return [path.read_text() for folder in folders for path in folder.glob("name1.txt")]

    nursery.start_soon(outputs.run)
    await trio.sleep(5)
    assert names() == ["", ""]
    for station, name in (("a", "Ann"), ("b", "Bob")):
        on_air.put(station, "operator", 0.0)
        await trio.sleep(5)
        assert names() == [name, name]
    nursery.cancel_scope.cancel()


def test_address_that_cannot_be_used_is_a_configuration_error() -> None:
    board = Scoreboard(kind="tournament-stream-helper", station="a", url="http://127.0.0.1:123456")
    with pytest.raises(ConfigError, match=r"scoreboards\[0\].url"):
        Outputs(Config(scoreboards=[board]), Metrics())
