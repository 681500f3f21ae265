"""The start page with one or two stations in a real browser: addresses, health, current games. `test_dashboard.py`
has a whole tournament."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from slpstream.model.version import __version__
from tests.browsers.pages import PHONE, open_page
from tests.daemons.demo import demo
from tests.daemons.process import running


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / "main", tmp_path / "side"]
    for folder in folders:
        folder.mkdir()
    return folders


def test_shows_stations_and_their_games(browser: Browser, tmp_path: Path) -> None:
    options = {"permissions": ["clipboard-read", "clipboard-write"]}
    with demo("--speed", "3", log=tmp_path / "stderr") as playing, open_page(browser, **options) as watched:
        page = watched.page
        page.goto(f"{playing.url}/")
        # A single station is shown in full at once.
        panel = page.locator(".panel")
        expect(panel.locator(".state")).to_have_text("playing")
        expect(page.locator(".health")).to_have_text("ready")
        expect(panel.locator("h2")).to_have_text("Demo")
        expect(panel.locator(".player")).to_have_count(2)
        expect(panel.locator(".character").first).to_have_text("Fox")
        expect(panel.locator(".percent").filter(has_text=re.compile(r"[1-9]")).first).to_be_visible()
        expect(panel.locator(".stocks .hidden").first).to_have_text("4 stocks")
        expect(page.locator(".figures")).to_contain_text(f"Version {__version__}", use_inner_text=True)
        link = panel.get_by_role("link", name="Open overlay")
        assert link.get_attribute("href") == f"{playing.url}/overlay/demo"
        page.get_by_role("button", name="Copy overlay address of Demo").click()
        expect(page.get_by_text("Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == f"{playing.url}/overlay/demo"
        page.set_viewport_size(PHONE)
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        watched.check(playing.url)


@pytest.mark.slow
def test_shows_whether_the_daemon_is_running(browser: Browser, folders: list[Path]) -> None:
    with open_page(browser) as watched:
        page = watched.page
        health = page.locator(".health")
        with running(*folders) as first:
            page.goto(f"{first.url}/")
            expect(health).to_have_text("ready")
            first.kill()
            expect(health).to_have_text("daemon not reachable", timeout=15_000)
            expect(page.locator(".station")).to_have_count(2)
        with running(*folders, arguments=("--port", first.url.rpartition(":")[2])) as second:
            expect(health).to_have_text("ready", timeout=15_000)
            watched.check(second.url, interrupted=True)


def test_shows_what_does_not_work(browser: Browser, folders: list[Path]) -> None:
    with running(folders[0], folders[0] / "missing") as daemon, open_page(browser) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/")
        expect(page.locator(".health")).to_have_text("not ready")
        expect(page.locator(".missing")).to_contain_text("station missing")
        expect(page.locator("[data-station=missing] .state")).to_have_text("offline")
