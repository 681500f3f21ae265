"""The search field of the dashboard: completion by keyboard, games that match, and mistakes where they are."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.daemons.process import DaemonProcess, running
from tests.project import IN_CI
from tests.synthetic.match import synthetic_match
from tests.web.pages import open_page, screenshot
from tests.web.test_dashboard import AXE, WIDE, serious


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon with two games that are over."""
    folder = tmp_path / "main"
    folder.mkdir()
    for number in (1, 2):
        (folder / f"Game_{number}.slp").write_bytes(synthetic_match(seed=number, frames=300 * number))
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/games?order=ended")["games"]) == 2)
        yield daemon


@pytest.mark.process
def test_mistakes_have_their_place_in_the_response(daemon: DaemonProcess) -> None:
    query = urllib.parse.quote("duration:<8s char:zz nokey:1")
    with pytest.raises(urllib.error.HTTPError) as error, urllib.request.urlopen(f"{daemon.url}/v1/games?query={query}"):
        pass
    assert error.value.code == 422
    with error.value as response:
        body = json.loads(response.read())
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
        screenshot(page, "dashboard-search-1280")
        expect(suggestions.first).to_have_attribute("aria-selected", "true")
        expect(suggestions).to_contain_text(['"Final Destination (Adventure, Bowser)"'])
        field.press("Tab")
        expect(field).to_have_value("duration:<8s stage:Final_Destination ")
        expect(field).to_be_focused()

        field.fill("duration:<8s char:zz é nokey:1")
        problem = page.locator(".search .problem")
        expect(problem.locator("mark")).to_have_text(["zz", "nokey"])
        expect(problem).to_contain_text("there is no character zz")
        screenshot(page, "dashboard-search-mistake-1280")
        if AXE.is_file() or IN_CI:
            page.evaluate(Path(AXE).read_text(encoding="utf-8"))
            serious(page)

        field.fill("nosuchplayer")
        expect(page.get_by_text("No game matches.")).to_be_visible()
        field.press("Escape")
        expect(field).to_have_value("")
        expect(games).to_have_count(2)
        expect(problem).to_be_hidden()
