"""Axe finds nothing on any page, in any scheme or theme. A new page is a new row of `PAGES`.

The other modules run axe on single states of a page, such as an open dialog or sixteen stations that play.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.daemons.process import DaemonProcess
from tests.project import IN_CI
from tests.web.on_air import THEMES, game_picture
from tests.web.pages import open_page
from tests.web.test_dashboard import AXE, PHONE, WIDE
from tests.web.whole_site import whole_site

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AXE.is_file() and not IN_CI, reason="no axe-core; run: npm install --prefix tests/oracles"),
]

PAGES: Mapping[str, tuple[str, str]] = {
    "overview": ("/#", ".station .percent"),
    "station": ("/#station/playing", ".set-game .what"),
    "station after a set": ("/#station/station", "game-summary .numbers td"),
    "game": ("/#game/{game}", "game-summary .numbers td"),
    "wall": ("/#wall", ".tile .player-name"),
    "first run": ("/#first-run", ".first-run .folders code"),
    "login": ("/#login", ".login input"),
    "docs": ("/docs", "[id^=type-]"),
    "audit": ("/audit", ".setup h3"),
    "bracket": ("/bracket", ".queue .none"),
    "unknown station": ("/overlay/nobody", "body[data-problem=unknown_station] h1"),
    "unknown page": ("/nothing", "body[data-problem=not_found] h1"),
}
"""Pages with a light and a dark scheme: address, and what is visible once the page is complete."""
SCENES: Mapping[str, tuple[str, str]] = {
    "overlay": ("/overlay/playing", ".player .name"),
    "live, sides": ("/scenes/live/playing", ".player .name"),
    "live, top": ("/scenes/live/playing?layout=top", ".player .name"),
    "live, bottom": ("/scenes/live/playing?layout=bottom", ".player .name"),
    "versus": ("/scenes/versus/playing", ".side .name"),
    "game-result": ("/scenes/game-result/station", ".chart"),
    "set-result": ("/scenes/set-result/station", ".decisive"),
    "up-next": ("/scenes/up-next/next", ".side .name"),
    "replay": ("/scenes/replay/station", "stage-view"),
    "controller": ("/scenes/controller/playing", ".pad .name"),
    "ticker": ("/scenes/ticker", ".item"),
}
"""Scenes, which have themes."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with whole_site(tmp_path_factory.mktemp("site")) as site:
        yield site


def violations(page: Page, *disabled: str) -> list[tuple[str, list[str]]]:
    """The rules that axe finds broken, with the elements. Every rule is checked except those that are disabled."""
    options = {"resultTypes": ["violations"], "rules": {rule: {"enabled": False} for rule in disabled}}
    found = page.evaluate("options => axe.run(document, options)", options)
    assert found["passes"], "axe checked nothing"
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]


def opened(page: Page, site: DaemonProcess, address: str, complete: str) -> None:
    """Open a page, with axe in it."""
    game = site.get("/v1/games?station=station")["games"][0]["gameId"] if "{game}" in address else ""
    page.goto(f"{site.url}{address.format(game=game)}")
    page.locator(complete).first.wait_for()
    page.evaluate(Path(AXE).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_in_either_scheme(browser: Browser, site: DaemonProcess, name: str) -> None:
    with open_page(browser, viewport=WIDE, reduced_motion="reduce", bypass_csp=True) as watched:
        page = watched.page
        opened(page, site, *PAGES[name])
        for viewport in (WIDE, PHONE):
            page.set_viewport_size(viewport)
            for scheme in ("dark", "light"):
                page.emulate_media(color_scheme=scheme)
                assert violations(page) == [], (scheme, viewport)


@pytest.mark.parametrize("name", SCENES)
def test_axe_finds_nothing_in_any_theme(browser: Browser, site: DaemonProcess, name: str) -> None:
    """Over a picture, which axe cannot measure contrasts on: those of scenes are measured by tests of their own."""
    with open_page(browser, reduced_motion="reduce", bypass_csp=True) as watched:
        page = watched.page
        opened(page, site, *SCENES[name])
        page.evaluate("picture => { document.documentElement.style.background = picture; }", game_picture(1920, 1080))
        for theme in THEMES:
            page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
            # A scene is a picture over a video, whose texts have no outline.
            assert violations(page, "page-has-heading-one") == [], theme
