"""`/v1/director` of a daemon: a game that begins, the pin, who may pin, and a restart."""

from __future__ import annotations

from pathlib import Path

from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DaemonProcess, configured
from tests.daemons.requests import ask
from tests.synthetic.match import synthetic_match


def pin(daemon: DaemonProcess, station: str | None, token: str = "secret") -> int:
    return ask(daemon, "/v1/director/pin", {"station": station}, authorization=f"Bearer {token}").status


def test_choice_and_pin(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    text = f'[server]\noperate_token_file = "{(tmp_path / "token").as_posix()}"\n'
    text += '[director]\nstations = ["left", "right"]\nhold_seconds = 0\non_air = true\n'
    folders = [tmp_path / name for name in ("left", "right")]
    for folder in folders:
        folder.mkdir()
    with configured(tmp_path, text, *folders) as daemon:
        assert daemon.get("/v1/director")["reason"] == "no game has been played yet"
        PlayedGame(folders[1] / "Game_1.slp", synthetic_match(seed=5)).write(100_000)
        daemon.until(lambda: daemon.get("/v1/director").get("station") == "right")
        daemon.until(lambda: daemon.get("/v1/on-air")["station"] == "right")
        assert pin(daemon, "left", "other") == 401
        assert pin(daemon, "nobody") == 404
        assert pin(daemon, "left") == 200
        pinned = daemon.get("/v1/director")
        assert (pinned["station"], pinned["pinned"], pinned["reason"]) == ("left", "left", "pinned by the operator")
        assert daemon.terminate() == 0
    with configured(tmp_path, text, *folders) as daemon:
        assert daemon.get("/v1/director") == pinned
