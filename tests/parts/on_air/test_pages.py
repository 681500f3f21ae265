"""Pages of the station on air switch without a reload, and the dashboard chooses the station."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from slpstream.parts.demo.bundled import bundled_match
from tests.browsers.pages import LONG_MS, WatchedPage, open_page
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import put_on_air
from tests.replays.in_progress import begun

pytestmark = [pytest.mark.slow, pytest.mark.parts("dashboard", "scenes")]


def names(page: Page) -> list[str]:
    """The names of the players that the overlay shows."""
    return page.locator(".player .name").all_inner_texts()


def test_pages_follow_the_station_on_air_without_a_reload(browser: Browser, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("left", "right", "empty")]
    for number, folder in enumerate(folders):
        folder.mkdir()
        if folder.name != "empty":
            begun(folder / "Game_1.slp", bundled_match(number + 1, started_at=datetime.now(UTC)))
    with running(*folders) as daemon, open_page(browser) as watched, open_page(browser) as second:
        pages = [watched.page, second.page]
        for page in pages:
            page.goto(f"{daemon.url}/overlay/on-air")
            expect(page.locator(".status")).to_have_text("No station is on air", timeout=LONG_MS)
            page.evaluate("window.isTheSamePage = true")
        shown = []
        for station in ("left", "right", "left"):
            put_on_air(daemon, station)
            game = daemon.get(f"/v1/stations/{station}")["game"]["gameId"]
            for page in pages:
                expect(page.locator(f".players[data-game='{game}']")).to_have_count(1, timeout=LONG_MS)
            shown.append(game)
            assert names(pages[0]) == names(pages[1])
        assert shown[0] == shown[2] != shown[1]
        put_on_air(daemon, "empty")
        for page in pages:
            expect(page.locator(".status")).to_have_text("waiting for a game", timeout=LONG_MS)
            assert page.evaluate("window.isTheSamePage")
        watched.check(daemon.url)
        second.check(daemon.url)


def test_every_scene_opens_on_the_station_on_air(watched: WatchedPage, page: Page, tmp_path: Path) -> None:
    phases = {"overlay": "playing", "scenes/versus": "shown", "scenes/controller": "shown",
              "scenes/game-result": "waiting", "scenes/up-next": "waiting"}  # fmt: skip
    folder = tmp_path / "left"
    folder.mkdir()
    begun(folder / "Game_1.slp", bundled_match(1, started_at=datetime.now(UTC)))
    with running(folder) as daemon:
        put_on_air(daemon, "left")
        for path, phase in phases.items():
            page.goto(f"{daemon.url}/{path}/on-air")
            expect(page.locator(f"[data-phase={phase}]")).to_have_count(1, timeout=LONG_MS)
        watched.check(daemon.url)


def test_dashboard_puts_a_station_on_air(watched: WatchedPage, page: Page, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("left", "right")]
    for folder in folders:
        folder.mkdir()
    arguments = configuration(tmp_path, "[on_air]\nchoose = 'rule'\n")
    with running(*folders, arguments=arguments) as daemon:
        page.goto(f"{daemon.url}/#station/left")
        button = page.locator(".put-on-air")
        expect(button).to_have_text("Put on air", timeout=LONG_MS)
        button.click()
        expect(button).to_have_text("Hand back to the rule", timeout=LONG_MS)
        assert on_air(daemon) == ("left", "operator")
        expect(page.locator(".panel .on-air")).to_be_visible()
        expect(page.locator(".station[data-station=left] .on-air")).to_be_visible()
        expect(page.locator(".station[data-station=right] .on-air")).to_be_hidden()
        page.locator("#detail-title").focus()
        page.keyboard.press("o")
        expect(button).to_have_text("Keep on air", timeout=LONG_MS)
        assert on_air(daemon) == ("left", "rule"), "without a game, the rule keeps the station on air"
        put_on_air(daemon, "right")
        expect(button).to_have_text("Put on air", timeout=LONG_MS)
        page.goto(f"{daemon.url}/#wall")
        expect(page.locator(".tile[data-station=right] .on-air")).to_be_visible(timeout=LONG_MS)
        expect(page.locator(".tile[data-station=left] .on-air")).to_be_hidden()
        watched.check(daemon.url)


def on_air(daemon: DaemonProcess) -> tuple[str | None, str | None]:
    found = daemon.get("/v1/on-air")
    return found["station"], found["by"]
