"""Every step of docs/production/index.md with the real OBS, where the test takes the part of its user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.daemons.process import DaemonProcess
from tests.docs.changes import check_of
from tests.docs.pages import DOCS
from tests.outputs import real_obs
from tests.outputs.real_obs import PASSWORD, Control, RealObs
from tests.project import IN_CI
from tests.synthetic.match import synthetic_match

pytestmark = [
    check_of("docs/production/index.md"),
    pytest.mark.process,
    pytest.mark.skipif(bool(real_obs.missing()) and not IN_CI, reason=f"not installed: {real_obs.missing()}"),
]

PAGE = (DOCS / "production" / "index.md").read_text(encoding="utf-8")
STEPS: Mapping[int, str] = {
    int(number): text for number, text in re.findall(r"^## (\d+)\. (.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
}


class Reader:
    """Somebody with a home folder and OBS, who follows the page."""

    def __init__(self, home: Path, obs: RealObs) -> None:
        self.home = home
        self.obs = obs
        programs = Path(sys.executable).parent
        self.environment = {**os.environ, "HOME": str(home), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}

    def command(self, step: int) -> str:
        """The only command of a step."""
        (found,) = re.findall(r"^```sh\n(.*?)\n```", STEPS[step], re.MULTILINE | re.DOTALL)
        return str(found)

    def run(self, step: int) -> str:
        """Run the command of a step, and return its output."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.command(step)],
            cwd=self.home, env=self.environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    home = tmp_path / "reader"
    (home / "Slippi").mkdir(parents=True)
    with real_obs.real_obs(tmp_path, prepared=False) as obs:
        yield Reader(home, obs)


def test_ten_steps() -> None:
    assert list(STEPS) == list(range(1, 11))


def test_every_step(reader: Reader) -> None:
    obs, production = reader.obs, reader.home / "production"
    reader.run(1)
    control = Control(obs.url)  # step 2: with its websocket server enabled
    (production / "obs_password").write_text(f"{PASSWORD}\n")
    reader.run(3)
    assert (production / "obs_password").stat().st_mode & 0o777 == 0o600

    (rules,) = re.findall(r"^```toml\n(.*?)^```", STEPS[4], re.MULTILINE | re.DOTALL)
    assert "ws://127.0.0.1:4455" in rules
    (production / "slpstream.toml").write_text(rules.replace("ws://127.0.0.1:4455", obs.url))
    assert "tv1" in reader.run(5)

    made = reader.run(6)
    scenes = {scene["sceneName"] for scene in control.ask("GetSceneList")["scenes"]}
    assert {"Game", "Break", "Result"} <= scenes
    assert "http://127.0.0.1:5151/overlay/on-air belongs in the scene Game" in made, "Debian's OBS has no browser"
    control.ask("SetCurrentSceneTransition", transitionName="Cut")  # step 7
    control.ask("StartReplayBuffer")

    serve = reader.command(8).split()
    assert serve[:2] == ["slpstream", "serve"]
    arguments = tuple(each.replace("~", str(reader.home)) for each in serve[2:])
    daemon = DaemonProcess(arguments=arguments, environment={"HOME": str(reader.home)})
    try:
        daemon.until(lambda: "slpstream_obs_connected 1.0" in daemon.text("/metrics"), 60)
        station = daemon.get("/v1/stations")["stations"][0]
        assert (station["id"], station["name"]) == ("tv1", "TV 1")
        assert "Put on air" in daemon.text("/static/texts/en.js")  # step 9

        (reader.home / "game.slp").write_bytes(synthetic_match(seed=6, frames=900))
        reader.run(10)
        daemon.until(lambda: len(obs.recorded) >= 2, 60)
        assert obs.recorded == ["Game", "Break"]
        assert daemon.get("/v1/on-air")["station"] == "tv1"
        assert " vs " in control.ask("GetInputSettings", inputName="Players")["inputSettings"]["text"]
        assert 'slpstream_obs_requests_total{outcome="failed"} 0.0' in daemon.text("/metrics")
        assert daemon.terminate() == 0
    finally:
        daemon.kill()
