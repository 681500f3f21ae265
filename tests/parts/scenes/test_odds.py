"""The bar with the odds in the live scene, which is shown only if the address asks for it and there are odds."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.browsers.pages import open_page
from tests.daemons.process import DaemonProcess
from tests.parts.scenes.on_air import GAME, opened, scene_address

OTHER_GAME = "f" * 32


def test_bar_with_the_odds(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        page = watched.page
        station = opened(page, scene_address(empty_daemon, "live", "?odds=1&motion=0&lang=en"))
        assert "also=odds" in station.routes[-1].url
        bar = page.locator(".advantage")
        station.station("playing", GAME)
        station.start("Vixen", "Altea")
        station.frame(1200, 62, 88)
        page.locator("[data-frame='1200']").wait_for()
        expect(bar).to_be_hidden()
        for frame, odds in ((570, 0.9), (900, 0.5), (1200, 0.304)):
            station.odds(frame, odds)
        expect(bar).to_have_attribute("aria-label", "Chances to win: Vixen 30%, Altea 70%")
        expect(bar.locator(".chance")).to_have_text(["30%", "70%"])
        path = bar.locator("path.left")
        expect(path).to_have_attribute("d", "M0 0L30.4 0L50.0 300L0 300Z")  # the point at 570 is too old
        station.odds(1230, 0.0031)
        expect(bar.locator(".chance")).to_have_text(["1%", "99%"])
        station.set(("Vixen", "Altea"), swapped=True)
        expect(bar).to_have_attribute("aria-label", "Chances to win: Altea 99%, Vixen 1%")
        station.odds(60, 0.5, OTHER_GAME)
        expect(bar).to_be_hidden()
        station.odds(1260, 0)
        expect(bar.locator(".chance")).to_have_text(["100%", "0%"])
        station.end(1)
        expect(bar).to_be_hidden()
        watched.check(empty_daemon.url)


def test_no_bar_unless_the_address_asks_for_it(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        station = opened(watched.page, scene_address(empty_daemon, "live"))
        assert "odds" not in station.routes[-1].url
        station.start("Vixen", "Altea")
        station.odds(1200, 0.3)
        station.frame(1200, 62, 88)
        watched.page.locator("[data-frame='1200']").wait_for()
        expect(watched.page.locator(".advantage")).to_have_count(0)
        watched.check(empty_daemon.url)
