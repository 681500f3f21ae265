"""At the production desk: a station goes on air, Dolphin mirrors it, a moment is marked, played, and undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from tests.daemons.communication_file import WatchedFile
from tests.daemons.process import DaemonProcess, running
from tests.synthetic.match import synthetic_match
from tests.web.pages import open_page

LONG_MS = 20_000


def until_shown(daemon: DaemonProcess, watched: WatchedFile, mode: str, replay: Path) -> dict[str, Any]:
    """Wait until Dolphin is asked for a replay in a mode, and return the content of its file."""
    path = watched.checks.path

    def asked() -> bool:
        content = json.loads(path.read_bytes()) if path.exists() else {}
        return (content.get("mode"), content.get("replay")) == (mode, str(replay))

    daemon.until(asked, 60)
    daemon.until(lambda: bool(watched.modes) and watched.newest == json.loads(path.read_bytes()))
    return watched.newest


def test_station_on_air_is_mirrored_and_a_marked_moment_is_played(browser: Browser, tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("left", "right")}
    replays = {name: folder / "Game_1.slp" for name, folder in folders.items()}
    config, file = tmp_path / "slpstream.toml", WatchedFile(tmp_path / "playback.txt")
    config.write_text(
        f"[playback]\nfile = '{file.checks.path}'\nstation = 'on-air'\n"
        + "".join(f"[[stations]]\nid = '{name}'\nfolder = '{folder}'\n" for name, folder in folders.items())
    )
    for seed, folder in enumerate(folders.values(), start=3):
        folder.mkdir()
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=seed, frames=1500, ended=False))
    with file.watched(), running(arguments=("--config", str(config))) as daemon, open_page(browser) as watched:
        page = watched.page
        panel, button = page.locator(".moments"), page.locator(".put-on-air")
        marks, status = panel.locator(".marks .moment"), panel.get_by_role("status")

        page.goto(f"{daemon.url}/#station/right")
        expect(button).to_have_text("Put on air", timeout=LONG_MS)
        assert not file.checks.path.exists(), "no station is on air"
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
