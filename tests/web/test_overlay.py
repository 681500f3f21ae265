"""The overlay in a real browser: it fits any size, and it survives its daemon.

The page writes the number of the displayed frame into `data-frame`, so each look at the page is compared with exactly
that frame.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browsers.pages import open_page
from tests.daemons.configuration import requiring_tokens
from tests.daemons.demo import demo
from tests.daemons.process import running
from tests.synthetic.match import synthetic_match
from tests.web.shown import (
    RECORD_WHAT_IS_SHOWN,
    check,
    game_file,
    log_of,
    shown,
    shows_a_frame,
    shows_the_last_frame,
    values,
    written_live,
)

SIZES = [(1920, 1080), (3840, 2160), (600, 200), (400, 700)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "first" / "station"
    folder.mkdir(parents=True)
    return folder


def test_is_transparent_and_fits_any_size(browser: Browser, tmp_path: Path) -> None:
    with demo("--speed", "5", log=tmp_path / "stderr") as playing, open_page(browser) as watched:
        page = watched.page
        page.goto(f"{playing.url}/overlay/demo")
        shows_a_frame(page)
        both = page.locator(".percent").evaluate_all("lines => lines.map((line) => [line.textContent, line.innerText])")
        assert [text for text, _ in both] == [seen for _, seen in both], "the values in the DOM are visible"
        for element in ("html", "body", ".overlay"):
            expect(page.locator(element)).to_have_css("background-color", "rgba(0, 0, 0, 0)")
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            boxes = [box for part in page.locator(".match, .player").all() if (box := part.bounding_box())]
            assert len(boxes) == 3
            for box in boxes:
                assert 0 <= box["x"] <= width - box["width"], (width, height, boxes)
                assert 0 <= box["y"] <= height - box["height"], (width, height, boxes)
            _, left, right = boxes
            assert left["x"] + left["width"] < right["x"], (width, height)
        watched.check(playing.url)


def test_survives_a_killed_daemon(browser: Browser, folder: Path, tmp_path: Path) -> None:
    replay = game_file("v3.18", tmp_path)
    log = log_of(replay)
    with running(folder) as first, written_live(replay, folder, speed=1.5), open_page(browser) as watched:
        page = watched.page
        page.goto(f"{first.url}/overlay/station")
        shows_a_frame(page)
        page.evaluate(RECORD_WHAT_IS_SHOWN)
        shows_a_frame(page, 200)
        first.kill()
        page.locator(".stale").wait_for()
        before = shown(page)
        page.get_by_text("reconnecting").wait_for()
        page.wait_for_timeout(1500)
        assert values(shown(page)) == values(before)
        with running(folder, arguments=("--port", first.url.rpartition(":")[2])) as second:
            assert second.url == first.url
            page.locator(".overlay:not(.stale)").wait_for()
            shows_a_frame(page, int(before["frame"]) + 60)
            shows_the_last_frame(page, log)
            assert shown(page)["status"] is None
            for read in page.evaluate("window.shown"):
                check(read, log)
            numbers = [int(read["frame"]) for read in page.evaluate("window.shown")]
            assert numbers == sorted(numbers)
            assert len(numbers) > 20
        joined_live = [url for url in watched.requested if "cursor=live" in url]
        assert len(joined_live) == 1, "it resumed at its cursor"
        watched.check(first.url, interrupted=True)


def test_passes_the_token_on(browser: Browser, folder: Path, tmp_path: Path) -> None:
    replay = tmp_path / "Game.slp"
    replay.write_bytes(synthetic_match(seed=8, frames=600))
    with running(folder, arguments=requiring_tokens(tmp_path)) as daemon, open_page(browser) as watched:
        watched.page.goto(f"{daemon.url}/overlay/station?token=sesame")
        with written_live(replay, folder, speed=3.0):
            shows_a_frame(watched.page)
        watched.check(daemon.url)
