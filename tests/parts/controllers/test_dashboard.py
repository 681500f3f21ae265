"""The controller check on the dashboard: in the view of the station and of the game, in each language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsers.axe import check_with_axe
from tests.browsers.pages import WIDE, open_page
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.parts.controllers.hands import Point, analog, box, with_inputs

pytestmark = pytest.mark.parts("dashboard")


def off_centre(number: int, point: Point) -> Point:
    return point[0] + 9, point[1] - 7


PLAYERS = {0: analog(1, change=off_centre), 1: box(2, travel=False), 2: analog(3)}


@pytest.fixture
def daemon(folder: Path, tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon that checks controllers, after a game."""
    with running(folder, arguments=configuration(tmp_path, "[controllers]\ncheck = true\n")) as daemon:
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
        expect(panel).to_contain_text("Check these controllers. This is not a verdict.")
        expect(rows.nth(0)).to_contain_text("Port 1 · stick · does not rest at the centre")
        expect(rows.nth(0)).to_contain_text("it returns to (9, -7), 14% of a full push away.")
        expect(rows.nth(1)).to_contain_text("Port 2 · stick · no travel time")
        expect(rows.nth(1)).to_contain_text("high confidence")
        panel.scroll_into_view_if_needed()
        check_with_axe(page)

        page.set_viewport_size({"width": 360, "height": 740})
        expect(rows.nth(1)).to_be_visible()
        panel.scroll_into_view_if_needed()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360

        for language, words in (("ja", "中央に戻らない"), ("es", "no vuelve al centro")):
            page.goto(f"{daemon.url}/?lang={language}#station/main")
            expect(rows.first).to_contain_text(words)

        game_id = daemon.get("/v1/games")["games"][0]["gameId"]
        page.goto(f"{daemon.url}/#game/{game_id}")
        expect(page.locator(".controllers .finding")).to_have_count(2)


def test_no_panel_without_the_check(page: Page, folder: Path) -> None:
    with running(folder) as daemon:
        daemon.wait_ready()
        (folder / "Game_1.slp").write_bytes(with_inputs(PLAYERS))
        page.goto(f"{daemon.url}/#station/main")
        expect(page.locator("game-summary")).to_be_visible()
        expect(page.locator(".controllers")).to_be_hidden()
