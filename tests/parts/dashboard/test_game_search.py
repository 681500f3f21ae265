"""The search field of the dashboard: completion by keyboard, matching games, and marked mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, expect

from tests.browsers.axe import check_with_axe
from tests.browsers.pages import WIDE, open_page
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import ask
from tests.synthetic.match import synthetic_match


@pytest.fixture
def daemon(folder: Path) -> Iterator[DaemonProcess]:
    """A daemon with two finished games."""
    for number in (1, 2):
        (folder / f"Game_{number}.slp").write_bytes(synthetic_match(seed=number, frames=300 * number))
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/games?order=ended")["games"]) == 2)
        yield daemon


@pytest.mark.process
def test_response_has_the_position_of_errors(daemon: DaemonProcess) -> None:
    query = quote("duration:<8s char:zz nokey:1")
    status, _, body = ask(daemon, f"/v1/games?query={query}")
    assert status == 422
    assert body["detail"] == "query: there is no character zz, at character 19"
    assert [(each["kind"], each["position"], each["length"]) for each in body["problems"]] == [
        ("INVALID_VALUE", 18, 2),
        ("INVALID_KEY", 21, 5),
    ]
    assert len(daemon.get("/v1/games?query=duration:%3C8s")["games"]) == 1
    assert len(daemon.get("/v1/games?query=duration:%3C8s&order=ended&station=main")["games"]) == 1


def test_find_games_with_the_keyboard(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, viewport=WIDE, bypass_csp=True) as watched:
        page = watched.page
        page.goto(daemon.url)
        games = page.locator(".recent .game")
        expect(games).to_have_count(2)
        page.locator("body").press("/")
        field = page.get_by_role("combobox", name="Search games")
        expect(field).to_be_focused()

        field.press_sequentially("du")
        suggestions = page.locator(".search [role=option]")
        expect(suggestions).to_have_text(["duration:"])
        field.press("ArrowDown")
        field.press("Enter")
        expect(field).to_have_value("duration:")
        field.press_sequentially("<8s ")
        expect(games).to_have_count(1)
        expect(page.get_by_role("heading", name="Games found")).to_be_visible()

        field.press_sequentially("stage:final")
        field.press("ArrowDown")
        expect(suggestions.first).to_have_attribute("aria-selected", "true")
        expect(suggestions).to_contain_text(['"Final Destination (Adventure, Bowser)"'])
        field.press("Tab")
        expect(field).to_have_value("duration:<8s stage:Final_Destination ")
        expect(field).to_be_focused()

        field.fill("duration:<8s char:zz é nokey:1")
        problem = page.locator(".search .problem")
        expect(problem.locator("mark")).to_have_text(["zz", "nokey"])
        expect(problem).to_contain_text("there is no character zz")
        check_with_axe(page)

        field.fill("nosuchplayer")
        expect(page.get_by_text("No game matches.")).to_be_visible()
        field.press("Escape")
        expect(field).to_have_value("")
        expect(games).to_have_count(2)
        expect(problem).to_be_hidden()
