"""The first-run page in a real browser.

Determinism: tests wait for the page's contents, with a deadline. The demo is stopped, not played to its end.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsers.pages import WatchedPage, open_page
from tests.daemons.process import running
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.parts("demo", "scenes")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Slippi"
    folder.mkdir()
    return folder


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
        preview = page.frame_locator(".preview iframe")
        expect(preview.locator("html[data-theme=dark] .player .name").first).to_be_visible()
        page.get_by_role("radio", name="Neon").check()
        expect(preview.locator("html[data-theme=neon] .player .name").first).to_be_visible()
        expect(address).to_have_value(f"{daemon.url}/overlay/Slippi?theme=neon")
        expect(page.locator(".demo-command")).to_be_hidden()
        expect(page.locator(".station")).to_have_count(1)
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=3, frames=300, ended=False))
        expect(page.locator(".first-run")).to_be_hidden()
        expect(page.locator(".panel .state")).to_have_text("playing")
        watched.check(daemon.url, interrupted=True)


def test_page_says_when_obs_is_connected(browser: Browser, page: Page, folder: Path) -> None:
    with running(folder) as daemon:
        page.goto(f"{daemon.url}/")
        expect(page.locator(".for-obs")).to_have_attribute("data-connected", "false")
        with open_page(browser, user_agent="Mozilla/5.0 Chrome/127.0.6533.120 Safari/537.36 OBS/31.0.0") as obs:
            obs.page.goto(f"{daemon.url}/overlay/Slippi")
            expect(page.locator(".connected")).to_contain_text("OBS is connected")
        expect(page.locator(".connected")).to_be_empty()


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
        for _ in range(6):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.className"))
        assert reached == ["skip", "to-editor", "url", "copy", "", "demo"]
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
