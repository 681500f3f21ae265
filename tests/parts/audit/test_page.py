"""The page of the setups, `/audit`, in a real browser: wide and at the size of a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browsers.axe import check_with_axe
from tests.browsers.pages import PHONE, WIDE, open_page
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.marks import release
from tests.parts.audit.fleet import USUAL, Console, fixes, write_fleet

pytestmark = [pytest.mark.slow, pytest.mark.parts("dashboard")]

SETUPS = 50
ODD = {3: Console(fixes=fixes(3, 0, 0)), 8: Console(rows={**USUAL.rows, "starting_timer_seconds": 420})}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    folder = tmp_path_factory.mktemp("audit")
    write_fleet(folder / "fleet", SETUPS, ODD)
    with running(arguments=configuration(folder, f"[[stations]]\nid = '*'\nfolder = '{folder}/fleet'\n")) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: sum(each["games"] for each in daemon.get("/v1/audit")["setups"]) == 2 * SETUPS)
        yield daemon


@pytest.mark.parametrize("viewport", [PHONE, *release(WIDE)])
def test_page(browser: Browser, daemon: DaemonProcess, viewport: Any) -> None:
    with open_page(browser, viewport=viewport, bypass_csp=True) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/")
        page.get_by_role("link", name="Setups", exact=True).click()
        cards = page.locator(".setup")
        expect(cards).to_have_count(SETUPS)
        expect(page.locator(".count")).to_have_text(f"{SETUPS} setups, 2 with differences")
        expect(page.locator(".differences li")).to_have_text(
            [
                "setup 03 differs from the other 49: UCF off on port 3, elsewhere on",
                "setup 08 differs from the other 49: timer 7:00, elsewhere 8:00",
            ]
        )
        odd = page.locator(".setup[data-state=differs]")
        expect(odd.locator("h3")).to_have_text(["03", "08"])
        expect(odd.locator(".marked li")).to_have_text(["UCF, port 3: off", "timer: 7:00"])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_label("Only differences").check()
        expect(cards).to_have_count(2)
        odd.first.locator("summary").click()
        expect(odd.first.locator("dd.odd")).to_have_text("off")
        check_with_axe(page)
        page.reload()
        expect(cards).to_have_count(2)
        watched.check(daemon.url)
