"""The station's page as a desk, and as a remote control on a phone, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browsers.axe import check_with_axe
from tests.browsers.pages import PHONE, open_page
from tests.daemons.process import DaemonProcess
from tests.daemons.requests import correct_set
from tests.web.whole_site import whole_site

DESK = {"width": 1600, "height": 900}
LONG_NAMES = {
    "names": {"0": "あぷこ・ザ・キャプテン", "1": "Golden Guardians Melee Superlong Player"},
    "players": {"0": {"sponsor": "日本スマブラ協会", "pronouns": "they/them/theirs", "seed": 9999}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with whole_site(tmp_path_factory.mktemp("site")) as site:
        correct_set(site, "playing", LONG_NAMES)
        yield site


def box(of: Locator) -> tuple[float, float, float, float]:
    """The left, top, right and bottom edge of an element."""
    bounds = of.bounding_box()
    assert bounds is not None
    return bounds["x"], bounds["y"], bounds["x"] + bounds["width"], bounds["y"] + bounds["height"]


@pytest.mark.parts("on_air")
def test_set_is_next_to_the_stage_and_stays(browser: Browser, site: DaemonProcess) -> None:
    with open_page(browser, viewport=DESK, bypass_csp=True) as watched:
        page = watched.page
        page.goto(f"{site.url}/#station/playing")
        stage, panel = page.locator(".detail stage-view"), page.locator(".detail .set")
        expect(stage).to_be_visible()
        assert box(stage)[2] <= box(panel)[0]
        on_air = page.locator(".put-on-air")
        on_air.wait_for()  # it comes after the first picture
        assert box(on_air)[2] > box(stage)[2]
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(panel.locator(".more").first).to_be_in_viewport(ratio=1)
        assert page.evaluate("scrollY") > 0
        check_with_axe(page)
        watched.check(site.url)


def test_keys_count_games_except_in_fields(browser: Browser, site: DaemonProcess) -> None:
    with open_page(browser, viewport=DESK) as watched:
        page = watched.page
        page.goto(f"{site.url}/#station/next")
        panel = page.locator(".detail .set")
        points = panel.locator(".points")
        expect(points).to_have_text(["0", "0"])
        page.keyboard.press("1")
        page.keyboard.press("2")
        page.keyboard.press("2")
        expect(points).to_have_text(["1", "2"])
        length = panel.get_by_label("Best of")
        assert length.locator("option").all_text_contents()[:5] == ["1", "3", "5", "7", "2"]
        round_field = panel.get_by_role("textbox", name="Round")
        round_field.clear()
        round_field.press_sequentially("Pool 12 mo")
        round_field.press("Enter")
        expect(panel.locator(".change .what").first).to_contain_text("Pool 12 mo")
        expect(points).to_have_text(["1", "2"])
        panel.locator(".swap").click()
        expect(panel.locator(".place")).to_have_text(["Right", "Left"])
        page.keyboard.press("2")
        expect(points).to_have_text(["2", "2"])
        watched.check(site.url)


@pytest.mark.parts("marks", "highlights")
def test_best_moment_of_an_earlier_game_plays_on_the_stage(browser: Browser, site: DaemonProcess) -> None:
    with open_page(browser, viewport=DESK) as watched:
        page = watched.page
        page.goto(f"{site.url}/#station/station")
        stage, bar = page.locator(".detail stage-view"), page.locator(".detail replay-bar")
        expect(page.locator(".detail .result")).to_have_text(re.compile("wins$"))
        expect(stage).to_be_hidden()
        last_game = page.locator(".detail .panel").get_attribute("data-game")
        found = site.get("/v1/highlights?set=station&order=best&limit=8")["highlights"]
        place = next(i for i, each in enumerate(found) if each["gameId"] != last_game)
        page.locator(".highlights .watch-moment").nth(place).click()
        first = found[place]["highlight"]["startFrame"]
        expect(stage).to_be_in_viewport()
        page.wait_for_function(
            "first => Number(document.querySelector('stage-view').dataset.frame || -999) >= first - 120", arg=first
        )
        assert int(stage.get_attribute("data-frame") or 0) <= found[place]["highlight"]["endFrame"] + 60
        bar.get_by_role("button", name="Back to live").click()
        expect(stage).to_be_hidden()
        watched.check(site.url)


@pytest.mark.parts("on_air")
def test_set_and_stats_fit_a_phone(browser: Browser, site: DaemonProcess) -> None:
    """The players are below each other, with fields as wide as the panel, and values are below their label."""
    with open_page(browser, viewport=PHONE) as watched:
        page = watched.page
        page.goto(f"{site.url}/#station/playing")
        sides = page.locator(".detail .side")
        expect(sides).to_have_count(2)
        page.locator(".numbers tbody tr").first.wait_for()  # nothing moves any more
        page.locator(".put-on-air").wait_for()
        first, second = box(sides.nth(0)), box(sides.nth(1))
        assert first[3] <= second[1]
        name, more = sides.nth(0).locator(".name"), sides.nth(0).locator(".more")
        assert box(name)[2] - box(name)[0] > 200
        assert box(name)[2] <= box(more)[0]
        assert min(box(more)[2] - box(more)[0], box(more)[3] - box(more)[1]) >= 56
        row = page.locator(".numbers tbody tr").first
        label, *values = [box(cell) for cell in row.locator("th, td").all()]
        assert [label[3] <= value[1] for value in values] == [True, True]
        assert values[-1][2] <= PHONE["width"]
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parts("marks", "on_air")
def test_remote_control(browser: Browser, site: DaemonProcess) -> None:
    with open_page(browser, viewport=PHONE, has_touch=True) as watched:
        page = watched.page
        page.goto(f"{site.url}/#remote/playing")
        remote = page.locator(".remote")
        points = remote.locator(".points")
        expect(points).to_have_text(["0", "0"])
        check_fits(page, remote)
        remote.get_by_role("button", name=re.compile(r"^Golden.* \+1$")).tap()
        expect(points).to_have_text(["0", "1"])
        expect(remote.locator(".news")).to_be_empty()
        remote.get_by_role("button", name="Swap").tap()
        expect(points).to_have_text(["1", "0"])
        remote.get_by_role("button", name="Undo").tap()
        expect(remote.locator(".news")).to_contain_text("Undone: Left and right")
        expect(points).to_have_text(["0", "1"])
        remote.get_by_role("button", name="Undo").tap()
        expect(points).to_have_text(["0", "0"])
        remote.get_by_role("button", name="Mark").tap()
        expect(remote.locator(".news")).to_contain_text("Marked: ")
        remote.get_by_role("button", name="Put on air").tap()
        expect(remote.locator(".on-air")).to_be_visible()
        page.goto(f"{site.url}/#remote")
        expect(page.get_by_label("Station", exact=True)).to_have_value("playing")
        watched.check(site.url)


def check_fits(page: Page, remote: Locator) -> None:
    """Check that all buttons are on the screen, and large enough for thumbs."""
    for button in remote.get_by_role("button").all():
        left, top, right, bottom = box(button)
        assert left >= 0
        assert right <= PHONE["width"]
        assert bottom <= PHONE["height"]
        assert min(right - left, bottom - top) >= 56
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
