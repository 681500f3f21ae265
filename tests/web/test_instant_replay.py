"""Instant replay on the dashboard, in a real browser: a game that is being written is scrubbed, and left for what is
live.

Determinism: what the stage shows is compared by frame number with the log of the file, which is known before; the test
waits for what the page shows, so it does not matter how fast anything is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from slpstream.api import messages
from slpstream.simulate.match import synthetic_match
from tests.daemon_process import running
from tests.web.pages import chromium, open_page, screenshot
from tests.web.shown import game_file, written_live

WIDE = ViewportSize(width=1280, height=900)
TEN_SECONDS = 600
SPEED = 6.0
MOST_KEPT_FRAMES = 6 * 300
SHOWN = """() => {
    const { frame } = document.querySelector("stage-view");
    const players = Object.entries(frame?.players ?? {});
    return [frame?.frame ?? null, players.map(([i, { post }]) => [i, post.positionX, post.positionY, post.percent])];
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def entries(path: Path) -> dict[int, list[Any]]:
    """By frame number: what the stage may show of each player. The last revision is the one that stays."""
    found: dict[int, list[Any]] = {}
    for message in messages(path, topics=("frame",), frames="finalized"):
        if message.type == "frame":
            entry = msgspec.json.decode(message.entry())
            posts = [(index, player["post"]) for index, player in entry["players"].items()]
            found[entry["frame"]] = [[i, p["positionX"], p["positionY"], p["percent"]] for i, p in posts]
    return found


def shows(page: Page, frame: int) -> None:
    """Waits until the stage shows a frame."""
    page.locator(f"stage-view[data-frame='{frame}']").wait_for()


def number(page: Page) -> int:
    return int(page.locator("stage-view").get_attribute("data-frame") or -999)


def newest(slider: Locator) -> int:
    return int(slider.get_attribute("max") or -999)


def plays_past(page: Page, frame: int) -> None:
    page.wait_for_function("frame => Number(document.querySelector('stage-view')?.dataset.frame) > frame", arg=frame)


def test_scrub_back_ten_seconds_in_a_running_game_and_return_to_live(browser: Browser, tmp_path: Path) -> None:
    path = game_file("duplicate_game_end", tmp_path, frames=4000, stocks=4, rollbacks=True)
    expected = entries(path)
    folder = tmp_path / "main"
    folder.mkdir()
    with running(folder) as daemon, open_page(browser, viewport=WIDE, color_scheme="dark") as watched:
        daemon.wait_ready()
        page = watched.page
        page.goto(f"{daemon.url}/?delta=1")
        bar, slider = page.locator("replay-bar"), page.get_by_role("slider", name="Place in the game")
        with written_live(path, folder, SPEED):
            plays_past(page, 800)
            expect(page.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "true")
            expect(page.get_by_role("button", name="Live")).to_have_text("LIVE")

            page.get_by_role("button", name="Pause").click()
            expect(bar).to_have_attribute("data-live", "false")
            page.locator("replay-bar[data-waiting=false]").wait_for()
            paused = int(slider.input_value())
            shows(page, paused)
            assert page.evaluate(SHOWN) == [paused, expected[paused]]
            before = newest(slider)

            page.get_by_role("button", name="back ten seconds").click()
            shows(page, paused - TEN_SECONDS)
            assert page.evaluate(SHOWN) == [paused - TEN_SECONDS, expected[paused - TEN_SECONDS]]
            expect(page.get_by_role("button", name="Back to live")).to_have_attribute("aria-pressed", "false")
            screenshot(page, "dashboard-replay-1280")

            page.locator("body").press("ArrowRight")
            shows(page, paused - TEN_SECONDS + 60)
            page.locator("body").press("Shift+ArrowLeft")
            shows(page, paused - TEN_SECONDS + 59)
            assert page.evaluate(SHOWN)[1] == expected[paused - TEN_SECONDS + 59]

            slider.fill("-60")
            shows(page, -60)
            assert page.evaluate(SHOWN)[1] == expected[-60]
            expect(slider).to_have_attribute("aria-valuetext", re.compile(r"0:00 of \d:\d\d"))

            page.get_by_role("button", name="1× speed").click()
            page.get_by_role("button", name="Play").click()
            plays_past(page, -40)
            shown, posts = page.evaluate(SHOWN)
            assert posts == expected[shown]
            assert newest(slider) > before, "live messages are received all the while"

            page.get_by_role("button", name="Back to live").click()
            expect(bar).to_have_attribute("data-live", "true")
            plays_past(page, before)

            page.get_by_role("button", name="back ten seconds").click()
            expect(bar).to_have_attribute("data-live", "false")
            page.wait_for_function(
                "most => document.querySelector('stage-view').frame?.frame < most", arg=newest(slider) - 300
            )
            shown, posts = page.evaluate(SHOWN)
            assert posts == expected[shown]
            slider.press("End")
            expect(bar).to_have_attribute("data-live", "true")
        asked = [url for url in watched.asked if "/frames?" in url]
        assert 1 <= len(asked) < 40
        watched.check(daemon.url)


def test_a_game_that_is_over(browser: Browser, tmp_path: Path) -> None:
    """It is there from its first frame on, stops at its last one, and there is nothing to return to. However much of it
    is looked at, few of its frames are kept."""
    folder = tmp_path / "main"
    folder.mkdir()
    path = folder / "Game_1.slp"
    path.write_bytes(synthetic_match(seed=3, frames=3000, stocks=4, stage_id=2))
    expected = entries(path)
    last = max(expected)
    with running(folder) as daemon, open_page(browser, viewport=WIDE) as watched:
        daemon.wait_ready()
        daemon.until(lambda: bool(daemon.get("/v1/games")["games"]))
        game_id = daemon.get("/v1/games")["games"][0]["gameId"]
        page = watched.page
        page.goto(f"{daemon.url}/#game/{game_id}")
        shows(page, -123)
        assert page.evaluate(SHOWN)[1] == expected[-123]
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        expect(page.locator("replay-bar .live")).to_be_hidden()
        slider = page.get_by_role("slider", name="Place in the game")
        assert newest(slider) == last
        slider.fill(str(last - 30))
        shows(page, last - 30)
        page.get_by_role("button", name="Play").click()
        shows(page, last)
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        assert page.evaluate(SHOWN)[1] == expected[last]

        kept = page.evaluate(
            """async ([gameId, last]) => {
              const { Recording } = await import("/static/dashboard/recording.js");
              const ask = async (path) => ((answer) => answer.json().then((body) => ({ status: answer.status, body })))(
                await fetch(`/${path}`));
              const recording = new Recording(ask, gameId, ["post.percent"], () => {});
              const kept = [];
              for (let at = -123; at < last; at += 290) {
                recording.want(at, last);
                while (!recording.knows(at)) {
                  await new Promise((resolve) => setTimeout(resolve, 5));
                }
                kept.push([recording.frames.size, recording.at(at).frame === at]);
              }
              return kept;
            }""",
            [game_id, last],
        )
        assert len(kept) >= 10
        assert all(right for _, right in kept)
        assert 300 <= max(size for size, _ in kept) <= MOST_KEPT_FRAMES
        watched.check(daemon.url)
