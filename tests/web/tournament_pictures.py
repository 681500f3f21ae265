"""The pictures of a tournament's pages: the setups, a player's phone, and the bracket."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.browsers.pages import open_page
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.parts.audit.fleet import Console, fixes, write_fleet
from tests.parts.bracket.startgg_double import DoubleSet, Entrant, Player, StartggDouble, section
from tests.sets.games import FOX, MARTH, SHEIK, Seat, replay

PHONE = {"width": 390, "height": 700}
HALF = {"width": 390, "height": 350}
LAPTOP = {"width": 1000, "height": 640}
SETUPS = 50
WAIT_MS = 60_000


def setups(browser: Browser) -> Image.Image:
    """Fifty setups, of which one differs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_fleet(folder / "setups", SETUPS, {12: Console(fixes=fixes(3, 0, 0))})
        with _daemon(folder, "") as daemon, open_page(browser, viewport=HALF, color_scheme="dark") as watched:
            daemon.until(lambda: sum(each["games"] for each in daemon.get("/v1/audit")["setups"]) == 2 * SETUPS, 60)
            watched.page.goto(f"{daemon.url}/audit")
            expect(watched.page.locator(".setup").first).to_be_visible()
            watched.page.get_by_label("Only differences").check()
            expect(watched.page.locator(".setup:visible")).to_have_count(1)
            return _image(watched.page)


def seats(browser: Browser) -> Image.Image:
    """The phone of a player who has claimed a port and sees the other one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _play(folder, "07", 1, 0, ("", ""))
        with (
            _daemon(folder, "[seats]\non = true\n") as daemon,
            open_page(browser, viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=1) as watched,
        ):
            daemon.until(lambda: daemon.get("/v1/stations/07/set").get("setId") is not None)
            page = watched.page
            page.goto(daemon.get("/v1/seat-codes")["codes"][0]["url"])
            for port, person in ((2, "Bob"), (1, "Ann")):
                page.get_by_role("listitem", name=f"Port {port}").get_by_text("I sit here").click()
                page.get_by_role("textbox").fill(person)
                page.get_by_role("button", name="OK", exact=True).click()
                expect(page.get_by_role("dialog")).to_have_count(0)
                if port == 2:  # Bob uses another phone
                    page.evaluate("localStorage.clear()")
                    page.reload()
            expect(page.get_by_role("listitem", name="Port 1")).to_contain_text("Ann")
            return _image(page)


def bracket(browser: Browser) -> Image.Image:
    """A bracket with a result that needs confirmation, and a set in progress."""
    double = StartggDouble(time.time)
    double.stations |= {500 + number: (number, f"Setup {number}") for number in range(1, 6)}
    pairs = (("Ann", "Bob"), ("Cyd", "Dan"), ("Eve", "Flo"), ("Gus", "Hal"))
    for i, pair in enumerate(pairs):
        entrants = [Entrant(1000 + 2 * i + side, [Player(player)]) for side, player in enumerate(pair)]
        double.add(DoubleSet(str(i), f"preview_400_{i}", 400, [*entrants], station=501 + i))
    with tempfile.TemporaryDirectory() as name, double.served() as url:
        folder = Path(name)
        for number in (1, 2):
            _play(folder, "01", number, 0, pairs[0])
        _play(folder, "02", 3, 1, pairs[1])
        with (
            _daemon(folder, section(url, folder)) as daemon,
            open_page(browser, viewport=LAPTOP, color_scheme="light") as watched,
        ):
            watched.page.goto(f"{daemon.url}/bracket")
            expect(watched.page.get_by_role("button", name="Report", exact=True)).to_be_visible(timeout=WAIT_MS)
            expect(watched.page.locator(".sets .card").first).to_be_visible(timeout=WAIT_MS)
            return _image(watched.page)


def _image(page: Page) -> Image.Image:
    page.wait_for_timeout(500)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


@contextmanager
def _daemon(folder: Path, more: str) -> Iterator[DaemonProcess]:
    """A daemon with a station for each subfolder of `setups`."""
    stations = f"{more}[[stations]]\nid = '*'\nfolder = '{folder / 'setups'}'\n"
    with running(arguments=configuration(folder, stations)) as daemon:
        daemon.wait_ready()
        yield daemon


def _play(folder: Path, setup: str, number: int, winner: int, names: tuple[str, str]) -> None:
    """A finished game in the folder of a setup."""
    characters = (FOX, MARTH) if number < 3 else (SHEIK, FOX)
    people = {
        i: Seat(name=name, code=name and f"{name.upper()}#{i + 1}", character=character)
        for i, (name, character) in enumerate(zip(names, characters, strict=True))
    }
    (folder / "setups" / setup).mkdir(parents=True, exist_ok=True)
    data = replay(people, {winner: 2, 1 - winner: 0}, seconds=150, minute=4.0 * number)
    (folder / "setups" / setup / f"Game_{number}.slp").write_bytes(data)
