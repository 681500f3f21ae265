"""The made-up set that every scene shows if its address ends in `#example`."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browsers.pages import open_page
from tests.daemons.process import DaemonProcess
from tests.web.on_air import CUT, poor_contrasts, scene_address

SHOWN = {
    "live": (".name bdi", ["Vixen", "Altea"]),
    "versus": (".plate .name", ["Vixen", "Altea"]),
    "game-result": (".outcome", ["Vixen wins"]),
    "set-result": (".decisive .words", ["Vixen: Up Smash at 109% on Dream Land N64"]),
    "up-next": (".sides .name", ["Vixen", "Altea"]),
    "replay": (".caption", ["Vixen: Up Smash at 109%"]),
    "controller": (".pad .name", ["Vixen", "Altea"]),
    "ticker": (".items:first-child .names.won", ["Bramble"]),
}


@pytest.fixture(scope="module")
def browser(drawing_browser: Browser) -> Browser:
    return drawing_browser


def test_every_scene_has_something_to_show(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        page = watched.page
        for scene, (selector, texts) in SHOWN.items():
            page.goto("about:blank")
            page.goto(scene_address(empty_daemon, scene, "?theme=varsity&motion=0#example"))
            expect(page.locator(selector)).to_have_text(texts)
            assert page.evaluate(CUT) == [] or scene == "ticker", scene
            assert poor_contrasts(page) == [], scene
        assert [url for url in watched.requested if "/v1/" in url] == [], "nothing is asked of the daemon"
        watched.check(empty_daemon.url)


def test_game_runs_to_its_result_whatever_the_delay(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        watched.page.goto(scene_address(empty_daemon, "live", "?delay=60s&show=names,percent,score,combo#example"))
        calls = watched.page.locator(".call")
        expect(calls).to_have_text(["KO!117%", "Stock lost"])
        expect(watched.page.locator(".outcome")).to_have_text("Vixen wins")
        expect(watched.page.locator(".overlay")).to_have_attribute("data-phase", "playing")
        watched.check(empty_daemon.url)


def test_without_the_fragment_nothing_is_made_up(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        watched.page.goto(scene_address(empty_daemon, "versus"))
        watched.page.locator(".scene[data-phase=waiting]").wait_for()
        assert not any(re.search(r"/example\.js", url) for url in watched.requested)
