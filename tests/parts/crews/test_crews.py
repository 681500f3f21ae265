"""A crew battle, a long set and the zip of replays on an operator's dashboard.

Determinism: the replays are synthetic and finished, and tests wait for the pages' contents, with a deadline.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.daemons.process import DaemonProcess, running
from tests.parts.handover.validator import problems
from tests.sets.games import Seat, replay

pytestmark = pytest.mark.parts("dashboard", "scenes")

MINUTE = 60
ANN, BOB, CY = Seat("Ann", "ANN#1"), Seat("Bob", "BOB#2"), Seat("Cy", "CY#3")


@pytest.fixture
def daemon(folder: Path) -> Iterator[DaemonProcess]:
    """A daemon with a game that Ann won with three stocks."""
    add(folder, 0, replay({0: ANN, 1: BOB}, {0: 3, 1: 0}, seconds=60, minute=0), minutes_ago=12)
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: len(daemon.get("/v1/stations/main/set")["games"]) == 1)
        yield daemon


def add(folder: Path, number: int, data: bytes, *, minutes_ago: float) -> None:
    path = folder / f"Game_{number}.slp"
    path.write_bytes(data)
    at = time.time() - minutes_ago * MINUTE
    os.utime(path, (at, at))


def test_operator_makes_a_set_a_crew_battle(page: Page, daemon: DaemonProcess, tmp_path: Path) -> None:
    page.goto(f"{daemon.url}/#station/main")
    panel = page.locator(".set")
    panel.locator(".crew-battle summary").click()
    panel.get_by_label("Crew 1", exact=True).fill("Red")
    panel.get_by_label("Crew 2", exact=True).fill("Blue")
    for number in (1, 2):
        panel.get_by_label(f"Stocks of crew {number}").fill("8")
    panel.get_by_role("button", name="Make this set a crew battle").click()
    expect(panel.locator(".points").first).to_have_text("7")
    expect(panel.locator(".points").last).to_have_text("4")
    add(tmp_path / "main", 1, replay({0: ANN, 1: CY}, {0: 0, 1: 2}, seconds=60, minute=4), minutes_ago=8)
    games = panel.locator(".set-game .what")
    expect(games).to_have_text(
        ["Game 1 · Battlefield · Ann 4 → 3 – Bob 4 → 0", "Game 2 · Battlefield · Ann 3 → 0 – Cy 4 → 2"]
    )
    expect(panel.locator(".points").first).to_have_text("4")
    field = panel.get_by_label("Stocks that Cy keeps after game 2")
    field.fill("3")
    field.press("Enter")
    expect(panel.locator(".points").last).to_have_text("3")
    panel.get_by_role("button", name="Give Blue a stock").click()
    expect(panel.locator(".points").last).to_have_text("4")
    panel.get_by_role("button", name="Back to a normal set").click()
    expect(panel.locator(".points").first).to_have_text("0")  # the last game has other players: a set of its own
    found = daemon.get("/v1/stations/main/set")
    assert "crewBattle" not in found


def test_unsent_crew_text_is_kept(page: Page, daemon: DaemonProcess, tmp_path: Path) -> None:
    page.goto(f"{daemon.url}/#station/main")
    panel = page.locator(".set")
    panel.locator(".crew-battle summary").click()
    first = panel.get_by_label("Crew 1", exact=True)
    second = panel.get_by_label("Crew 2", exact=True)
    first.fill("Red")
    second.click()
    add(tmp_path / "main", 1, replay({0: ANN, 1: BOB}, {0: 0, 1: 2}, seconds=60, minute=4), minutes_ago=8)
    expect(panel.locator(".points").last).to_have_text("1")  # the panel has been redrawn
    expect(first).to_have_value("Red")
    second.press("Escape")
    expect(first).to_have_value("")


def test_crew_battle_in_the_overlay(page: Page, daemon: DaemonProcess, tmp_path: Path) -> None:
    running_game = replay({0: ANN, 1: BOB}, {0: 2, 1: 2}, seconds=60, minute=4, ended=False)
    (tmp_path / "main" / "Game_1.slp").write_bytes(running_game)
    daemon.until(lambda: len(daemon.get("/v1/stations/main/set")["games"]) == 2)
    page.goto(f"{daemon.url}/#station/main")
    page.locator(".crew-battle summary").click()
    for number, name in ((1, "Red"), (2, "Blue")):
        page.get_by_label(f"Crew {number}", exact=True).fill(name)
    page.get_by_role("button", name="Make this set a crew battle").click()
    expect(page.get_by_role("button", name="Back to a normal set")).to_be_visible()
    page.goto(f"{daemon.url}/overlay/main")
    expect(page.locator(".best-of")).to_have_text("Red – Blue")
    scores = [str(side["score"]) for side in daemon.get("/v1/stations/main/set")["sides"]]
    expect(page.locator(".player .score")).to_have_text(scores)


def test_set_length_and_zip(page: Page, daemon: DaemonProcess) -> None:
    page.goto(f"{daemon.url}/#station/main")
    panel = page.locator(".set")
    for length in ("2", "99"):
        panel.locator(".best-of").select_option(length)
        daemon.until(lambda length=length: daemon.get("/v1/stations/main/set")["bestOf"] == int(length))  # type: ignore[misc]
    with page.expect_download() as downloading:
        panel.get_by_role("link", name="Replays (zip)").click()
    assert downloading.value.suggested_filename == "Ann (Fox) vs Bob (Fox).zip"
    assert problems(io.BytesIO(downloading.value.path().read_bytes())) == []


def test_gateway_has_no_zip_and_no_audit(page: Page, daemon: DaemonProcess) -> None:
    """A gateway, which this daemon imitates, has no search."""
    page.route("**/v1/search", lambda route: route.fulfill(status=404, json={"error": "not found"}))
    page.goto(f"{daemon.url}/#station/main")
    expect(page.locator(".set .points")).to_have_count(2)
    expect(page.get_by_role("link", name="Setups")).to_have_count(0)
    expect(page.get_by_role("link", name="Replays (zip)")).to_have_count(0)
    expect(page.get_by_role("link", name="Venue wall")).to_have_count(1)
