"""The dashboard of a slpstream without the folders of other parts that have pages or views."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from slpstream.parts.registry import static_folders
from tests.browsers.pages import WatchedPage
from tests.daemons.process import DaemonProcess, running
from tests.project import ROOT
from tests.synthetic.match import synthetic_match

PACKAGE = ROOT / "slpstream"
LINKS = (
    "Venue wall", "Bracket", "Setups", "Codes for seats", "Scene editor", "API", "Open overlay", "Adjust a scene…",
)  # fmt: skip


@contextmanager
def without(deleted: Collection[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DaemonProcess]:
    """A daemon with the station `main`, from a copy of the package that lacks the folders of some parts."""
    copy = tmp_path / "copy" / "slpstream"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for name in deleted:
        shutil.rmtree(copy / "parts" / name)
    monkeypatch.chdir(copy.parent)  # `python -m` finds the copy there
    station = tmp_path / "main"
    station.mkdir()
    (station / "Game_1.slp").write_bytes(synthetic_match(frames=200, stocks=1))
    with running(station, strict=False) as daemon:
        daemon.wait_ready()
        yield daemon


def test_dashboard_works_alone(watched: WatchedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with without(static_folders().keys() - {"dashboard"}, tmp_path, monkeypatch) as daemon:
        assert daemon.get("/v1/pages") == {"pages": [], "parts": ["dashboard"]}
        page = watched.page
        with page.expect_response("**/v1/pages"):
            page.goto(daemon.url)
        expect(page.locator(".games .game")).to_have_count(1)
        for fragment in ("#station/main", "#wall", "#editor/main", ""):
            page.goto(f"{daemon.url}/{fragment}")
            expect(page.get_by_role("heading", name="main", exact=True).first).to_be_visible()
            for link in LINKS:
                expect(page.get_by_role("link", name=link, exact=True)).to_have_count(0)
        expect(page.get_by_role("link", name="metrics")).to_be_visible()
    others = [text for text in watched.complaints if not re.search("Failed to load resource.* 404", text)]
    assert others == []


def test_wall_offers_no_scenes_without_the_part(
    watched: WatchedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without(["scenes"], tmp_path, monkeypatch) as daemon:
        page = watched.page
        page.goto(f"{daemon.url}/#wall")
        expect(page.locator(".tile")).to_have_count(1)
        expect(page.get_by_role("button", name="Scenes of main")).to_have_count(0)
        expect(page.get_by_role("link", name="Scene editor")).to_have_count(0)
        response = page.goto(f"{daemon.url}/overlay/main")
        assert response is not None
        assert response.status == 404
        expect(page.locator("body[data-problem=not_found]")).to_be_visible()
