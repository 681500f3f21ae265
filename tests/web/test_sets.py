"""Sets on the pages: an operator corrects one on the dashboard, and the overlay shows it.

Determinism: the matches are synthetic, and a test waits for what the pages show, with a deadline.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.daemons.process import DaemonProcess, running
from tests.project import IN_CI
from tests.synthetic.match import synthetic_match
from tests.web.pages import ARTIFACTS, LIKE_A_VIDEO, open_page, screenshot
from tests.web.test_dashboard import AXE, PHONE, WIDE, serious

MINUTE = 60


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon with one game won by each of the two players, and a running one."""
    with in_mid_set(tmp_path) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """The same with three corrections, for tests that only look at them."""
    with in_mid_set(tmp_path_factory.mktemp("corrected")) as daemon:
        for patch in (
            {"names": {"0": "Golden Guardians | Zain", "1": "うめきちうめきち"}},
            {"round": "Losers Semi-Final", "event": "Weekly 12", "casters": ["Vish", "Toph"], "swapped": True},
            {"players": {"0": {"sponsor": "Golden Guardians", "pronouns": "he/him", "seed": 1}}, "score": {"0": 2}},
        ):
            correct(daemon, patch)
        yield daemon


@contextmanager
def in_mid_set(base: Path) -> Iterator[DaemonProcess]:
    folder = base / "main"
    folder.mkdir()
    for number, (seed, ended) in enumerate(((6, True), (3, True), (4, False))):
        path = folder / f"Game_{number}.slp"
        path.write_bytes(synthetic_match(seed=seed, stocks=1, ended=ended, frames=None if ended else 600))
        if ended:
            at = time.time() - (10 - 4 * number) * MINUTE
            os.utime(path, (at, at))
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/stations/main/set")["games"]) == 3)
        yield daemon


def open_overlay(page: Page, daemon: DaemonProcess) -> None:
    page.goto(f"{daemon.url}/overlay/main")
    page.locator("[data-phase=playing] .player").first.wait_for()


def answer(page: Page, button: str) -> None:
    """Answer the question that the panel asks."""
    page.get_by_role("dialog").get_by_role("button", name=button, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_operator_corrects_the_set_and_the_overlay_shows_it(browser: Browser, daemon: DaemonProcess) -> None:
    before = daemon.get("/v1/stations/main/set")
    assert [game["verdict"] for game in before["games"]] == ["counted", "counted", "playing"]
    with open_page(browser) as watched, open_page(browser, viewport={"width": 1280, "height": 1400}) as operating:
        overlay, dashboard = watched.page, operating.page
        open_overlay(overlay, daemon)
        expect(overlay.locator(".name")).to_have_text(["Vixen", "Altea"])
        expect(overlay.locator(".score")).to_have_text([str(side["score"]) for side in before["sides"]])
        expect(overlay.locator(".best-of")).to_have_text("Best of 3")
        dashboard.goto(f"{daemon.url}/")
        panel = dashboard.locator(".detail .set")
        expect(panel.locator(".set-game")).to_have_count(3)
        names = panel.locator(".names .name")
        expect(names).to_have_count(2)
        assert names.first.get_attribute("placeholder") == "Vixen"

        names.first.fill("Somebody")
        names.first.press("Enter")
        expect(overlay.locator(".name")).to_have_text(["Somebody", "Altea"])
        expect(dashboard.locator(".detail .players .name")).to_have_text(["Somebody", "Altea"])
        panel.locator(".best-of").select_option("5")
        expect(overlay.locator(".best-of")).to_have_text("Best of 5")
        more = before["sides"][1]["score"] + 1
        panel.get_by_role("button", name="Add a game to Altea").click()
        expect(overlay.locator(".score").nth(1)).to_have_text(str(more))
        expect(panel.locator(".points").nth(1)).to_have_text(str(more))
        overlay.evaluate(LIKE_A_VIDEO)
        screenshot(overlay, "overlay-set")
        screenshot(dashboard, "dashboard-set")
        panel.get_by_role("button", name="Don't count game 1").click()
        answer(dashboard, "Don't count")
        expect(panel.locator(".set-game .why").first).to_have_text(
            "not counted: the operator says that it does not count"
        )
        after = daemon.get("/v1/stations/main/set")
        assert sum(side["won"] for side in after["sides"]) == sum(side["won"] for side in before["sides"]) - 1
        expect(overlay.locator(".score")).to_have_text([str(side["score"]) for side in after["sides"]])
        panel.get_by_role("button", name="New set").click()
        answer(dashboard, "New set")
        expect(overlay.locator(".score")).to_have_text(["0", "0"])
        expect(overlay.locator(".name")).to_have_text(["Somebody", "Altea"])
        expect(panel.locator(".set-game")).to_have_count(1)
        watched.check(daemon.url)
        operating.check(daemon.url)
    assert daemon.get("/v1/stations/main/set")["bestOf"] == 3


def test_names_of_the_next_players_are_shown_before_their_first_game(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    with running(tmp_path / "main") as daemon, open_page(browser) as watched, open_page(browser) as operating:
        daemon.wait_ready()
        watched.page.goto(f"{daemon.url}/overlay/main")
        expect(watched.page.locator(".status")).to_have_text("waiting for a game")
        operating.page.goto(f"{daemon.url}/")
        names = operating.page.locator(".detail .set .names .name")
        for field, name in zip((names.first, names.last), ("Ann", "Bob <b>"), strict=True):
            field.fill(name)
            field.press("Enter")
        expect(watched.page.locator(".name")).to_have_text(["Ann", "Bob <b>"])
        expect(watched.page.locator(".score")).to_have_text(["0", "0"])
        game = synthetic_match(seed=9, frames=600, ended=False)
        (tmp_path / "main" / "new.slp").write_bytes(game)
        watched.page.locator("[data-phase=playing] .percent").first.wait_for()
        expect(watched.page.locator(".name")).to_have_text(["Ann", "Bob <b>"])
        watched.check(daemon.url)
        operating.check(daemon.url)


def test_overlay_shows_who_has_won_the_set(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    with running(folder) as daemon, open_page(browser) as watched:
        daemon.wait_ready()
        watched.page.goto(f"{daemon.url}/overlay/main")
        expect(watched.page.locator(".status")).to_have_text("waiting for a game")
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=6, stocks=1))
        expect(watched.page.locator(".best-of")).to_have_text("Best of 3")
        body = json.dumps({"bestOf": 1}).encode()
        kind = {"content-type": "application/merge-patch+json"}
        address = f"{daemon.url}/v1/stations/main/set"
        request = urllib.request.Request(address, body, kind, method="PATCH")
        daemon.until(lambda: daemon.get("/v1/stations/main/set")["games"] != [])
        with urllib.request.urlopen(request, timeout=10) as response:
            won = json.load(response)
        assert won["state"] == "over"
        name = won["sides"][won["winner"]]["name"]
        expect(watched.page.locator(".best-of")).to_have_text(f"{name} wins the set 1–0")
        watched.check(daemon.url)


def listed(daemon: DaemonProcess) -> list[dict[str, Any]]:
    """The changes of the station, newest first."""
    changes: list[dict[str, Any]] = daemon.get("/v1/stations/main/set/changes")["changes"]
    return changes


def test_two_operators_see_each_others_changes(browser: Browser, daemon: DaemonProcess) -> None:
    """The one keeps what she is typing while the other changes the same player, and can undo what he did."""
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
        screenshot(other.page, "panel-changes")
        one.check(daemon.url)
        other.check(daemon.url)


def test_undo_of_a_new_set_brings_the_old_one_back(browser: Browser, daemon: DaemonProcess) -> None:
    before = daemon.get("/v1/stations/main/set")
    with open_page(browser, viewport=WIDE) as operating:
        page = operating.page
        page.goto(f"{daemon.url}/")
        panel = page.locator(".detail .set")
        panel.get_by_role("button", name="New set").click()
        expect(page.get_by_role("dialog")).to_contain_text("Vixen 1 – Altea 1")
        expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
        screenshot(page, "panel-confirm")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(panel.get_by_role("button", name="New set")).to_be_focused()
        assert (listed(daemon), page.url) == ([], f"{daemon.url}/")
        panel.get_by_role("button", name="New set").click()
        answer(page, "New set")
        expect(panel.locator(".set-game")).to_have_count(1)
        panel.get_by_role("button", name="Undo: New set").click()
        expect(panel.locator(".set-game")).to_have_count(3)
        after = daemon.get("/v1/stations/main/set")
        assert (after.pop("lastChange"), after) == (2, before)
        operating.check(daemon.url)


def test_keyboard_alone_corrects_a_set(browser: Browser, daemon: DaemonProcess) -> None:
    """An operator's day without a mouse: name, seed, score, left and right, the winner of a game, and undo."""
    with open_page(browser, viewport=WIDE) as operating:
        page = operating.page
        page.goto(f"{daemon.url}/")
        panel = page.locator(".detail .set")
        expect(panel.locator(".set-game")).to_have_count(3)

        def tab_to(label: str) -> None:
            """Press Tab until the control with this label has the focus."""
            wanted = panel.get_by_label(label, exact=True).or_(panel.get_by_role("button", name=label, exact=True))
            for _ in range(80):
                if wanted.first.evaluate("element => element === document.activeElement"):
                    return
                page.keyboard.press("Tab")
            raise AssertionError(f"Tab does not reach {label}")

        tab_to("Name of the player on port 1")
        page.keyboard.type("Ann")
        tab_to("Seed of the player on port 1")
        page.keyboard.type("3")
        tab_to("Add a game to Ann")
        page.keyboard.press("Enter")
        expect(panel.locator(".points").first).to_have_text("2")
        tab_to("Name of the player on port 2")
        page.keyboard.type("Nobody")
        page.keyboard.press("Escape")
        tab_to("Swap left and right")
        page.keyboard.press("Space")
        expect(panel.locator(".place")).to_have_text(["Right", "Left"])
        tab_to("Winner of game 3")
        page.keyboard.type("Alt")
        expect(panel.locator(".points")).to_have_text(["2", "2"])
        tab_to("Undo: Score of Ann: 1 → 2")
        page.keyboard.press("Enter")
        expect(panel.locator(".points")).to_have_text(["1", "2"])
        operating.check(daemon.url)
    set_ = daemon.get("/v1/stations/main/set")
    assert [(player["name"], player.get("seed")) for player in set_["players"]] == [("Ann", 3), ("Altea", None)]
    assert (set_["swapped"], set_["games"][2]["operator"]) == (True, {"winner": 1})


@pytest.mark.parametrize("locale", ["en-GB", "ja-JP", "es-MX"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["1280", "390"])
@pytest.mark.skipif(not AXE.is_file() and not IN_CI, reason="no axe-core; run: npm install --prefix tests/oracles")
def test_panel_is_accessible_and_fits(
    browser: Browser, corrected: DaemonProcess, viewport: ViewportSize, locale: str
) -> None:
    scheme = "light" if viewport == PHONE else "dark"
    with open_page(browser, viewport=viewport, locale=locale, color_scheme=scheme, bypass_csp=True) as watched:
        page = watched.page
        page.goto(f"{corrected.url}/")
        expect(page.locator(".change")).to_have_count(3)
        page.add_script_tag(path=AXE)
        panel = page.locator(".detail .set")
        serious(page)
        panel.screenshot(path=ARTIFACTS / f"panel-{viewport['width']}-{locale[:2]}.png")
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= viewport["width"], "nothing is wider than the screen"
        panel.locator(".new").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        serious(page)


def correct(daemon: DaemonProcess, patch: dict[str, Any]) -> Any:
    """Correct the set as a program does, and return it."""
    request = urllib.request.Request(
        f"{daemon.url}/v1/stations/main/set?by=Script",
        json.dumps(patch).encode(),
        {"content-type": "application/merge-patch+json"},
        method="PATCH",
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)
