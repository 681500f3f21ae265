"""The production desk: Dolphin mirrors the station on air; a moment is marked with the button or the key, played as an
instant replay, and undone; and highlights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browsers.axe import check_with_axe
from tests.browsers.pages import LONG_MS, WIDE, open_page
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.parts.playback_dolphin.communication import CommunicationChecks
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.parts("dashboard", "highlights", "marks", "on_air", "situations")


@pytest.fixture
def daemon(folder: Path, tmp_path: Path) -> Iterator[DaemonProcess]:
    """A daemon with a Playback Dolphin for the station on air, a highlight by a situation, and a game in progress."""
    situation = "[[situations]]\nname = 'Last hit'\nquery = 'kill'\nhighlight = true\nscore = 500\n"
    playback = f"[playback]\nfile = '{tmp_path / 'playback.txt'}'\nstation = 'on-air'\n"
    with running(folder, arguments=configuration(tmp_path, playback + situation)) as daemon:
        daemon.wait_ready()
        (folder / "Game_1.slp").write_bytes(synthetic_match(seed=3, frames=1500, ended=False))
        daemon.until(lambda: len(daemon.get("/v1/highlights")["highlights"]) == 2)
        yield daemon


def test_mark_a_moment_play_it_and_undo(browser: Browser, daemon: DaemonProcess, tmp_path: Path) -> None:
    file = tmp_path / "playback.txt"
    with open_page(browser, viewport=WIDE, bypass_csp=True) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/#station/main")
        button = page.locator(".put-on-air")
        expect(button).to_have_text("Put on air", timeout=LONG_MS)
        assert not file.exists(), "no station is on air"
        button.click()
        daemon.until(lambda: file.exists() and json.loads(file.read_bytes())["mode"] == "mirror", 60)
        panel = page.locator(".moments")
        expect(panel.get_by_text("No moment is marked yet.")).to_be_visible()
        panel.get_by_role("button", name="Mark this moment").click()
        marks = panel.locator(".marks .moment")
        expect(marks).to_have_count(1)
        expect(panel.get_by_role("status")).to_contain_text("Marked: ")
        page.locator("body").press("m")
        expect(marks).to_have_count(2)
        round_of_set = page.locator(".set .round")
        round_of_set.press("m")
        expect(round_of_set).to_have_value("m")
        round_of_set.press("Escape")
        assert len(daemon.get("/v1/stations/main/marks")["marks"]) == 2, "keys typed into a field are not shortcuts"

        marks.first.get_by_role("button", name="Play in Dolphin").click()
        expect(panel.get_by_role("status")).to_contain_text("Dolphin shows it for about")
        daemon.until(lambda: json.loads(file.read_bytes())["mode"] == "normal")
        CommunicationChecks(file).take(0.0)
        marked = daemon.get("/v1/stations/main/marks")["marks"][0]["frame"]
        content = json.loads(file.read_bytes())
        assert content["startFrame"] < marked <= content["endFrame"] + 1

        best = panel.locator(".highlights .moment")
        expect(best).to_have_count(2)
        expect(best.first).to_contain_text("Last hit")
        expect(best.first).to_contain_text("500 points")
        best = best.nth(1)
        expect(best).to_contain_text("kill, damage")
        href = best.get_by_role("link", name="Open in the Launcher").get_attribute("href") or ""
        assert href.startswith("slippi://?path=http%3A%2F%2F127.0.0.1")
        check_with_axe(page)

        undo = marks.first.get_by_role("button", name="Undo")
        undo.focus()
        undo.press("Enter")
        expect(marks).to_have_count(1)
        expect(panel.get_by_role("button", name="Mark this moment")).to_be_focused()
        page.reload()
        expect(marks).to_have_count(1)
