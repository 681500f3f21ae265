"""The start page in a real browser: the health of the daemon and its stations."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from slpstream.model.version import __version__
from tests.browsers.pages import WatchedPage
from tests.daemons.process import running
from tests.ports import free_port


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    folders = [tmp_path / "main", tmp_path / "side"]
    for folder in folders:
        folder.mkdir()
    return folders


@pytest.mark.slow
def test_shows_whether_the_daemon_is_running(watched: WatchedPage, page: Page, folders: list[Path]) -> None:
    health = page.locator(".health")
    port = ("--port", str(free_port()))
    with running(*folders, arguments=port) as first:
        page.goto(f"{first.url}/")
        expect(health).to_have_text("ready")
        expect(page.locator(".figures")).to_contain_text(f"Version {__version__}", use_inner_text=True)
        first.kill()
        expect(health).to_have_text("daemon not reachable", timeout=15_000)
        expect(page.locator(".station")).to_have_count(2)
    with running(*folders, arguments=port) as second:
        expect(health).to_have_text("ready", timeout=15_000)
        watched.check(second.url, interrupted=True)


def test_shows_failures(page: Page, folders: list[Path]) -> None:
    with running(folders[0], folders[0] / "missing") as daemon:
        page.goto(f"{daemon.url}/")
        expect(page.locator(".health")).to_have_text("not ready")
        expect(page.locator(".missing")).to_contain_text("station missing")
        expect(page.locator("[data-station=missing] .state")).to_have_text("offline")
