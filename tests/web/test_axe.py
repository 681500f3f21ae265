"""Axe finds no fault on any page, in any scheme or theme. Pages do not move while they load, and need few requests
until they show something. A new page needs a row of `PAGES`.

The gate checks each page in one scheme and size, and each scene in one theme.

Other modules run axe on single states of a page, such as an open dialog or sixteen playing stations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

from tests.browsers.axe import check_with_axe, needs_axe
from tests.browsers.pages import FULL_HD, PHONE, WIDE, open_page
from tests.daemons.process import DaemonProcess
from tests.marks import release
from tests.parts.scenes.on_air import THEMES, game_picture
from tests.web.whole_site import whole_site

pytestmark = [
    pytest.mark.parts("api_docs", "audit", "bracket", "dashboard", "director", "editor", "seats", "wall"),
    pytest.mark.slow,
    needs_axe,
]

PAGES: Mapping[str, tuple[str, str]] = {
    "overview": ("/#", ".station .percent"),
    "station": ("/#station/playing", ".set-game .what"),
    "station after a set": ("/#station/station", "game-summary .numbers td"),
    "game": ("/#game/{game}", "game-summary .numbers td"),
    "wall": ("/#wall", ".tile .player-name"),
    "remote": ("/#remote/playing", ".remote .points"),
    "first run": ("/#first-run", ".first-run .folders code"),
    "login": ("/#login", ".login input"),
    "editor": ("/#editor/playing/live?theme=neon&players=1", ".preview-stage iframe:not(.coming)"),
    "docs": ("/docs", ".console .connect"),
    "docs, overview": ("/docs#http", "#http tbody"),
    "docs, endpoint": ("/docs#operation-listGames", "#operation-listGames tbody"),
    "audit": ("/audit", ".setup h3"),
    "bracket": ("/bracket", ".queue .none"),
    "commentary": ("/commentary/playing", "main p"),
    "trends": ("/trends?me=Vixen", ".drawing circle"),
    "unknown station": ("/overlay/nobody", "body[data-problem=unknown_station] h1"),
    "unknown page": ("/nothing", "body[data-problem=not_found] h1"),
}
"""Pages with a light and a dark scheme: address, and a selector that is visible once the page is complete."""
SCENES: Mapping[str, tuple[str, str]] = {
    "overlay": ("/overlay/playing", ".player .name"),
    "live, sides": ("/scenes/live/playing", ".player .name"),
    "live, top": ("/scenes/live/playing?layout=top", ".player .name"),
    "live, bottom": ("/scenes/live/playing?layout=bottom", ".player .name"),
    "versus": ("/scenes/versus/playing", ".side .name"),
    "versus, fill": ("/scenes/versus/playing?fill=1", ".side .name"),
    "matchup": ("/scenes/matchup/playing#example", ".tape"),
    "player": ("/scenes/player/station", ".fact"),
    "game-result": ("/scenes/game-result/station", ".chart"),
    "set-result": ("/scenes/set-result/station", ".decisive"),
    "highlights": ("/scenes/highlights/station", ".details"),
    "up-next": ("/scenes/up-next/next", ".side .name"),
    "replay": ("/scenes/replay/station", "stage-view"),
    "controller": ("/scenes/controller/playing", ".pad .name"),
    "casters": ("/scenes/casters/playing?casters=Mika%20@mika,Juno", ".caster"),
    "ticker": ("/scenes/ticker", ".item"),
    "director": ("/scenes/director?odds=1#example", ".tile .advantage"),
    "director, quad": ("/scenes/director?layout=quad#example", ".tile .name"),
}
"""Scenes, which have themes."""


FIRST: Mapping[str, str] = {
    "station": ".panel:not(.loading) .players .name",
    "station after a set": ".panel:not(.loading) .players .name",
    "game": ".panel:not(.loading) .where",
    "first run": ".first-run h2",
    "editor": ".editor h2",
    "docs": "p.loading",
    "docs, overview": "p.loading",
    "docs, endpoint": "p.loading",
    "player": ".name",
    "remote": ".remote .controls .undo",  # the stream brings the set, with its points and sides
}
"""What a page shows first, if that is less than the complete page."""
MAX_REQUESTS = 9
COUNT = """(() => {
    const sockets = [];
    const Socket = WebSocket;
    globalThis.WebSocket = class extends Socket {
        constructor(...given) {
            super(...given);
            sockets.push({ name: given[0], startTime: performance.now() });
        }
    };
    const isShown = (each) => each.checkVisibility({ visibilityProperty: true });
    const look = () => {
        if (globalThis.requestsBefore || ![...document.querySelectorAll(FIRST)].some(isShown)) {
            return;
        }
        changes.disconnect();
        clearInterval(timer);
        const now = performance.now();
        const begun = ({ name, startTime }) => startTime <= now && !/^data:|[.]woff2$/.test(name);
        const requests = () => [...performance.getEntriesByType("resource"), ...sockets].filter(begun);
        globalThis.requestsBefore = () => [location.href, ...requests().map(({ name }) => String(name))];
    };
    const changes = new MutationObserver(look);
    changes.observe(document, { subtree: true, childList: true, attributes: true });
    const timer = setInterval(look, 4); // a stylesheet that arrives changes what is shown, but not the document
})();"""
"""Counts the requests that begin before the first picture. Fonts are left out, because pages draw without them.

We don't wait for animation frames, because on a busy machine they come long after a change.
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with whole_site(tmp_path_factory.mktemp("site")) as site:
        yield site


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One context for all tests, because a new one loads every script again."""
    with open_page(browser, reduced_motion="reduce", bypass_csp=True) as watched:
        yield watched.page.context


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    page = context.new_page()
    yield page
    page.close()


def opened(page: Page, site: DaemonProcess, name: str, size: ViewportSize) -> None:
    """Load a page in this size and with the light scheme."""
    address, complete = {**PAGES, **SCENES}[name]
    page.add_init_script(COUNT.replace("FIRST", json.dumps(FIRST.get(name, complete))))
    game = site.get("/v1/games?station=station")["games"][0]["gameId"] if "{game}" in address else ""
    page.set_viewport_size(size)
    page.emulate_media(color_scheme="light")
    page.goto(f"{site.url}{address.format(game=game)}")
    page.locator(complete).first.wait_for()
    requests = page.wait_for_function("() => globalThis.requestsBefore?.()").json_value()
    assert len(requests) <= MAX_REQUESTS, requests


MAX_SHIFT = 0.1
"""The largest cumulative layout shift that counts as good."""
SHIFT = """() => new Promise((done) => {
    let shift = 0;
    const add = (list) => list.getEntries().forEach(({ value }) => { shift += value; });
    new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(shift), 200);
})"""
LOOKS: Mapping[str, Sequence[tuple[ViewportSize, Literal["dark", "light"]]]] = {
    "dark": [(WIDE, "dark")],
    "others": [(WIDE, "light"), (PHONE, "dark"), (PHONE, "light")],
}


@pytest.mark.parametrize(("name", "looks"), [*product(PAGES, ["dark"]), *release(*product(PAGES, ["others"]))])
def test_axe_finds_nothing_on_pages(page: Page, site: DaemonProcess, name: str, looks: str) -> None:
    opened(page, site, name, WIDE)
    if name not in ("first run", "login"):  # they push the stations down once they are needed
        assert page.evaluate(SHIFT) < MAX_SHIFT
    for viewport, scheme in LOOKS[looks]:
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=scheme)
        check_with_axe(page)


@pytest.mark.parametrize(("name", "theme"), [*product(SCENES, THEMES[:1]), *release(*product(SCENES, THEMES[1:]))])
def test_axe_finds_nothing_on_scenes(page: Page, site: DaemonProcess, name: str, theme: str) -> None:
    """Without contrasts, which axe cannot measure over a picture: separate tests measure those of scenes."""
    opened(page, site, name, FULL_HD)
    page.evaluate("picture => { document.documentElement.style.background = picture; }", game_picture(1920, 1080))
    page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", theme)
    check_with_axe(page, "page-has-heading-one")  # a scene is a picture over a video
