"""The live scene over a picture of a game: covered areas, names that fit, and readability.

The tests feed the pages through `on_air.py`. Most tests use one page for many pictures, because a new page takes as
long as all its pictures. The screenshots are in `tests/artifacts/`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.browsers.pages import LONG_MS, WatchedPage, open_page
from tests.daemons.process import DaemonProcess
from tests.marks import release
from tests.parts.scenes.on_air import (
    ASPECTS,
    CELLS,
    CROWDED,
    CUT,
    FIGURES,
    GAME,
    LAYOUTS,
    NAMES,
    OVERLAPS,
    SIZES,
    TIMER,
    Station,
    game_picture,
    opened,
    poor_contrasts,
    settle,
)
from tests.web.javascript import needs_node, run

PERCENTS = (0, 9, 47, 99, 134, 999)
LONG = "Golden Guardians | Zain"
DETAILS = {0: {"pronouns": "they/them", "seed": 12}, 1: {"seed": 3}}


def open_live(page: Page, empty_daemon: DaemonProcess, query: str = "") -> Station:
    return opened(page, f"{empty_daemon.url}/scenes/live/station?{query}")


def play(station: Station, *names: str, frame: int = 1200, teams: bool = False) -> None:
    """Play the third game of a set in which player 0 needs one more win."""
    station.set(
        names, (2, 1), round="Winners Final", event="The Big Field 12", casters=["Toph", "Scar"], details=DETAILS
    )
    station.start(*names, teams=teams)
    station.frame(frame, *(134, 47, 88, 0)[: len(names)], stocks=(2, 3, 4, 1))


def drawn(page: Page, frame: int) -> None:
    """Wait until a frame is shown."""
    page.locator(f".players[data-frame='{frame}']").wait_for(state="attached")


def use(page: Page, theme: str, size: tuple[int, int], aspect: str = "4:3") -> None:
    """Give an open page another theme and size, and draw a game below it."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate(
        "([theme, picture]) => { const root = document.documentElement; root.dataset.theme = theme;"
        " root.style.background = picture; dispatchEvent(new Event('resize')); }",
        [theme, game_picture(*size, ASPECTS[aspect])],
    )
    page.wait_for_function(
        "wanted => { const style = document.documentElement.style;"
        " return Math.abs(parseFloat(style.getPropertyValue('--game-width')) - wanted) < 0.1; }",
        arg=min(size[0], size[1] * ASPECTS[aspect]),
    )
    settle(page)


@pytest.mark.parametrize(("layout", "cells"), [("sides", "few"), ("hud", "few"), *release(*product(LAYOUTS, ["all"]))])
def test_themes_and_sizes(
    watched: WatchedPage, page: Page, empty_daemon: DaemonProcess, layout: str, cells: str
) -> None:
    station = open_live(page, empty_daemon, f"layout={layout}&motion=0&hold=1h")
    play(station, LONG, "Cody Schwab")
    drawn(page, 1200)
    station.combo(1200, 10, 4, 7.5)
    page.locator(".combo.shown").wait_for(state="attached")
    for theme, size in CELLS[cells]:
        station.station("playing", GAME)  # after ten seconds of silence, the page would reconnect
        use(page, theme, size)
        check_look(page, layout, (theme, size))
        assert poor_contrasts(page) == [], (theme, size)
    station.end(0)
    expect(page.locator(".outcome")).to_have_text("Zain wins")
    for theme in {theme for theme, _ in CELLS[cells]}:
        use(page, theme, SIZES[1])
        check_look(page, layout, theme)
        assert poor_contrasts(page) == [], theme
    watched.check(empty_daemon.url)


def check_texts(page: Page, what: object) -> None:
    """Check that no text is cut or covered."""
    cut, crowded = page.evaluate(f"() => [({CUT})(), ({CROWDED})()]")
    assert cut == [], what
    assert crowded == [], what


def check_look(page: Page, layout: str, what: object) -> None:
    """Check that the scene is complete, and does not cover the areas that its layout leaves to the game."""
    check_texts(page, what)
    if layout in ("sides", "top"):
        assert page.evaluate(OVERLAPS, FIGURES) == [], what
        assert page.evaluate(OVERLAPS, TIMER) == [], what


@pytest.mark.parametrize(("layout", "aspect"), [("sides", "4:3"), *release(*product(("sides", "top"), ASPECTS))])
def test_nothing_overlaps_the_display_of_the_game(
    page: Page, empty_daemon: DaemonProcess, layout: str, aspect: str
) -> None:
    """Even with four players, combos, calls, and a result."""
    station = open_live(page, empty_daemon, f"layout={layout}&aspect={aspect}&hold=1h&motion=0")
    for names in ((LONG, "Cody Schwab"), ("Aki", "Bo | Somebody", "Cy", "WWWWWWWWWWWWWWWW")):
        play(station, *names, teams=len(names) == 4)
        station.combo(1200, 10, 4, 7.5)
        station.ko(1201, 0, 1, 87)
        page.locator("[data-call=ko]").wait_for(state="attached")
        for size in SIZES:
            use(page, "dark", size, aspect)
            check_look(page, layout, (names, size))
    station.end(0)
    expect(page.locator(".outcome")).to_have_text("Red team wins")
    for size in SIZES:
        use(page, "dark", size, aspect)
        check_look(page, layout, size)


@pytest.mark.parametrize("layout", ["hud", *release("sides", "top", "bottom")])
def test_names_fit_at_any_percent(page: Page, empty_daemon: DaemonProcess, layout: str) -> None:
    station = open_live(page, empty_daemon, f"layout={layout}&hud=1&motion=0")
    play(station, LONG, "Cody Schwab")
    frame = 1200
    for size in (SIZES[0], SIZES[2]):
        use(page, "dark", size)
        for left, right in zip(NAMES[::2], NAMES[1::2], strict=True):
            frame += 1
            station.set((left, right), (2, 1), details=DETAILS)
            percent = PERCENTS[frame % len(PERCENTS)]
            station.frame(frame, percent, 999 - percent, stocks=(4, 4))
            drawn(page, frame)
            texts = page.locator(".player").evaluate_all(
                "cards => cards.map((card) => ['.sponsor', '.name']"
                ".map((part) => card.querySelector(part).textContent).filter(Boolean).join(' | '))"
            )
            assert texts == [left, right]
            settle(page)
            check_texts(page, (size, left, right))
    widths = set()
    for percent in PERCENTS:
        frame += 1
        station.frame(frame, percent, percent, stocks=(4, 4))
        drawn(page, frame)
        assert page.evaluate(CUT) == [], percent
        widths.update(page.locator(".name").evaluate_all("names => names.map((name) => name.clientWidth)"))
    assert len(widths) <= 2, "the names keep their width at every percent"


def test_cards_are_as_wide_as_their_content(page: Page, empty_daemon: DaemonProcess) -> None:
    station = open_live(page, empty_daemon, "layout=hud&show=names,score")
    play(station, "Aki", "Bo")
    drawn(page, 1200)
    assert page.locator(".overlay").get_attribute("data-layout") == "bottom"
    left, right = (page.locator(".card").nth(i).bounding_box() for i in (0, 1))
    assert left is not None
    assert right is not None
    assert left["width"] < 400
    assert left["height"] < 60
    assert page.evaluate(OVERLAPS, FIGURES) == []
    assert not page.locator(".cover.figures").is_visible()


def test_top_is_symmetric(page: Page, empty_daemon: DaemonProcess) -> None:
    """Plates and names mirror each other, even if only one player has a sponsor, details, a combo and a set point."""
    station = open_live(page, empty_daemon, "layout=top&motion=0")
    station.set(("Nova | Aki", "Bo"), (2, 1), details={0: {"pronouns": "she/her", "seed": 2}})
    station.start("Aki", "Bo")
    station.frame(1200, 134, 47)
    station.combo(1200, 10, 4, 7.5)
    page.locator(".combo.shown").wait_for()
    settle(page)
    for part in (".card", ".swatch", ".score", ".name"):
        left, right = page.locator(part).evaluate_all(
            "parts => parts.map((part) => part.getBoundingClientRect()).map(({ left, right, top, bottom }, i) =>"
            " i === 0 ? [left, top, bottom] : [innerWidth - right, top, bottom])"
        )
        assert left == pytest.approx(right, abs=0.5), part


def test_panels_in_place_of_the_display_are_opaque(page: Page, empty_daemon: DaemonProcess) -> None:
    """White and black video below give the same pixels, even for an eliminated player."""
    station = open_live(page, empty_daemon, "layout=hud&motion=0")
    station.set(("Aki", "Bo"), (2, 1))
    station.start("Aki", "Bo")
    station.frame(1200, 134, 0, stocks=(0, 3))
    drawn(page, 1200)

    def picture(colour: str) -> bytes:
        page.evaluate("colour => { document.documentElement.style.background = colour; }", colour)
        settle(page)
        box = page.locator(".cover.figures").bounding_box()
        assert box is not None
        return page.screenshot(clip={"x": 0, "y": box["y"] + 1, "width": box["width"], "height": box["height"] - 2})

    deadline = time.monotonic() + LONG_MS / 1000
    while picture("white") != picture("black"):  # Chromium can still be drawing the tiles of the page
        assert time.monotonic() < deadline


def test_moments_of_a_game(watched: WatchedPage, page: Page, empty_daemon: DaemonProcess) -> None:
    station = open_live(page, empty_daemon)
    play(station, "Aki", "Bo")
    calls = page.locator(".call")
    expect(calls).to_have_text(["Set point", ""])
    station.ko(1201, 1, 0, 134.6)
    expect(calls).to_have_text(["Stock lost", "KO!134%"])
    assert page.evaluate("() => document.getAnimations().length") > 0
    expect(calls).to_have_text(["Set point", ""])
    watched.check(empty_daemon.url)


@pytest.mark.parametrize("how", ["motion=0", "reduced"])
def test_motion_can_be_removed(browser: Browser, empty_daemon: DaemonProcess, how: str) -> None:
    preference = "reduce" if how == "reduced" else "no-preference"
    with open_page(browser, reduced_motion=preference) as watched:
        page = watched.page
        station = open_live(page, empty_daemon, how if how != "reduced" else "")
        play(station, "Aki", "Bo")
        station.combo(1200, 10, 4, 7.5)
        station.ko(1201, 1, 0, 134.6)
        expect(page.locator(".call").last).to_have_text("KO!134%")
        assert page.evaluate("() => document.getAnimations().length") == 0


def refusing(code: int) -> Callable[[WebSocketRoute], None]:
    return lambda route: route.close(code=code, reason="in the daemon's words")


def test_refusals_are_in_the_language_of_the_page(browser: Browser, empty_daemon: DaemonProcess) -> None:
    for code, query, words in (
        (4401, "lang=ja&token=old", "アクセストークンが間違っています。"),
        (4401, "lang=es", "Esta página necesita el token de acceso."),
        (4404, "lang=en", "There is no station “station”."),
    ):
        with open_page(browser) as watched:
            page = watched.page
            page.route_web_socket("**/v1/stream**", refusing(code))
            page.goto(f"{empty_daemon.url}/scenes/live/station?{query}")
            expect(page.locator(".status")).to_have_text(words)


@needs_node
def test_area_of_the_picture() -> None:
    script = """
      const { gameArea } = await import("./game_area.js");
      return given.map(([width, height, aspect]) => gameArea(width, height, aspect));
    """
    wide, narrow, same = run(script, [[1920, 1080, 4 / 3], [300, 360, 4 / 3], [1280, 720, 16 / 9]])
    assert wide == {"left": 240, "top": 0, "width": 1440, "height": 1080, "form": "pillars"}
    assert narrow == {"left": 0, "top": 67.5, "width": 300, "height": 225, "form": "bars"}
    assert same["form"] == "full"


@needs_node
def test_sponsor_and_tag_of_a_name() -> None:
    wanted = {
        "Zain": ("", "Zain"),
        "Golden Guardians | Zain": ("Golden Guardians", "Zain"),
        "A | B | C": ("A | B", "C"),
        "no|spaces": ("", "no|spaces"),
        "nothing | ": ("", "nothing | "),
        "チーム ｜ 選手": ("チーム", "選手"),
    }
    script = 'const { splitName } = await import("./scenes/people.js"); return given.map(splitName);'
    found = run(script, list(wanted))
    assert [(each["sponsor"], each["tag"]) for each in found] == list(wanted.values())
