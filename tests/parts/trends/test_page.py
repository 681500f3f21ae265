"""`/v1/trends` of a daemon, and the page `/trends` in a real browser."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browsers.axe import check_with_axe, needs_axe
from tests.browsers.pages import PHONE, open_page
from tests.daemons.process import configured
from tests.daemons.requests import ask
from tests.synthetic.match import synthetic_match

SVG = "{http://www.w3.org/2000/svg}"
DAYS = ("2025-02-03", "2025-02-04", "2025-02-24", "2025-03-03")
"""Two games in one week, none in two weeks, and one in each of two weeks."""
HOSTILE = "<b>&\x1bALT"


@needs_axe
def test_plots_show_the_trends_and_are_saved(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "main"
    folder.mkdir()
    for number, day in enumerate(DAYS, 1):
        names = (("Vixen", "VIXN#101", "VIX"), (HOSTILE, "", "ALT") if number == 1 else ("Altea", "ALTE#202", "ALT"))
        game = synthetic_match(seed=number, frames=400 * number, names=names)
        (folder / f"Game_{number}.slp").write_bytes(game.replace(b"2025-02-03", day.encode()))
    with (
        configured(tmp_path, '[search]\nme = ["VIXN#101"]\n', folder) as daemon,
        open_page(browser, viewport=PHONE, bypass_csp=True, accept_downloads=True) as watched,
    ):
        found = daemon.get("/v1/trends")
        assert found == daemon.get("/v1/trends?me=VIXN%23101")
        assert daemon.get("/v1/trends?by=stage") == {
            key: found[key] for key in ("me", "all", "leftOut", "stage") if key in found
        }
        assert daemon.get("/v1/trends?since=2025-02-20")["all"]["games"] == 2
        assert ask(daemon, "/v1/trends?me=").status == ask(daemon, "/v1/trends?by=year").status == 422
        rows = list(csv.DictReader(io.StringIO(daemon.text("/v1/trends/rows.csv?me=vixen"))))
        weeks = found["week"]
        assert [(row["group"], row["games"]) for row in rows if row["by"] == "week"] == [
            (week["group"], str(week["games"])) for week in weeks
        ]
        assert [week["games"] for week in weeks] == [2, 1, 1]

        page = watched.page
        page.goto(f"{daemon.url}/trends")
        drawing = page.get_by_role("img", name="Weeks")
        expect(drawing.locator("circle.rate")).to_have_count(3)
        for place, week in enumerate(weeks):
            point = drawing.locator("circle.rate").nth(place)
            assert float(point.get_attribute("cy") or "") == pytest.approx(26 + 150 * (1 - week["winRate"]), abs=0.1)
        assert drawing.locator("rect.games").count() == 3
        lines = [(line.get_attribute("points") or "").split() for line in drawing.locator("polyline").all()]
        assert [len(points) for points in lines[:2]] == [1, 2]
        expect(page.get_by_role("status").filter(has_text="VIXN#101: 4 games")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        check_with_axe(page)

        with page.expect_download() as saved:
            page.get_by_role("button", name="Download SVG: Opponents", exact=True).click()
        drawn = ET.parse(saved.value.path()).getroot()
        assert drawn.tag == f"{SVG}svg"
        labels = [each.text for each in drawn.iter(f"{SVG}text") if each.get("class") == "label"]
        assert [label.strip("\u2068\u2069") for label in labels if label] == ["Altea\u2069 (ALTE#202)", "<b>&\ufffdALT"]
        with page.expect_download() as saved:
            page.get_by_role("button", name="Download CSV").click()
        assert Path(saved.value.path()).read_text() == daemon.text("/v1/trends/rows.csv")

        page.get_by_label("Player").fill("<i>nobody")
        page.keyboard.press("Enter")
        expect(page.get_by_text("no game of <i>nobody that counts")).to_be_visible()
        page.go_back()
        expect(drawing.locator("circle.rate")).to_have_count(3)
        watched.check(daemon.url)
