"""Every step of docs/production/index.md with a real OBS. The test plays the user."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemons.process import DaemonProcess
from tests.docs.changes import check_of
from tests.docs.pages import DOCS
from tests.docs.reader import Reader, blocks_of, steps_of
from tests.parts.obs import real_obs
from tests.parts.obs.real_obs import PASSWORD, Control, RealObs
from tests.project import IN_CI
from tests.synthetic.match import synthetic_match

pytestmark = [
    pytest.mark.parts("on_air", "scenes", "text_files"),
    check_of("docs/production/index.md"),
    pytest.mark.process,
    pytest.mark.skipif(bool(real_obs.missing()) and not IN_CI, reason=f"not installed: {real_obs.missing()}"),
]

PAGE = (DOCS / "production" / "index.md").read_text(encoding="utf-8")
STEPS = steps_of(PAGE)


def command(step: int) -> str:
    """The only command of a step."""
    (found,) = blocks_of(STEPS[step], "sh")
    return found


@pytest.fixture
def obs(tmp_path: Path) -> Iterator[RealObs]:
    with real_obs.real_obs(tmp_path, prepared=False) as obs:
        yield obs


def test_page_has_ten_steps() -> None:
    assert list(STEPS) == list(range(1, 11))


def test_every_step(obs: RealObs, tmp_path: Path) -> None:
    reader = Reader(tmp_path / "reader")
    (reader.home / "Slippi").mkdir()
    production = reader.home / "production"
    reader.shell(command(1))
    control = Control(obs.url)  # step 2: with its websocket server enabled
    (production / "obs_password").write_text(f"{PASSWORD}\n")
    reader.shell(command(3))
    assert (production / "obs_password").stat().st_mode & 0o777 == 0o600

    (rules,) = blocks_of(STEPS[4], "toml")
    assert "ws://127.0.0.1:4455" in rules
    (production / "slpstream.toml").write_text(rules.replace("ws://127.0.0.1:4455", obs.url))
    assert "tv1" in reader.shell(command(5))

    made = reader.shell(command(6))
    scenes = {scene["sceneName"] for scene in control.ask("GetSceneList")["scenes"]}
    assert {"Game", "Break", "Result"} <= scenes
    assert "http://127.0.0.1:5151/overlay/on-air belongs in the scene Game" in made, "Debian's OBS has no browser"
    control.ask("SetCurrentSceneTransition", transitionName="Cut")  # step 7
    control.ask("StartReplayBuffer")

    daemon = DaemonProcess(arguments=reader.arguments_of_serve(command(8)), environment={"HOME": str(reader.home)})
    try:
        daemon.until(lambda: "slpstream_obs_connected 1.0" in daemon.text("/metrics"), 60)
        station = daemon.get("/v1/stations")["stations"][0]
        assert (station["id"], station["name"]) == ("tv1", "TV 1")
        assert "Put on air" in daemon.text("/static/on_air/texts/en.js")  # step 9

        (reader.home / "game.slp").write_bytes(synthetic_match(seed=6, frames=900))
        reader.shell(command(10))
        daemon.until(lambda: len(obs.recorded) >= 2, 60)
        assert obs.recorded == ["Game", "Break"]
        assert daemon.get("/v1/on-air")["station"] == "tv1"
        assert " vs " in control.ask("GetInputSettings", inputName="Players")["inputSettings"]["text"]
        assert 'slpstream_obs_requests_total{outcome="failed"} 0.0' in daemon.text("/metrics")
        assert daemon.terminate() == 0
    finally:
        daemon.kill()
