"""The page of the bracket, `/bracket`, in a real browser, wide and at the size of a phone: every decision, by clicks.

The bracket is the double of start.gg. It has the set that is played, and another one that waits for a station.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, Route, expect

from tests.browsers.axe import check_with_axe
from tests.browsers.pages import LONG_MS, PHONE, WIDE, open_page
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import correct_set
from tests.marks import release
from tests.parts.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble, section
from tests.sets.bundled_set import GAMES, short_game_of_the_set

pytestmark = [pytest.mark.slow, pytest.mark.parts("dashboard")]

STATION_1, STATION_2 = 501, 502


@contextmanager
def venue(folder: Path, *, first: str = "altea") -> Iterator[tuple[DaemonProcess, StartggDouble]]:
    """A daemon whose bracket has the set that is played on `setup-1`, and another one. `first` is the first entrant."""
    double = StartggDouble(time.time)
    double.stations.update({STATION_1: (1, "Setup 1"), STATION_2: (2, "Setup 2")})
    one, other = Entrant(1001, [Player(first)]), Entrant(1002, [Player("Somebody", "SLP", code="VIXN#101")])
    double.add(DoubleSet("final", 9001, 400, [one, other], round="Grand Final", total_games=5))
    third, fourth = Entrant(1003, [Player("Zain", "GG")]), Entrant(1004, [Player("うめき")])
    double.add(DoubleSet("other", 9002, 400, [third, fourth], round="Losers Final", total_games=5))
    folders = [folder / "setup-1", folder / "setup-2"]
    for each in folders:
        each.mkdir()
    with double.served() as url:
        arguments = configuration(folder, "[sets]\nbest_of = 5\n" + section(url, folder))
        with running(*folders, arguments=arguments) as daemon:
            daemon.wait_ready()
            daemon.until(lambda: len(daemon.get("/v1/bracket/sets")) == 2, 60)
            yield daemon, double


def play(daemon: DaemonProcess, folder: Path) -> None:
    """Play the set to its end, game by game."""
    for number in range(1, GAMES + 1):
        (folder / "setup-1" / f"Game_{number}.slp").write_bytes(short_game_of_the_set(number))
        daemon.until(partial(_has_ended, daemon, number), 60)
    daemon.until(lambda: daemon.get("/v1/stations/setup-1/set").get("state") == "over", 60)


def _has_ended(daemon: DaemonProcess, number: int) -> bool:
    games = daemon.get("/v1/stations/setup-1/set").get("games", [])
    return len(games) == number and games[-1]["verdict"] != "playing"


def card(page: Page, section: str, words: str) -> Locator:
    return page.locator(f".{section} .card").filter(has_text=words)


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize("viewport", [PHONE, *release(WIDE)])
def test_result_is_confirmed_and_corrected(browser: Browser, tmp_path: Path, viewport: Any) -> None:
    with venue(tmp_path) as (daemon, double), open_page(browser, viewport=viewport, bypass_csp=True) as watched:
        play(daemon, tmp_path)
        page = watched.page
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"{daemon.url}/")
        link = page.get_by_role("link", name="Bracket: 1 waiting")
        expect(link).to_be_visible(timeout=LONG_MS)
        link.click()
        waiting = card(page, "queue", "Grand Final")
        expect(waiting).to_contain_text("needs your confirmation")
        expect(waiting).not_to_contain_text("Only the winner is sent")
        expect(card(page, "sets", "Losers Final")).to_be_visible(timeout=LONG_MS)
        assert fits(page)
        check_with_axe(page)
        assert double.sets["final"].completions == []

        waiting.get_by_role("button", name="Report", exact=True).press("Enter")
        reported = card(page, "other", "Grand Final")
        expect(reported).to_contain_text("reported", timeout=LONG_MS)
        expect(page.get_by_role("heading", name="Waiting")).to_be_focused()
        expect(page.locator(".queue .none")).to_be_visible()
        winner, games = double.sets["final"].completions[0]
        assert len(games) == GAMES

        # An operator changes the score after the report: the page shows it, and only a click replaces the result.
        played = daemon.get("/v1/stations/setup-1/set")
        lost = 1 - played["winner"]
        points = {side: 3 if side == lost else 0 for side in (0, 1)}
        score = {str(played["sides"][side]["players"][0]): points[side] for side in (0, 1)}
        correct_set(daemon, "setup-1", {"score": score})
        changed = card(page, "queue", "Grand Final")
        expect(changed).to_contain_text("the set has changed since it was reported", timeout=LONG_MS)
        expect(changed).to_contain_text("Only the winner is sent, without score and games.")
        expect(changed).to_contain_text("an operator changed it")
        check_with_axe(page)
        assert len(double.sets["final"].completions) == 1
        changed.get_by_role("button", name="Replace the result in the bracket").click()
        expect(page.locator(".queue .none")).to_be_visible(timeout=LONG_MS)
        expect(card(page, "other", "Grand Final")).to_contain_text("reported")
        assert double.sets["final"].winner == 1 - winner
        watched.check(daemon.url)


@pytest.mark.parametrize("viewport", [PHONE, *release(WIDE)])
def test_set_is_assigned_called_and_started(browser: Browser, tmp_path: Path, viewport: Any) -> None:
    with venue(tmp_path) as (daemon, double), open_page(browser, viewport=viewport, bypass_csp=True) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/bracket")
        other = card(page, "sets", "Losers Final")
        stations = other.get_by_role("combobox")
        assign = other.get_by_role("button", name="Assign")
        expect(assign).to_be_disabled()
        stations.select_option("setup-2")
        assert double.sets["other"].station is None
        assign.click()
        daemon.until(lambda: double.sets["other"].station == STATION_2, LONG_MS / 1000)
        expect(other).to_contain_text("setup-2 · Losers Final")
        assert other.get_by_role("option").all_text_contents() == ["Move to another station", "setup-1"]
        settle(page)  # sets with a station come first
        other.get_by_role("button", name="Call").click()
        expect(other).to_contain_text("called")
        expect(other.get_by_role("button", name="Call")).to_be_hidden()
        other.get_by_role("button", name="In progress").click()
        expect(other).to_contain_text("in progress")
        assert fits(page)
        check_with_axe(page)
        watched.check(daemon.url)


@pytest.mark.parametrize("viewport", [PHONE, *release(WIDE)])
def test_set_is_chosen_or_dropped(browser: Browser, tmp_path: Path, viewport: Any) -> None:
    # The bracket does not have the first player's name, so a person chooses the set.
    with (
        venue(tmp_path, first="Another name") as (daemon, double),
        open_page(browser, viewport=viewport, bypass_csp=True) as watched,
    ):
        play(daemon, tmp_path)
        page = watched.page
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(f"{daemon.url}/bracket")
        played = page.locator(".card:has(.actions)").filter(has_text="setup-1").first
        names = daemon.get("/v1/bracket")["queue"][0]["names"]
        expect(played.get_by_role("combobox")).to_be_visible(timeout=LONG_MS)
        option = played.get_by_role("option").filter(has_text="Another name").all_text_contents()
        assert option == ["Another name – SLP | Somebody, Grand Final", "SLP | Somebody – Another name, Grand Final"]
        played.get_by_role("combobox").select_option(label=option[names.index("Vixen") == 0])
        played.get_by_role("button", name="This one").click()
        chosen = card(page, "queue", "Grand Final")
        expect(chosen).to_contain_text("needs your confirmation")
        expect(chosen.locator(".side", has_text="Vixen")).to_contain_text("SLP | Somebody")
        assert fits(page)
        chosen.get_by_role("button", name="Do not report").click()
        expect(card(page, "other", "Grand Final")).to_contain_text("not to be reported")
        expect(page.locator(".queue .none")).to_be_visible()
        assert double.sets["final"].completions == []
        watched.check(daemon.url)


def entry(set_id: str, *names: str) -> dict[str, Any]:
    """A result that waits for its confirmation."""
    return {
        "station": "main", "setId": set_id, "state": "confirm", "names": names, "score": [3, 1], "entrants": names,
        "winner": 0, "round": "Pools",
    }  # fmt: skip


def bracket_set(set_id: str, *names: str) -> dict[str, Any]:
    """A set of the bracket that can be called."""
    entrants = [{"name": name} for name in names]
    return {"id": set_id, "state": "open", "entrants": entrants, "scores": [None, None], "round": "Pools"}


class Bracket:
    """The bracket shown by a page, and the requests that the page sends."""

    def __init__(self, page: Page) -> None:
        self.queue = [entry("b", "Mika", "Juno")]
        self.sets = [bracket_set("2", "Orla", "Quill")]
        self.sent: list[Any] = []
        self.trouble = ""
        page.route("**/v1/bracket", self._answer)
        page.route("**/v1/bracket/sets", self._answer)

    def _answer(self, route: Route) -> None:
        if route.request.method == "POST":
            self.sent.append(route.request.post_data_json)
        state = {"configured": True, "connected": True, "reads": True, "kind": "start.gg", "queue": self.queue}
        state |= {"stations": ["main"], "trouble": self.trouble}
        asks_for_sets = route.request.method == "GET" and route.request.url.endswith("/sets")
        route.fulfill(json=self.sets if asks_for_sets else state)


def settle(page: Page) -> None:
    """Wait until the buttons of a set that was moved work again."""
    page.wait_for_timeout(700)


def press(page: Page, button: Locator) -> None:
    """Press a button, and wait until its request has been answered."""
    with page.expect_response(lambda response: response.request.method == "POST"):
        button.click()


def test_moved_buttons_ignore_clicks_after_a_new_set(page: Page, empty_daemon: DaemonProcess) -> None:
    """Each set keeps its card, a result is sent only after a question that repeats it, and moved buttons do nothing."""
    bracket = Bracket(page)
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept() if len(asked) > 1 else dialog.dismiss()

    page.on("dialog", answer)
    page.set_viewport_size(PHONE)
    page.goto(f"{empty_daemon.url}/bracket")
    call = card(page, "sets", "Orla").get_by_role("button", name="Call")
    expect(call).to_be_visible()
    page.evaluate("() => { window.before = [...document.querySelectorAll('.card')]; }")
    bracket.queue.insert(0, entry("a", "Nova", "Pip"))
    bracket.sets.insert(0, bracket_set("1", "Lumen", "Rook"))
    page.evaluate(
        """() => new MutationObserver(() => {
            const [button] = window.before[1].querySelectorAll("button");
            if (document.querySelectorAll(".queue .card").length === 2 && !window.pressed) {
                window.pressed = true;
                button.click();
            }
        }).observe(document.querySelector(".queue .cards"), { childList: true })"""
    )
    expect(page.locator(".queue .card")).to_have_text([re.compile("Nova"), re.compile("Mika")])
    expect(page.locator(".sets .card")).to_have_text([re.compile("Lumen"), re.compile("Orla")], timeout=LONG_MS)
    pressed, *cards = page.evaluate("() => [window.pressed, ...window.before.map((each) => each.textContent)]")
    assert pressed
    assert ["Mika" in cards[0], "Orla" in cards[1]] == [True, True]
    assert bracket.sent == []
    report = card(page, "queue", "Mika").get_by_role("button", name="Report", exact=True)
    report.click()
    assert bracket.sent == []
    press(page, report)
    assert asked == ["Report this result? Mika 3 – Juno 1"] * 2
    assert [each["setId"] for each in bracket.sent] == ["b"]
    settle(page)
    press(page, call)
    assert [each.get("do") for each in bracket.sent] == ["confirm", "call"]


def test_moved_buttons_ignore_clicks_after_a_message(page: Page, empty_daemon: DaemonProcess) -> None:
    """The message moves all buttons, and those of the sets ignore clicks for a moment."""
    bracket = Bracket(page)
    page.set_viewport_size(PHONE)
    page.goto(f"{empty_daemon.url}/bracket")
    orla = card(page, "sets", "Orla")
    orla.get_by_role("combobox").select_option("main")
    page.evaluate(
        """() => new MutationObserver(() => {
            if (!document.querySelector(".trouble").hidden && window.pressed === undefined) {
                const buttons = [...document.querySelectorAll(".sets .card button:enabled")];
                window.pressed = buttons.length;
                buttons.forEach((button) => button.click());
            }
        }).observe(document.querySelector(".trouble"), { attributes: true })"""
    )
    bracket.trouble = "does not answer"
    expect(page.locator(".trouble")).to_have_text("start.gg does not answer", timeout=LONG_MS)
    page.wait_for_function("() => window.pressed !== undefined")
    assert page.evaluate("() => window.pressed") == 3
    settle(page)
    assert bracket.sent == []
    press(page, orla.get_by_role("button", name="Call"))
    assert [each["do"] for each in bracket.sent] == ["call"]
