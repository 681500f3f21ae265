"""Sets on the pages: an operator corrects one on the dashboard, and the overlay shows it.

Determinism: the matches are synthetic, and a test waits for what the pages show, with a deadline.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.daemon_process import DaemonProcess, running
from tests.synthetic.match import synthetic_match
from tests.web.pages import LIKE_A_VIDEO, chromium, open_page, screenshot

MINUTE = 60


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon with one game won by each of the two players, and a running one."""
    folder = tmp_path / "main"
    folder.mkdir()
    for number, (seed, ended) in enumerate(((6, True), (3, True), (4, False))):
        path = folder / f"Game_{number}.slp"
        path.write_bytes(synthetic_match(seed=seed, stocks=1, ended=ended, frames=None if ended else 600))
        if ended:
            at = time.time() - (10 - 4 * number) * MINUTE
            os.utime(path, (at, at))
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/stations/main/set")["games"]) == 3)
        yield daemon


def open_overlay(page: Page, daemon: DaemonProcess) -> None:
    page.goto(f"{daemon.url}/overlay/main")
    page.locator("[data-phase=playing] .player").first.wait_for()


def test_an_operator_corrects_the_set_and_the_overlay_shows_it(browser: Browser, daemon: DaemonProcess) -> None:
    before = daemon.get("/v1/stations/main/set")
    assert [game["verdict"] for game in before["games"]] == ["counted", "counted", "playing"]
    with open_page(browser) as watched, open_page(browser, viewport={"width": 1280, "height": 1400}) as operating:
        overlay, dashboard = watched.page, operating.page
        open_overlay(overlay, daemon)
        expect(overlay.locator(".name")).to_have_text(["Vixen", "Altea"])
        expect(overlay.locator(".score")).to_have_text([str(side["score"]) for side in before["sides"]])
        expect(overlay.locator(".best-of")).to_have_text("Best of 3")
        dashboard.goto(f"{daemon.url}/")
        panel = dashboard.locator(".detail .set")
        expect(panel.locator(".set-game")).to_have_count(3)
        names = panel.locator(".names input")
        expect(names).to_have_count(2)
        assert names.first.get_attribute("placeholder") == "Vixen"

        names.first.fill("Somebody")
        names.first.press("Enter")
        expect(overlay.locator(".name")).to_have_text(["Somebody", "Altea"])
        expect(dashboard.locator(".detail .players .name")).to_have_text(["Somebody", "Altea"])
        panel.locator(".best-of").select_option("5")
        expect(overlay.locator(".best-of")).to_have_text("Best of 5")
        more = before["sides"][1]["score"] + 1
        panel.get_by_role("button", name="Add a game to Altea").click()
        expect(overlay.locator(".score").nth(1)).to_have_text(str(more))
        expect(panel.locator(".points").nth(1)).to_have_text(str(more))
        overlay.evaluate(LIKE_A_VIDEO)
        screenshot(overlay, "overlay-set")
        screenshot(dashboard, "dashboard-set")
        panel.get_by_role("button", name="Don't count game 1").click()
        expect(panel.locator(".set-game .why").first).to_have_text(
            "not counted: the operator says that it does not count"
        )
        after = daemon.get("/v1/stations/main/set")
        assert sum(side["won"] for side in after["sides"]) == sum(side["won"] for side in before["sides"]) - 1
        expect(overlay.locator(".score")).to_have_text([str(side["score"]) for side in after["sides"]])
        panel.get_by_role("button", name="New set").click()
        expect(overlay.locator(".score")).to_have_text(["0", "0"])
        expect(overlay.locator(".name")).to_have_text(["Somebody", "Altea"])
        expect(panel.locator(".set-game")).to_have_count(1)
        watched.check(daemon.url)
        operating.check(daemon.url)
    assert daemon.get("/v1/stations/main/set")["bestOf"] == 3


def test_names_of_the_next_players_are_shown_before_their_first_game(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    with running(tmp_path / "main") as daemon, open_page(browser) as watched, open_page(browser) as operating:
        daemon.wait_ready()
        watched.page.goto(f"{daemon.url}/overlay/main")
        expect(watched.page.locator(".status")).to_have_text("waiting for a game")
        operating.page.goto(f"{daemon.url}/")
        names = operating.page.locator(".detail .set .names input")
        for field, name in zip((names.first, names.last), ("Ann", "Bob <b>"), strict=True):
            field.fill(name)
            field.press("Enter")
        expect(watched.page.locator(".name")).to_have_text(["Ann", "Bob <b>"])
        expect(watched.page.locator(".score")).to_have_text(["0", "0"])
        game = synthetic_match(seed=9, frames=600, ended=False)
        (tmp_path / "main" / "new.slp").write_bytes(game)
        watched.page.locator("[data-phase=playing] .percent").first.wait_for()
        expect(watched.page.locator(".name")).to_have_text(["Ann", "Bob <b>"])
        watched.check(daemon.url)
        operating.check(daemon.url)


def test_overlay_shows_who_has_won_the_set(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    with running(folder) as daemon, open_page(browser) as watched:
        daemon.wait_ready()
        watched.page.goto(f"{daemon.url}/overlay/main")
        expect(watched.page.locator(".status")).to_have_text("waiting for a game")
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=6, stocks=1))
        expect(watched.page.locator(".best-of")).to_have_text("Best of 3")
        body = json.dumps({"bestOf": 1}).encode()
        kind = {"content-type": "application/merge-patch+json"}
        address = f"{daemon.url}/v1/stations/main/set"
        request = urllib.request.Request(address, body, kind, method="PATCH")
        daemon.until(lambda: daemon.get("/v1/stations/main/set")["games"] != [])
        with urllib.request.urlopen(request, timeout=10) as response:
            won = json.load(response)
        assert won["state"] == "over"
        name = won["sides"][won["winner"]]["name"]
        expect(watched.page.locator(".best-of")).to_have_text(f"{name} wins the set 1–0")
        watched.check(daemon.url)
