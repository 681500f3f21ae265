"""The dashboard of a slpstream without the folders of all other parts that have pages or views."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from slpstream.parts.registry import static_folders
from tests.browsers.pages import WatchedPage
from tests.daemons.process import running
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

PACKAGE = ROOT / "slpstream"
LINKS = ("Venue wall", "Bracket", "Setups", "Codes for seats", "Scene editor", "API", "Open overlay", "Adjust a scene…")


def test_dashboard_works_alone(watched: WatchedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy" / "slpstream"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name, folder in static_folders().items():
        if name != "dashboard":
            shutil.rmtree(copy / folder.parent.relative_to(PACKAGE))
    monkeypatch.chdir(copy.parent)  # `python -m` finds the copy there
    station = tmp_path / "main"
    station.mkdir()
    (station / "Game_1.slp").write_bytes(synthetic_match(frames=200, stocks=1))
    with running(station, strict=False) as daemon:
        daemon.wait_ready()
        assert daemon.get("/v1/pages") == {"pages": [], "parts": ["dashboard"]}
        page = watched.page
        with page.expect_response("**/v1/pages"):
            page.goto(daemon.url)
        expect(page.locator(".games li")).to_have_count(1)
        for fragment in ("#station/main", "#wall", "#editor/main", ""):
            page.goto(f"{daemon.url}/{fragment}")
            expect(page.get_by_role("heading", name="main", exact=True).first).to_be_visible()
            for link in LINKS:
                expect(page.get_by_role("link", name=link, exact=True)).to_have_count(0)
        expect(page.get_by_role("link", name="metrics")).to_be_visible()
    others = [text for text in watched.complaints if not re.search("Failed to load resource.* 404", text)]
    assert others == []
