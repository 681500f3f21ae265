"""The first-run page in a real browser, and the demo inside a running daemon.

Determinism: tests wait for the page's contents, with a deadline. The demo is stopped, not played to its end.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from slpstream.config import Config, StationConfig
from slpstream.daemon.daemon import Daemon
from slpstream.model.errors import DemoRefused
from tests.browsers.pages import WatchedPage
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


def test_page_names_folder_and_overlay_until_the_first_game(watched: WatchedPage, page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "Slippi"
    with running(folder) as daemon:
        page.goto(f"{daemon.url}/")
        expect(page.get_by_role("heading", name="Waiting for your first game")).to_be_visible()
        expect(page.locator(".folders code")).to_have_text(str(folder))
        expect(page.locator(".folders .quiet")).to_contain_text("does not exist yet")
        folder.mkdir()
        expect(page.locator(".folders .quiet")).to_have_text("No replays yet.")
        address = page.locator(".first-run").get_by_label("Overlay address of Slippi, for OBS")
        expect(address).to_have_value(f"{daemon.url}/overlay/Slippi")
        expect(page.locator(".detail .set .names input").first).to_be_visible()  # names can be entered before a game
        assert page.locator(".steps img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 640
        expect(page.locator(".demo-command")).to_be_hidden()
        expect(page.locator(".station")).to_have_count(1)
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=3, frames=300, ended=False))
        expect(page.locator(".first-run")).to_be_hidden()
        expect(page.locator(".panel .state")).to_have_text("playing")
        watched.check(daemon.url, interrupted=True)


def test_page_is_only_linked_if_the_folder_has_games(watched: WatchedPage, page: Page, folder: Path) -> None:
    game = folder / "Game_1.slp"
    game.write_bytes(synthetic_match(seed=3, frames=300))
    os.utime(game, (1_700_000_000, 1_700_000_000))
    with running(folder) as daemon:
        page.goto(f"{daemon.url}/")
        expect(page.locator(".game")).to_have_count(1)
        expect(page.locator(".first-run")).to_be_hidden()
        page.get_by_role("link", name="getting started").click()
        expect(page.get_by_role("heading", name="Waiting for your next game")).to_be_visible()
        expect(page.locator(".folders .quiet")).to_have_text("1 replay.")
        expect(page.locator(".game")).to_have_count(1)
        watched.check(daemon.url)


def test_demo_plays_and_leaves_no_traces(watched: WatchedPage, page: Page, folder: Path) -> None:
    with running(folder) as daemon:
        page.goto(f"{daemon.url}/")
        expect(page.locator(".demo")).to_be_visible()
        reached = []
        for _ in range(5):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.className"))
        assert reached == ["skip", "to-editor", "url", "copy", "demo"]
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"#station/demo$"))
        expect(page.locator(".panel .character").first).to_have_text("Fox")
        expect(page.locator(".panel .set")).to_be_hidden()
        expect(page.locator("[data-station=demo] .state")).to_have_text("playing")
        page.get_by_role("button", name="End the demo").click()
        expect(page.locator(".first-run")).to_be_visible()
        expect(page.locator(".station")).to_have_count(1)
        assert daemon.get("/v1/games") == {"games": []}
        assert daemon.get("/v1/setup")["demo"] is None
        watched.check(daemon.url)


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


@pytest.mark.trio
async def test_demo_needs_a_running_daemon(folder: Path) -> None:
    daemon = Daemon(Config(), [StationConfig(id="main", folder=str(folder))])
    with pytest.raises(DemoRefused, match="still starting"):
        await daemon.start_demo()
    await daemon.stop_demo()
