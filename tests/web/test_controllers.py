"""The controller check on the dashboard: in the view of the station and of the game, in each language."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.daemons.process import DaemonProcess, running
from tests.project import IN_CI
from tests.tournament.controllers.hands import analog, box, moved, with_inputs
from tests.web.pages import open_page, screenshot
from tests.web.test_dashboard import AXE, WIDE, serious

PLAYERS = {0: analog(1, change=partial(moved, 9, -7)), 1: box(2, travel=False), 2: analog(3)}


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon that checks controllers, after a game."""
    folder = tmp_path / "main"
    folder.mkdir()
    configuration = tmp_path / "slpstream.toml"
    configuration.write_text("[controllers]\ncheck = true\n")
    with running(folder, arguments=("--config", str(configuration))) as daemon:
        daemon.wait_ready()
        (folder / "Game_1.slp").write_bytes(with_inputs(PLAYERS))
        daemon.until(lambda: daemon.get("/v1/stations/main/controllers").get("final") is True, 60)
        yield daemon


def test_findings_on_the_dashboard(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, viewport=WIDE, bypass_csp=True) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/#station/main")
        panel = page.locator(".controllers")
        rows = panel.locator(".finding")
        expect(rows).to_have_count(2)
        expect(panel).to_contain_text("Look at these controllers. This is no verdict.")
        expect(rows.nth(0)).to_contain_text("Port 1 · stick · does not rest at the centre")
        expect(rows.nth(0)).to_contain_text("it returns to (9, -7), 14% of a full push away.")
        expect(rows.nth(1)).to_contain_text("Port 2 · stick · no travel time")
        expect(rows.nth(1)).to_contain_text("high confidence")
        panel.scroll_into_view_if_needed()
        screenshot(page, "dashboard-controllers-1280")
        if AXE.is_file() or IN_CI:
            page.evaluate(Path(AXE).read_text(encoding="utf-8"))
            serious(page)

        page.set_viewport_size({"width": 360, "height": 740})
        expect(rows.nth(1)).to_be_visible()
        panel.scroll_into_view_if_needed()
        screenshot(page, "dashboard-controllers-360")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360

        game_id = daemon.get("/v1/games")["games"][0]["gameId"]
        page.goto(f"{daemon.url}/#game/{game_id}")
        expect(page.locator(".controllers .finding")).to_have_count(2)


@pytest.mark.parametrize(("language", "words"), [("ja", "中央に戻らない"), ("es", "no vuelve al centro")])
def test_findings_in_other_languages(browser: Browser, daemon: DaemonProcess, language: str, words: str) -> None:
    with open_page(browser, viewport=WIDE, locale=language) as watched:
        watched.page.goto(f"{daemon.url}/#station/main")
        expect(watched.page.locator(".controllers .finding").first).to_contain_text(words)


def test_no_panel_without_the_check(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    with running(folder) as daemon, open_page(browser, viewport=WIDE) as watched:
        daemon.wait_ready()
        (folder / "Game_1.slp").write_bytes(with_inputs(PLAYERS))
        watched.page.goto(f"{daemon.url}/#station/main")
        expect(watched.page.locator("game-summary")).to_be_visible()
        expect(watched.page.locator(".controllers")).to_be_hidden()
