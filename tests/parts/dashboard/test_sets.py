"""Sets on the pages: an operator corrects one on the dashboard, and the overlay shows it.

Determinism: the matches are synthetic, and tests wait for the pages' contents, with a deadline.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browsers.axe import check_with_axe
from tests.browsers.pages import PHONE, WIDE, open_page
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import correct_set
from tests.marks import release
from tests.sets.unfinished_set import write_unfinished_set

pytestmark = pytest.mark.parts("scenes")


@pytest.fixture
def daemon(folder: Path) -> Iterator[DaemonProcess]:
    """A daemon with one game won by each of the two players, and a running one."""
    write_unfinished_set(folder)
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/stations/main/set")["games"]) == 3)
        yield daemon


def open_overlay(page: Page, daemon: DaemonProcess) -> None:
    page.goto(f"{daemon.url}/overlay/main")
    page.locator("[data-phase=playing] .player").first.wait_for()


def listed(daemon: DaemonProcess) -> list[dict[str, Any]]:
    """The changes of the station, newest first."""
    changes: list[dict[str, Any]] = daemon.get("/v1/stations/main/set/changes")["changes"]
    return changes


def test_two_operators_see_each_others_changes(browser: Browser, daemon: DaemonProcess) -> None:
    """Unsaved input of one operator survives a change of the same player by the other, and can undo that change."""
    with (
        open_page(browser, viewport=WIDE) as one,
        open_page(browser, viewport=WIDE) as other,
        open_page(browser) as watched,
    ):
        open_overlay(watched.page, daemon)
        for each, name in ((one, "Ann"), (other, "Bo")):
            each.page.goto(f"{daemon.url}/")
            each.page.get_by_label("Your name in this list").fill(name)
        ann, bo = (each.page.locator(".detail .set") for each in (one, other))
        typing = ann.get_by_role("textbox", name="Name of the player on port 1")
        typing.fill("Mang")
        bo.get_by_role("textbox", name="Name of the player on port 1").fill("Joseph")
        bo.get_by_role("textbox", name="Sponsor of the player on port 1").fill("GG")
        bo.get_by_role("textbox", name="Round").fill("Winners Final")
        bo.get_by_role("textbox", name="Casters").fill("Vish, Toph")
        bo.get_by_role("textbox", name="Casters").press("Enter")
        expect(ann.get_by_role("textbox", name="Round")).to_have_value("Winners Final")
        expect(ann.get_by_role("textbox", name="Casters")).to_have_value("Vish, Toph")
        expect(ann.get_by_role("textbox", name="Sponsor of the player on port 1")).to_have_value("GG")
        expect(ann.locator(".changes .news")).to_have_text("Bo: Casters: – → Vish, Toph")
        expect(watched.page.locator(".name")).to_have_text(["Joseph", "Altea"])
        expect(typing).to_have_value("Mang")
        expect(typing).to_be_focused()
        typing.press_sequentially("o")
        typing.press("Enter")
        expect(watched.page.locator(".name")).to_have_text(["Mango", "Altea"])
        expect(bo.get_by_role("textbox", name="Name of the player on port 1")).to_have_value("Mango")
        rows = bo.locator(".change")
        expect(rows.locator(".what").first).to_have_text("Name of Joseph: Joseph → Mango")
        assert [row.inner_text() for row in rows.locator(".by").all()] == ["Ann", "Bo", "Bo", "Bo", "Bo"]

        bo.get_by_role("button", name="Undo: Name of Vixen: – → Joseph").click()
        expect(bo.locator(".undo-problem")).to_contain_text("Undo this first: Name of Joseph: Joseph → Mango")
        bo.get_by_role("button", name="Undo: Name of Joseph: Joseph → Mango").click()
        expect(watched.page.locator(".name")).to_have_text(["Joseph", "Altea"])
        expect(bo.locator(".undo-problem")).to_be_hidden()
        expect(ann.locator(".change .what").first).to_have_text("Undone: Name of Joseph: Mango → Joseph")
        expect(typing).to_have_value("Joseph")
        ann.get_by_role("button", name="Redo").click()
        expect(watched.page.locator(".name")).to_have_text(["Mango", "Altea"])
        assert (len(listed(daemon)), listed(daemon)[1]["undoes"]) == (7, 5)
        one.check(daemon.url)
        other.check(daemon.url)


def test_undo_of_a_new_set_restores_the_old_one(browser: Browser, daemon: DaemonProcess) -> None:
    before = daemon.get("/v1/stations/main/set")
    with open_page(browser, viewport=WIDE) as operating, open_page(browser) as watched:
        open_overlay(watched.page, daemon)
        expect(watched.page.locator(".score")).to_have_text(["1", "1"])
        page = operating.page
        page.goto(f"{daemon.url}/")
        panel = page.locator(".detail .set")
        panel.get_by_role("button", name="New set").click()
        expect(page.get_by_role("dialog")).to_contain_text("Vixen 1 – Altea 1")
        page.get_by_role("dialog").get_by_role("button", name="New set", exact=True).click()
        expect(panel.locator(".set-game")).to_have_count(1)
        expect(watched.page.locator(".score")).to_have_text(["0", "0"])
        panel.get_by_role("button", name="Undo: New set").click()
        expect(panel.locator(".set-game")).to_have_count(3)
        after = daemon.get("/v1/stations/main/set")
        assert (after.pop("lastChange"), after) == (2, before)
        operating.check(daemon.url)


@pytest.mark.parametrize(
    ("viewport", "locale"),
    [(WIDE, "en-GB"), (PHONE, "ja-JP"), *release(*product((WIDE, PHONE), ("en-GB", "ja-JP", "es-MX")))],
)
def test_panel_is_accessible_and_fits(
    browser: Browser, daemon: DaemonProcess, viewport: ViewportSize, locale: str
) -> None:
    for patch in (
        {"names": {"0": "Golden Guardians | Zain", "1": "うめきちうめきち"}},
        {"round": "Losers Semi-Final", "event": "Weekly 12", "casters": ["Vish", "Toph"], "swapped": True},
        {"players": {"0": {"sponsor": "Golden Guardians", "pronouns": "he/him", "seed": 1}}, "score": {"0": 2}},
    ):
        correct_set(daemon, "main", patch, by="Script")
    scheme = "light" if viewport == PHONE else "dark"
    with open_page(browser, viewport=viewport, locale=locale, color_scheme=scheme, bypass_csp=True) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/")
        expect(page.locator(".change")).to_have_count(3)
        check_with_axe(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        page.locator(".detail .set .new").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        check_with_axe(page)
