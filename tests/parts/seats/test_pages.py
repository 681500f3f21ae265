"""The phones of players: open the address in the code of a station, claim a port, swap; and the overlay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsers.axe import check_with_axe
from tests.browsers.pages import PHONE, WIDE, WatchedPage, open_page
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.daemons.requests import ask, correct_set
from tests.parts.seats.qr import text_in
from tests.sets.games import MARTH, Seat, replay

pytestmark = pytest.mark.parts("dashboard", "scenes")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon with two stations without games at which players can claim seats."""
    for name in ("main", "side"):
        (tmp_path / name).mkdir()
    arguments = configuration(tmp_path, "[seats]\non = true\n[sets]\nbest_of = 5\n")
    with running(tmp_path / "main", tmp_path / "side", arguments=arguments) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/seat-codes")["codes"]) == 2)
        yield daemon


@contextmanager
def phones(browser: Browser, count: int, **options: Any) -> Iterator[list[WatchedPage]]:
    """Phones of different people."""
    with ExitStack() as stack:
        settings = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 2, **options}
        yield [stack.enter_context(open_page(browser, **settings)) for _ in range(count)]


def code_of(daemon: DaemonProcess, station: str, page: Page) -> str:
    """The address in the code of a station."""
    page.goto("about:blank")
    return text_in(daemon.text(f"/v1/seat-codes/{station}"), page)


def sit(page: Page, port: int, name: str, button: str = "I sit here") -> None:
    """Claim a port with a typed name."""
    port_of(page, port).get_by_text(button).click()
    page.get_by_role("textbox").fill(name)
    page.get_by_role("button", name="OK", exact=True).click()


def port_of(page: Page, port: int) -> Any:
    return page.get_by_role("listitem", name=f"Port {port}")


def test_claim_and_swap_are_on_the_overlay(browser: Browser, daemon: DaemonProcess) -> None:
    with phones(browser, 2, bypass_csp=True) as watched, open_page(browser) as shown:
        first, second = (each.page for each in watched)
        shown.page.goto(f"{daemon.url}/overlay/main")
        overlay = shown.page.locator(".player .name").filter(visible=True)
        url = code_of(daemon, "main", first)
        assert url.startswith(f"{daemon.url}/seats/main#")
        for page in (first, second):
            page.goto(url)
            expect(page.get_by_role("heading", name="main")).to_be_visible()
            expect(page.get_by_text("The set has not begun.")).to_be_visible()
        port_of(first, 1).get_by_text("I sit here").tap()
        expect(first.get_by_role("dialog")).to_be_visible()
        check_with_axe(first)
        first.get_by_role("textbox").fill("Mango")
        first.get_by_role("button", name="OK", exact=True).tap()
        expect(overlay.first).to_have_text("Mango")
        expect(port_of(first, 1).locator(".detail")).to_contain_text("you")
        expect(port_of(second, 1).locator(".name")).to_have_text("Mango")
        sit(second, 2, "Zain")
        expect(port_of(first, 2).locator(".name")).to_have_text("Zain")
        port_of(first, 2).get_by_text("Swap").tap()
        order = ["Zain", "Mango"]
        expect(overlay).to_have_text(order)
        for page in (first, second):
            for port, name in enumerate(order, 1):
                expect(port_of(page, port).locator(".name")).to_have_text(name)
        check_with_axe(first)
        by = [change["by"] for change in daemon.get("/v1/stations/main/set/changes")["changes"]]
        assert set(by) == {"phone: Mango", "phone: Zain"}
        for each in watched:
            each.check(daemon.url)


def test_second_phone_takes_over_with_a_second_tap(browser: Browser, daemon: DaemonProcess) -> None:
    with phones(browser, 2) as watched:
        first, second = (each.page for each in watched)
        url = code_of(daemon, "main", first)
        first.goto(url)
        second.goto(url)
        sit(first, 3, "Ann")
        expect(port_of(second, 3).locator(".name")).to_have_text("Ann")
        sit(second, 3, "Bob", "That's me")
        dialog = second.get_by_role("dialog")
        expect(dialog.get_by_role("alert")).to_have_text("Ann sits at port 3.")
        expect(port_of(first, 3).locator(".name")).to_have_text("Ann")
        dialog.get_by_role("button", name="No, Bob sits at port 3").tap()
        for page in (first, second):
            expect(port_of(page, 3).locator(".name")).to_have_text("Bob")
        expect(port_of(first, 3).locator(".detail")).not_to_contain_text("you")


def test_hanging_connection_is_reported_until_it_recovers(browser: Browser, daemon: DaemonProcess) -> None:
    with phones(browser, 1) as [watched]:
        page = watched.page
        page.clock.install()
        page.goto(code_of(daemon, "main", page))
        expect(page.get_by_text("The set has not begun.")).to_be_visible()
        page.route("**/v1/seats/main*", lambda route: None)
        page.clock.run_for(41_000)
        expect(page.locator(".notice")).to_have_text("No connection to slpstream. Trying again.")
        page.unroute("**/v1/seats/main*")
        page.clock.run_for(50_000)  # the hanging request, and the pause before the next one
        expect(page.locator(".notice")).to_be_hidden()


def test_scenes_show_the_next_players_before_their_first_game(
    browser: Browser, daemon: DaemonProcess, tmp_path: Path
) -> None:
    correct_set(daemon, "main", {"bestOf": 1})
    with phones(browser, 2) as watched, open_page(browser) as shown, open_page(browser) as facing:
        first, second = (each.page for each in watched)
        url = code_of(daemon, "main", first)
        first.goto(url)
        second.goto(url)
        shown.page.goto(f"{daemon.url}/overlay/main")
        facing.page.goto(f"{daemon.url}/scenes/versus/main")
        sit(first, 1, "Ann")
        (tmp_path / "main/Game_1.slp").write_bytes(game(minute=1, winner=0))
        expect(first.get_by_text("The set is over.")).to_be_visible()
        expect(shown.page.locator(".player .name").first).to_have_text("Ann")
        sit(second, 4, "Dan")
        first.get_by_role("button", name="I sit here, Port 3").tap()
        first.get_by_role("button", name="Ann").tap()
        for page, names in ((shown.page, ".player .name"), (facing.page, ".side .name")):
            expect(page.locator(names)).to_have_text(["Ann", "Dan"])
        assert shown.page.locator(".player .fighter").all_text_contents() == ["", ""], "characters are being chosen"
        score = daemon.get("/v1/stations/main/set")
        assert (score["state"], [player["port"] for player in score["players"]]) == ("upcoming", [3, 4])


def test_winner_stays(browser: Browser, daemon: DaemonProcess, tmp_path: Path) -> None:
    correct_set(daemon, "main", {"bestOf": 1})
    with phones(browser, 1) as [watched]:
        page = watched.page
        page.goto(code_of(daemon, "main", page))
        sit(page, 1, "Ann")
        (tmp_path / "main/Game_1.slp").write_bytes(game(minute=1, winner=0))
        page.get_by_role("button", name="I'm staying at port 1").tap()
        expect(page.get_by_text("The set has not begun.")).to_be_visible()
        assert daemon.get("/v1/stations/main/set")["state"] == "upcoming"
        assert ports_of(daemon) == {1: "Ann"}


def game(*, minute: float, winner: int, ended: bool = True) -> bytes:
    """A game between unnamed players, Fox vs Marth, as consoles write it."""
    left = {winner: 2, 1 - winner: 0}
    return replay({0: Seat(), 1: Seat(character=MARTH)}, left, seconds=180, minute=minute, ended=ended)


def test_claim_requires_the_code(browser: Browser, daemon: DaemonProcess) -> None:
    with phones(browser, 1) as watched:
        page = watched[0].page
        main, side = (code_of(daemon, station, page) for station in ("main", "side"))
        page.goto(main.partition("#")[0])
        expect(page.get_by_role("alert").first).to_have_text("Scan the code at your station to say who sits there.")
        expect(page.get_by_role("button")).to_have_count(0)
        page.goto("about:blank")
        page.goto(f"{main.partition('#')[0]}#{side.partition('#')[2]}")
        old = page.get_by_text("This code is no longer valid.")
        expect(old).to_be_visible()
        page.goto("about:blank")
        page.goto(main)
        expect(port_of(page, 1)).to_be_visible()
        assert ask(daemon, "/v1/seat-codes", {"station": "main"}).status == 200
        expect(old).to_be_visible()
        expect(page.get_by_role("button")).to_have_count(0)
        assert ports_of(daemon) == {}


def test_codes_to_print(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, viewport=WIDE, color_scheme="light", bypass_csp=True) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/")
        page.get_by_role("link", name="Codes for seats").click()
        expect(page.get_by_role("heading", name="main")).to_be_visible()
        expect(page.locator(".address")).to_contain_text("phones cannot reach it")
        codes = page.locator(".code img")
        expect(codes).to_have_count(2)
        before = [codes.nth(place).get_attribute("src") for place in range(2)]
        check_with_axe(page)
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Replace all codes").click()
        expect(codes.first).not_to_have_attribute("src", before[0] or "")
        watched.check(daemon.url)


def test_dashboard_has_no_link_when_seats_are_off(page: Page, empty_daemon: DaemonProcess) -> None:
    with page.expect_response("**/v1/seats"):
        page.goto(f"{empty_daemon.url}/")
    expect(page.get_by_role("link", name="Codes for seats")).to_have_count(0)
    page.goto(f"{empty_daemon.url}/seat-codes")
    expect(page.get_by_role("alert")).to_contain_text("Seats are off.")


def ports_of(daemon: DaemonProcess) -> dict[int, str]:
    players = daemon.get("/v1/stations/main/set")["players"]
    return {player["port"]: player["seatName"] for player in players if "seatName" in player}
