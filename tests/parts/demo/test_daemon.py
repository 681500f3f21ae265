"""The demo inside a running daemon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import ask
from tests.synthetic.match import synthetic_match


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Slippi"
    folder.mkdir()
    return folder


def change(daemon: DaemonProcess, body: dict[str, Any], **headers: str) -> tuple[int, Any]:
    """Status and body of a PATCH of the setup."""
    response = ask(daemon, "/v1/setup", body, method="PATCH", **headers)
    return response.status, response.body


def test_no_demo_while_a_game_is_played(folder: Path) -> None:
    (folder / "Game_1.slp").write_bytes(synthetic_match(seed=3, frames=300, ended=False))
    with running(folder) as daemon:
        daemon.until(lambda: daemon.get("/v1/stations")["stations"][0]["state"] == "playing")
        status, problem = change(daemon, {"demo": True})
        assert status == 409
        assert "a game is being played" in problem["detail"]


def test_demo_is_hidden_from_outputs_and_sets(folder: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    with running(folder, arguments=configuration(tmp_path, f"[[jsonl]]\nfolder = '{lines}'\n")) as daemon:
        assert change(daemon, {"demo": True})[1]["demo"] == "demo"
        daemon.until(lambda: any("game" in each for each in daemon.get("/v1/stations")["stations"]))
        [own, played] = daemon.get("/v1/stations")["stations"]
        assert "demo" not in own
        assert played["demo"] is True
        assert ask(daemon, "/v1/stations/demo/set", {"newSet": True}, method="PATCH").status == 409
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=3, frames=300))  # the outputs do get this game
        daemon.until(lambda: any(lines.rglob("*.jsonl")))
        assert {path.parent.name for path in lines.rglob("*.jsonl")} == {"Slippi"}
        assert daemon.terminate() == 0
