"""The scene of the director: a page that is open while a daemon chooses stations, and while it restarts."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browsers.pages import LONG_MS, open_page
from tests.daemons.configuration import configuration
from tests.daemons.played_game import PlayedGame
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import ask
from tests.ports import free_port
from tests.synthetic.match import synthetic_match

NAMES = ("left", "middle", "right")
RECORD = """() => {
  window.large = [];
  const note = () => {
    const now = [...document.querySelectorAll(".tile.large")].map((tile) => tile.dataset.station).join();
    if (now !== window.large.at(-1)) window.large.push(now);
  };
  note();
  new MutationObserver(note).observe(document.querySelector(".tiles"), { subtree: true, attributeFilter: ["class"] });
}"""
"""Records the large stations, one after another."""


def large(page: Page) -> Locator:
    return page.locator(".tile.large")


def tile(page: Page, station: str) -> Locator:
    return page.locator(f".tile[data-station={station}]")


def pin(daemon: DaemonProcess, station: str | None) -> None:
    assert ask(daemon, "/v1/director/pin", {"station": station}).status == 200


def places(page: Page) -> dict[str, list[int]]:
    """Left, top, width and height of each tile in pixels, without the animation."""
    found: dict[str, list[int]] = page.evaluate(
        "() => Object.fromEntries([...document.querySelectorAll('.tile')].map((tile) => {"
        " const { left, top, width, height } = tile.getBoundingClientRect();"
        " return [tile.dataset.station, [left, top, width, height].map(Math.round)]; }))"
    )
    return found


def test_choice_pin_and_restart(browser: Browser, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in NAMES]
    for folder in folders:
        folder.mkdir()
    text = f"[director]\nstations = {list(NAMES)}\nhold_seconds = 0\n"
    arguments = (*configuration(tmp_path, text), "--port", str(free_port()))
    state = tmp_path / "state"
    with open_page(browser) as watched:
        page = watched.page
        with running(*folders, arguments=arguments, state=state) as daemon:
            daemon.wait_ready()
            page.goto(f"{daemon.url}/scenes/director")
            expect(large(page)).to_have_attribute("data-station", "left")
            page.evaluate(RECORD)
            before = places(page)
            game = PlayedGame(folders[2] / "Game_1.slp", synthetic_match(seed=5))
            game.write(100_000)
            expect(large(page)).to_have_attribute("data-station", "right")
            expect(large(page).locator(".name")).to_have_count(2)
            # The first station is in the place of the large one, and the other one stays where it is.
            after = places(page)
            assert after == {"left": before["right"], "middle": before["middle"], "right": before["left"]}

            pin(daemon, "left")
            expect(large(page)).to_have_attribute("data-station", "left")
            shown = int(tile(page, "right").locator("stage-view").get_attribute("data-frame") or 0)
            game.write(50_000)
            page.wait_for_function(
                "shown => Number(document.querySelector('[data-station=right] stage-view').dataset.frame) > shown + 60",
                arg=shown,
            )
            assert page.evaluate("large") == ["left", "right", "left"]
            pin(daemon, None)
            expect(large(page)).to_have_attribute("data-station", "right")
            assert daemon.terminate() == 0
            page.locator(".director.stale").wait_for()
        # The station that is read first is not the tensest one.
        PlayedGame(folders[0] / "Game_1.slp", synthetic_match(seed=6)).write(50_000)
        with running(*folders, arguments=arguments, state=state) as daemon:
            page.locator(".director:not(.stale)").wait_for(timeout=LONG_MS)
            expect(tile(page, "left").locator(".name")).to_have_count(2)
            assert page.evaluate("large") == ["left", "right", "left", "right"]
            watched.check(daemon.url, interrupted=True)
