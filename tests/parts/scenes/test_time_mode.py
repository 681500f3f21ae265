"""The overlay and the dashboard show the score in time mode, counted from falls, even after joining late."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from slpstream.formats.slippi.container import HEADER_BYTES
from tests.browsers.pages import WatchedPage, open_page
from tests.daemons.process import running
from tests.formats.slippi.timed_game import TimedGame
from tests.marks import release

pytestmark = pytest.mark.parts("dashboard")


def shows_scores(page: Page, *scores: str) -> None:
    """Wait until the cards of the players show these scores, and no stocks."""
    expect(page.locator(".player .stocks .text")).to_have_text([f"Score {score}" for score in scores])
    assert page.locator(".icon").count() == 0
    assert page.locator(".player.out").count() == 0


@pytest.mark.parametrize("stocks", [0, *release(1, 99)])
def test_overlay_shows_the_scores(browser: Browser, folder: Path, stocks: int) -> None:
    game = TimedGame(players=4, stocks=stocks).fall(1, by=0).fall(3, by=0).fall(2)
    running_bytes = game.so_far()
    finished = game.fall(0, by=2).fall(3, by=0).end(placements=(0, 3, 1, 2))
    replay = folder / "Game_20260501T120000.slp"
    with running(folder) as daemon, open_page(browser) as watched, open_page(browser) as late:
        page = watched.page
        page.goto(f"{daemon.url}/overlay/main")
        page.get_by_text("waiting for a game").wait_for()
        with replay.open("wb") as file:
            file.write(running_bytes)
            file.flush()
            shows_scores(page, "2", "−1", "−1", "−1")
            late.page.goto(f"{daemon.url}/overlay/main")
            shows_scores(late.page, "2", "−1", "−1", "−1")
            late.page.goto(f"{daemon.url}/")
            expect(late.page.locator(".panel .player .stocks .hidden").first).to_have_text("Score 2")
            expect(late.page.locator(".panel .numbers tbody tr").first).to_have_text("Score2-1-1-1")
            file.write(finished[len(running_bytes) :])
            file.seek(0)
            file.write(finished[:HEADER_BYTES])
        shows_scores(page, "2", "−1", "0", "−2")
        expect(page.locator(".outcome")).to_have_text("Vixen wins")
        expect(late.page.locator(".panel .result")).to_have_text("Vixen wins")
        watched.check(daemon.url)
        late.check(daemon.url)


def test_overlay_names_a_tie(watched: WatchedPage, page: Page, folder: Path) -> None:
    with running(folder) as daemon:
        page.goto(f"{daemon.url}/overlay/main")
        page.get_by_text("waiting for a game").wait_for()
        data = TimedGame().fall(1, by=0).fall(0, by=1).end(placements=(0, 1))
        (folder / "Game_20260501T120000.slp").write_bytes(data)
        shows_scores(page, "0", "0")
        expect(page.locator(".outcome")).to_have_text("Tie")
        assert page.locator(".player.won").count() == 0
        watched.check(daemon.url)
