"""How all scenes except the live one look: versus, results, next set, replay, ticker, controllers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from slpstream.parts.scenes.pages import STATION_SCENES, TICKER
from tests.browsers.pages import WatchedPage
from tests.daemons.process import DaemonProcess
from tests.marks import release
from tests.parts.scenes.on_air import (
    CELLS,
    CROWDED,
    CUT,
    NAMES,
    SIZES,
    Station,
    announce,
    game_picture,
    opened,
    poor_contrasts,
    scene_address,
    settle,
)
from tests.sets.bundled_set import DECISIVE

SCENES = (*STATION_SCENES[1:], TICKER)
"""All but the live scene."""
FED = ("matchup", "up-next", "controller", "casters", "ticker")
"""The scenes that get their messages from a test."""


def use(page: Page, theme: str, size: tuple[int, int]) -> None:
    """Give an open page another theme and size, and draw a game below it."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate(
        # Boards are rebuilt, because the theme of a page never changes.
        "([theme, picture]) => {"
        " document.querySelectorAll('[data-shown]').forEach((each) => delete each.dataset.shown);"
        " const root = document.documentElement; root.dataset.theme = theme;"
        " root.style.background = picture; dispatchEvent(new Event('resize')); }",
        [theme, game_picture(*size)],
    )
    settle(page)


@pytest.mark.parametrize(("scene", "cells"), [*product(SCENES, ["few"]), *release(*product(SCENES, ["all"]))])
def test_themes_and_sizes(watched: WatchedPage, page: Page, played: DaemonProcess, scene: str, cells: str) -> None:
    station = Station(page) if scene in FED else None
    page.goto(scene_address(played, scene, "" if scene == "ticker" else "?motion=0"))
    page.locator(".scene[data-phase]").wait_for()
    if station is not None and scene == "controller":
        station.start("Golden Guardians | Zain", "Cody Schwab")
        station.frame(1200, 134, 47)
    elif station is not None:
        announce(station, page, "Golden Guardians | Zain", "Cody Schwab", casters=["Mika @mika", "Juno"])
        station.matchup(("Golden Guardians | Zain", "Cody Schwab"), ("aMSa", "Plup", "Golden Guardians | Hungrybox"))
    page.locator(".scene[data-phase=shown]").wait_for()
    if scene == "set-result":
        expect(page.locator(".decisive .words")).to_have_text(DECISIVE)
    if scene == "game-result":
        page.locator(".chart").wait_for()
    for theme, size in CELLS[cells]:
        use(page, theme, size)
        check_look(page, (theme, size))
        assert poor_contrasts(page) == [], (theme, size)
    watched.check(played.url)


def check_look(page: Page, what: object) -> None:
    """Check that nothing on the board is cut, covered or outside."""
    hidden = "board.scrollWidth - board.clientWidth, board.scrollHeight - board.clientHeight"
    cut, crowded, width, height = page.locator(".board").evaluate(f"board => [({CUT})(), ({CROWDED})(), {hidden}]")
    assert cut == [], what
    assert crowded == [], what
    assert (width <= 1, height <= 1) == (True, True), what


NAMED = ("player", "up-next", "set-result", "game-result", "ticker", "controller")


@pytest.mark.parametrize("scene", ["versus", *release("casters", *NAMED)])
def test_names_of_a_board_are_not_cut(page: Page, played: DaemonProcess, scene: str) -> None:
    """The names of one set after another; the queue and the ticker also show those of other stations."""
    station = opened(page, scene_address(played, scene, "?motion=0"), "idle")
    finished = played.get("/v1/stations/station/set")
    for size in (SIZES[0], SIZES[2]):
        use(page, "dark", size)
        for left, right in zip(NAMES[::2], NAMES[1::2], strict=True):
            if scene == "controller":
                station.start(left, right)
                station.frame(1200, 134, 47)
            elif scene in ("set-result", "game-result", "player"):
                over = {"state": "over", "winner": 0, "round": "Grand Final", "games": finished["games"]}
                station.set((left, right), (3, 2), **over)
            else:
                announce(station, page, left, right, casters=[f"{left} @{left.split()[0]}", right])
                if scene in ("up-next", "ticker"):
                    station.set((right, left), (1, 0), station="elsewhere")
            tag = left if scene == "casters" else left.split(" | ")[-1]
            page.wait_for_function(
                "tag => [...document.querySelectorAll('.name, .names')].some((name) => name.textContent === tag)",
                arg=tag,
            )
            settle(page)
            check_look(page, (size, left, right))


BASELINES = """() => [...document.querySelectorAll(".plate .name bdi")].map((name) => {
  const probe = document.createElement("span");
  probe.style.display = "inline-block";
  name.append(probe);
  const { bottom } = probe.getBoundingClientRect();
  probe.remove();
  return Math.round(bottom);
})"""


def test_both_sides_have_the_same_baseline(page: Page, played: DaemonProcess) -> None:
    """A sponsor, pronouns or a seed that only one player has, and names of different lengths."""
    station = opened(page, scene_address(played, "versus", "?motion=0"), "idle")
    rows: Sequence[tuple[str, str, dict[int, dict[str, Any]]]] = (
        ("Zain", "Golden Guardians | Cody Schwab", {0: {"seed": 1}}),
        ("Counter Logic Gaming | WWWWWWWWWW", "a", {1: {"pronouns": "they/them"}}),
        ("海鮮炒飯大盛り", "Panda | 侍ソウル", {}),
    )
    for left, right, details in rows:
        announce(station, page, left, right, details=details)
        expect(page.locator(".side.right .name")).to_have_text(right.split(" | ")[-1])
        settle(page)
        one, other = page.evaluate(BASELINES)
        assert abs(one - other) <= 1, (left, right)


def test_board_fills_the_picture(page: Page, empty_daemon: DaemonProcess) -> None:
    for scene in ("versus", "matchup"):
        page.set_viewport_size({"width": 1920, "height": 1080})
        page.goto(scene_address(empty_daemon, scene, "?fill=1&motion=0#example"))
        expect(page.locator(".side .name")).to_have_text(["Vixen", "Altea"])
        assert page.locator(".board").bounding_box() == {"x": 0, "y": 0, "width": 1920, "height": 1080}
        for theme, size in CELLS["few"]:
            use(page, theme, size)
            check_look(page, (scene, theme, size))
            assert poor_contrasts(page) == [], (scene, theme, size)


@pytest.mark.parametrize("scene", ["controller", "casters"])
def test_place_in_the_picture(page: Page, empty_daemon: DaemonProcess, scene: str) -> None:
    """Left and right are at the bottom."""
    boxes = {}
    for at in ("middle", "left", "right"):
        page.goto("about:blank")
        page.goto(scene_address(empty_daemon, scene, f"?players=1&motion=0&at={at}#example"))
        board = page.locator(".pad" if scene == "controller" else ".board")
        expect(board).to_be_visible()
        settle(page)
        box = board.bounding_box()
        assert box is not None
        boxes[at] = (box["x"], 1920 - box["x"] - box["width"], 1080 - box["y"] - box["height"])
    middle, left, right = boxes["middle"], boxes["left"], boxes["right"]
    assert abs(middle[0] - middle[1]) < 2
    assert left[0] < 100 < left[1]
    assert right[1] < 100 < right[0]
    assert max(left[2], right[2]) < 120


LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 1"><path d="M0 0h4v1H0z" fill="#fa0"/></svg>'


def test_logos_of_sponsors(page: Page, empty_daemon: DaemonProcess) -> None:
    """A logo is in the place of the sponsor's name; all of them follow one another at the end of the ticker."""
    sponsors = {"nova ": "sponsors/nova%20.svg", "Team Liquid": "sponsors/gone.svg"}
    own = {"icons": {}, "portraits": {}, "stages": {}, "sponsors": sponsors}
    page.route("**/static/icons/own.json", lambda route: route.fulfill(json=own))
    page.route("**/custom/sponsors/nova*", lambda route: route.fulfill(content_type="image/svg+xml", body=LOGO))
    for scene in ("live", "versus", "player", "set-result", "up-next"):
        page.goto("about:blank")
        page.goto(scene_address(empty_daemon, scene, "?motion=0#example"))
        logo = page.locator(".sponsor img")
        expect(logo).to_have_attribute("alt", "Nova")
        page.wait_for_function("() => document.querySelector('.sponsor img').clientWidth > 20")
        assert page.evaluate(CUT) == [], scene
    station = opened(page, scene_address(empty_daemon, "versus", "?motion=0"), "idle")
    announce(station, page, "Team Liquid | Aki", "Nobody | Bo")
    expect(page.locator(".sponsor")).to_have_text(["Team Liquid", "Nobody"])  # the file of the logo is gone
    page.clock.install()
    page.goto(scene_address(empty_daemon, "ticker", "?motion=0&sponsors=1#example"))
    shown = page.locator(".logos img")
    expect(shown).to_have_attribute("alt", "nova ")
    page.clock.run_for(7000)
    expect(shown).to_have_attribute("alt", "Team Liquid")


EXAMPLES = {
    "live": (".name bdi", ["Vixen", "Altea"]),
    "versus": (".plate .name", ["Vixen", "Altea"]),
    "matchup": (".totals .total", ["3", "1"]),
    "player": (".path-game .outcome", ["Won", "Lost", "Won", "Lost", "Won", "Lost", "Won", "Lost", "Won", "Lost"]),
    "game-result": (".outcome", ["Vixen wins"]),
    "set-result": (".decisive .words", ["Vixen: Up Smash at 109% on Dream Land N64"]),
    "highlights": (".caption p", ["Vixen: Up Smash at 109%", "Game 5 · Dream Land N64 · last stock"]),
    "up-next": (".sides .name", ["Vixen", "Altea"]),
    "replay": (".caption", ["Vixen: Up Smash at 109%"]),
    "controller": (".pad .name", ["Vixen", "Altea"]),
    "casters": (".caster .handle", ["@mika_casts", "@juno"]),
    "ticker": (".items:first-child .names.won", ["Bramble"]),
}
"""The texts that scenes show of the made-up set if their address ends in `#example`."""


def test_every_scene_has_an_example(watched: WatchedPage, page: Page, empty_daemon: DaemonProcess) -> None:
    page.goto(scene_address(empty_daemon, "versus"))
    page.locator(".scene[data-phase=waiting]").wait_for()
    assert not any("/example.js" in url for url in watched.requested)
    del watched.requested[:]
    for scene, (selector, texts) in EXAMPLES.items():
        page.goto("about:blank")
        page.goto(scene_address(empty_daemon, scene, "?motion=0#example"))
        expect(page.locator(selector)).to_have_text(texts)
        settle(page)
        assert page.evaluate(CUT) == [] or scene == "ticker", scene
    page.goto("about:blank")
    page.clock.install()
    page.goto(scene_address(empty_daemon, "live", "?delay=60s&show=names,percent,score,combo#example"))
    expect(page.locator(".overlay")).to_have_attribute("data-phase", "playing")
    page.clock.run_for(3_000)
    expect(page.locator(".call")).to_have_text(["KO!117%", "Stock lost"])
    page.clock.run_for(10_000)
    expect(page.locator(".outcome")).to_have_text("Vixen wins")
    page.clock.run_for(5_000)
    expect(page.locator(".overlay")).to_have_attribute("data-phase", "playing")
    assert [url for url in watched.requested if "/v1/" in url] == [], "no request is sent to the daemon"
    watched.check(empty_daemon.url)


@pytest.mark.release
@pytest.mark.parametrize("scene", EXAMPLES)
def test_contrasts_of_the_example(page: Page, empty_daemon: DaemonProcess, scene: str) -> None:
    """`test_themes_and_sizes` measures those of other texts, which the gate tests too."""
    selector, texts = EXAMPLES[scene]
    page.goto(scene_address(empty_daemon, scene, "?theme=varsity&motion=0#example"))
    expect(page.locator(selector)).to_have_text(texts)
    assert poor_contrasts(page) == []
