"""At the production desk: a station goes on air, Dolphin mirrors it, a moment is marked, played, and undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from tests.browsers.pages import open_page
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.outputs.communication import CommunicationChecks
from tests.synthetic.match import synthetic_match

LONG_MS = 20_000


def until_shown(daemon: DaemonProcess, file: Path, mode: str, replay: Path) -> dict[str, Any]:
    """Wait until Dolphin is asked for a replay in a mode, and return the content of its file."""

    def content() -> dict[str, Any]:
        return json.loads(file.read_bytes()) if file.exists() else {}

    daemon.until(lambda: (content().get("mode"), content().get("replay")) == (mode, str(replay)), 60)
    CommunicationChecks(file).take(0.0)
    return content()


def test_station_on_air_is_mirrored_and_a_marked_moment_is_played(browser: Browser, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("left", "right")}
    replays = {name: folder / "Game_1.slp" for name, folder in folders.items()}
    file = tmp_path / "playback.txt"
    stations = "".join(f"[[stations]]\nid = '{name}'\nfolder = '{folder}'\n" for name, folder in folders.items())
    playback = f"[playback]\nfile = '{file}'\nstation = 'on-air'\n"
    for seed, folder in enumerate(folders.values(), start=3):
        folder.mkdir()
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=seed, frames=1500, ended=False))
    arguments = configuration(tmp_path, playback + stations)
    with running(arguments=arguments) as daemon, open_page(browser) as watched:
        page = watched.page
        panel, button = page.locator(".moments"), page.locator(".put-on-air")
        marks, status = panel.locator(".marks .moment"), panel.get_by_role("status")

        page.goto(f"{daemon.url}/#station/right")
        expect(button).to_have_text("Put on air", timeout=LONG_MS)
        assert not file.exists(), "no station is on air"
        button.click()
        mirrored = until_shown(daemon, file, "mirror", replays["right"])

        page.locator("#detail-title").focus()
        page.keyboard.press("m")
        expect(marks).to_have_count(1)
        marks.first.get_by_role("button", name="Play in Dolphin").click()
        expect(status).to_contain_text("Dolphin shows it for about")
        played = until_shown(daemon, file, "normal", replays["right"])
        marked = daemon.get("/v1/stations/right/marks")["marks"][0]["frame"]
        assert played["startFrame"] < marked <= played["endFrame"] + 1
        assert played["commandId"] != mirrored["commandId"]

        marks.first.get_by_role("button", name="Undo").click()
        expect(marks).to_have_count(0)
        assert daemon.get("/v1/stations/right/marks")["marks"] == []

        page.goto(f"{daemon.url}/#station/left")
        expect(button).to_have_text("Put on air", timeout=LONG_MS)
        button.click()
        until_shown(daemon, file, "mirror", replays["left"])
        watched.check(daemon.url)
