"""A real OBS follows a live set of three games, although OBS and the daemon are killed in the middle."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slpstream.parts.demo.bundled import bundled_match
from slpstream.store import FILE_NAME
from tests.daemons.demo import demo
from tests.daemons.process import DaemonProcess, running
from tests.parts.obs import real_obs
from tests.parts.obs.real_obs import PASSWORD, Control, RealObs
from tests.project import IN_CI
from tests.replays.in_progress import begun

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.skipif(bool(real_obs.missing()) and not IN_CI, reason=f"not installed: {real_obs.missing()}"),
]

RULES = """
[[obs_rules]]
on = "game_start"
station = "main"
scene = "Game"
text = { "Players" = "{player1} vs {player2}", "Score" = "{score1}-{score2}" }

[[obs_rules]]
on = "game_end"
station = "main"
scene = "Break"

[[obs_rules]]
on = "set_end"
station = "main"
scene = "Result"
text = { "Winner" = "{set_winner}" }

[[obs_rules]]
on = "event"
station = "main"
event = "conversion_ended"
kill = true
save_replay = true
"""


@pytest.fixture
def obs(tmp_path: Path) -> Iterator[RealObs]:
    with real_obs.real_obs(tmp_path) as running_obs:
        yield running_obs


class Station:
    """A folder in which games are written in two parts: first in progress, then to the end."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._games = 0
        self._began = datetime.now(UTC) - timedelta(minutes=20)

    def begin(self) -> None:
        """Begin the next game. The first player wins the first and the third."""
        self._games += 1
        data = bundled_match(self._games, started_at=self._began + timedelta(minutes=4 * self._games))
        self.end = begun(self._folder / f"Game_{self._games}.slp", data)


def configuration(tmp_path: Path, obs: RealObs) -> Path:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    config = tmp_path / "slpstream.toml"
    config.write_text(
        f"[obs]\nurl = '{obs.url}'\npassword_file = '{tmp_path / 'password'}'\n"
        f"{RULES}\n[[stations]]\nid = 'main'\nfolder = '{tmp_path / 'main'}'\n"
    )
    return config


def until_shown(daemon: DaemonProcess, obs: RealObs, *scenes: str) -> None:
    """Wait until OBS has shown exactly these scenes."""
    daemon.until(lambda: len(obs.recorded) >= len(scenes), 60)
    time.sleep(0.5)  # time for a further, wrong change
    assert obs.recorded == list(scenes), daemon.lines[-5:]


def remembered(state: Path) -> str:
    """What the daemon has stored about its requests to OBS."""
    with closing(sqlite3.connect(state / FILE_NAME)) as index:
        rows: list[tuple[str]] = index.execute("SELECT value FROM remembered WHERE key = 'obs'").fetchall()
    return rows[0][0] if rows else ""


def replays(obs: RealObs) -> int:
    return len(list((obs.home / "videos").glob("Replay*")))


def test_scenes_text_and_replay_buffer_follow_a_set_of_three_games(obs: RealObs, tmp_path: Path) -> None:
    station = Station(tmp_path / "main")
    control = Control(obs.url)
    control.ask("StartReplayBuffer")
    config, state = configuration(tmp_path, obs), tmp_path / "state"

    def text(source: str) -> str:
        return str(control.ask("GetInputSettings", inputName=source)["inputSettings"]["text"])

    with running(arguments=("--config", str(config)), state=state) as daemon:
        daemon.until(lambda: "slpstream_obs_connected 1.0" in daemon.text("/metrics"), 60)
        station.begin()
        until_shown(daemon, obs, "Game")
        assert " vs " in text("Players")
        players = text("Players")
        daemon.until(lambda: text("Score") == "0-0", 30)
        before = replays(obs)
        station.end()
        until_shown(daemon, obs, "Game", "Break")
        daemon.until(lambda: replays(obs) > before, 60)

        station.begin()
        until_shown(daemon, obs, "Game", "Break", "Game")
        daemon.until(lambda: text("Score") == "1-0", 30)
        obs.kill()
        daemon.until(lambda: "slpstream_obs_connected 0.0" in daemon.text("/metrics"), 60)
        station.end()  # while OBS is away: it starts with its saved scene
        control = obs.start()
        daemon.until(lambda: "slpstream_obs_connected 1.0" in daemon.text("/metrics"), 60)
        daemon.until(lambda: control.ask("GetSceneList")["currentProgramSceneName"] == "Break", 30)
        daemon.until(lambda: text("Players") == players, 30)
        obs.recorded.clear()

        station.begin()
        until_shown(daemon, obs, "Game")
        # What the daemon has not remembered yet when it is killed, it cannot know.
        daemon.until(lambda: daemon.get("/v1/games")["games"][0]["gameId"] in remembered(state), 60)
        daemon.kill()
    station.end()  # while the daemon is away
    with running(arguments=("--config", str(config)), state=state) as daemon:
        daemon.until(lambda: obs.recorded[-1] == "Result", 60)
        time.sleep(0.5)  # time for a further, wrong change
        # The set may be known when the daemon first looks at the station. Then the newer wish replaces "Break".
        assert obs.recorded in (["Game", "Break", "Result"], ["Game", "Result"])
        assert text("Winner") in players
        assert 'slpstream_obs_requests_total{outcome="failed"} 0.0' in daemon.text("/metrics")


@pytest.mark.release
def test_demo_drives_obs(obs: RealObs, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    log = tmp_path / "demo.log"
    with demo(
        "--obs", obs.url, "--obs-password-file", str(tmp_path / "password"), "--speed", "20", log=log
    ) as running_demo:
        deadline = time.monotonic() + 120
        while "Result" not in obs.recorded:
            assert time.monotonic() < deadline, (obs.recorded, log.read_text())
            time.sleep(0.1)
        assert running_demo.url
    assert obs.recorded[:4] == ["Game", "Break", "Game", "Break"]


@pytest.mark.release
def test_scenes_of_the_rules_are_created(obs: RealObs, tmp_path: Path) -> None:
    file = configuration(tmp_path, obs)
    file.write_text(file.read_text().replace('"Break"', '"Between games"').replace('"Winner"', '"Champion"'))

    def obs_scenes(*options: str) -> str:
        command = [sys.executable, "-m", "slpstream", "obs-scenes", str(file), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    control = Control(obs.url)
    before = control.ask("GetSceneList")["scenes"]
    planned = obs_scenes("--dry-run")
    assert control.ask("GetSceneList")["scenes"] == before
    output = obs_scenes()
    assert output.replace("made  ", "would make  ") == planned
    scenes = [each["sceneName"] for each in control.ask("GetSceneList")["scenes"]]
    assert sorted(scenes) == sorted([*(each["sceneName"] for each in before), "Between games"])
    item = control.ask("GetSceneItemId", sceneName="Result", sourceName="Champion")["sceneItemId"]
    place = control.ask("GetSceneItemTransform", sceneName="Result", sceneItemId=item)["sceneItemTransform"]
    assert (place["positionX"], place["positionY"]) > (0, 0)
    assert "this OBS has no browser source: http://127.0.0.1:5151/overlay/main belongs in the scene Game" in output
    assert "made" not in obs_scenes()
    assert obs.recorded == [], "the program scene is unchanged"


@pytest.mark.release
def test_unreachable_obs_or_wrong_password_is_one_line(obs: RealObs, tmp_path: Path) -> None:
    file = configuration(tmp_path, obs)
    command = [sys.executable, "-m", "slpstream", "obs-scenes", str(file)]
    (tmp_path / "password").write_text("wrong\n")
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    obs.kill()
    away = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert [refused.returncode, away.returncode] == [74, 74]
    assert refused.stderr == f"slpstream: {obs.url}: the password is wrong\n"
    assert away.stderr.startswith(f"slpstream: {obs.url}: OBS cannot be reached: ")
    assert away.stderr.count("\n") == 1
