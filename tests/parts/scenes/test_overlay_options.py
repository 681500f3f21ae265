"""The overlay's options, stylesheets, score and result, with messages made by the test."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from slpstream.model.errors import ConfigError
from slpstream.web.app import STATIC
from tests.browsers.pages import WatchedPage
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess, running
from tests.parts.scenes.on_air import Station, opened
from tests.project import ROOT
from tests.web.javascript import needs_node, run

EVERYTHING = "show=names,stocks,percent,combo,timer,stage,score,controller"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    base = tmp_path_factory.mktemp("options")
    (base / "station").mkdir()
    folder = base / "folder"
    folder.mkdir()
    (folder / "my.css").write_text(":root { --panel: rgb(1, 2, 3); } .name { letter-spacing: 7px; }")
    with running(base / "station", arguments=configuration(base, f"[web]\noverlay_folder = '{folder}'\n")) as daemon:
        yield daemon


def open_overlay(page: Page, daemon: DaemonProcess, query: str = "") -> Station:
    return opened(page, f"{daemon.url}/overlay/station?{query}")


def visible(page: Page, *selectors: str) -> list[bool]:
    return [page.locator(selector).first.is_visible() for selector in selectors]


def test_shows_the_requested_parts(watched: WatchedPage, page: Page, daemon: DaemonProcess) -> None:
    parts = {"names": ".name", "stocks": ".stocks", "percent": ".percent", "combo": ".combo", "timer": ".clock",
             "stage": ".stage", "controller": ".controller"}  # fmt: skip
    for query, shown in {
        "": {*parts} - {"controller"},
        EVERYTHING: {*parts},
        "show=timer,names": {"names", "timer"},
    }.items():
        feed = open_overlay(page, daemon, query)
        feed.start("Left", "Right")
        feed.frame(1, 12, 34)
        page.locator(".players[data-frame='1']").wait_for(state="attached")
        assert {name for name, each in parts.items() if visible(page, each) == [True]} == shown, query
    watched.check(daemon.url)


def test_shows_the_requested_players(watched: WatchedPage, page: Page, daemon: DaemonProcess) -> None:
    for query, teams, names in (
        ("players=left", False, ["A", "B"]),
        ("players=right", False, ["C", "D"]),
        ("players=right", True, ["B", "D"]),
        ("players=4,1", False, ["A", "D"]),
        ("players=all", True, ["A", "B", "C", "D"]),
    ):
        feed = open_overlay(page, daemon, query)
        feed.start("A", "B", "C", "D", teams=teams)
        expect(page.locator(".name")).to_have_text(names)
    for place, colour in enumerate(("red", "blue", "red", "blue")):
        expect(page.locator(".player").nth(place)).to_have_attribute("data-colour", colour)
    watched.check(daemon.url)


def test_theme_and_scale(watched: WatchedPage, page: Page, daemon: DaemonProcess) -> None:
    sizes = []
    for query, colour in (("theme=light&scale=150%", "rgb(18, 21, 29)"), ("", "rgb(255, 255, 255)")):
        feed = open_overlay(page, daemon, query)
        feed.start("Left", "Right")
        expect(page.locator(".name").first).to_have_css("color", colour)
        for element in ("html", "body", ".overlay"):
            expect(page.locator(element)).to_have_css("background-color", "rgba(0, 0, 0, 0)")
        sizes.append(page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)"))
    watched.check(daemon.url)
    assert sizes[0] == pytest.approx(1.5 * sizes[1])


def test_stylesheets(watched: WatchedPage, page: Page, daemon: DaemonProcess) -> None:
    feed = open_overlay(page, daemon, "css=my.css")
    feed.start("Left", "Right")
    expect(page.locator(".name").first).to_have_css("letter-spacing", "7px")
    expect(page.locator(".match")).to_have_css("background-color", "rgb(1, 2, 3)")
    watched.check(daemon.url)
    for path in ("//example.org/x.css", "https://example.org/x.css", "..%2Fsecret.css", "notes.txt"):
        page.goto(f"{daemon.url}/overlay/station?css={path}")
        page.get_by_text("expected the path of a stylesheet in the overlay folder").wait_for()
        expect(page.locator("link[rel=stylesheet]")).to_have_count(1)
    page.goto(f"{daemon.url}/overlay/station?css=none.css")
    page.get_by_text("css=none.css: not found in the overlay folder").wait_for()
    assert all(url.startswith(daemon.url) for url in watched.requested)


def test_unknown_options_are_reported_on_the_page_and_the_console(
    watched: WatchedPage, page: Page, daemon: DaemonProcess
) -> None:
    page.goto(f"{daemon.url}/overlay/station?colour=red&theme=pink&delay=500ms")
    expect(page.locator(".notes li")).to_have_text(
        ["unknown option: colour", "theme=pink: expected dark, light, neon or varsity"]
    )
    assert [line.startswith("slpstream overlay: ") for line in watched.complaints] == [True, True]
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_delay_postpones_messages(watched: WatchedPage, page: Page, daemon: DaemonProcess) -> None:
    page.clock.install(time=0)
    page.clock.pause_at(1)
    feed = Station(page)
    page.goto(f"{daemon.url}/overlay/station?delay=2s")
    # The page's clock stands still, so waiting moves it.
    while page.locator(".overlay[data-phase]").count() == 0:
        page.clock.run_for(2100)
    feed.start("Left", "Right")
    feed.frame(1, 55, 0)
    page.clock.run_for(1900)
    assert page.locator(".player").count() == 0
    while page.locator(".player").count() == 0:
        page.clock.run_for(300)
    expect(page.locator(".percent").first).to_have_text("55%")
    watched.check(daemon.url)


def test_combos_grow_end_and_disappear(watched: WatchedPage, page: Page, daemon: DaemonProcess) -> None:
    feed = open_overlay(page, daemon)
    feed.start("Left", "Right")
    combo = page.locator(".combo").first
    feed.frame(1, 0, 8)
    feed.combo(1, 8.2, kind="combo_started")
    page.locator(".players[data-frame='1']").wait_for()
    assert "shown" not in str(combo.get_attribute("class")), "one hit is not a combo"
    feed.frame(10, 0, 14)
    feed.combo(10, 8.2, 6.3)
    expect(combo).to_have_text("2hits14%")
    feed.frame(20, 0, 14)
    feed.combo(20, 8.2, 6.3, kind="combo_ended")
    page.locator(".combo.shown.ended").wait_for()
    feed.frame(96, 0, 14)
    page.wait_for_function("() => document.querySelector('.combo.shown') === null")
    watched.check(daemon.url)


def test_last_result_stays_until_names_and_score_follow(
    watched: WatchedPage, page: Page, daemon: DaemonProcess
) -> None:
    feed = open_overlay(page, daemon, "hold=1500ms")
    feed.start("Left", "Right")
    feed.frame(1, 12, 34, stocks=(2, 2))
    page.locator(".players[data-frame='1']").wait_for()
    assert visible(page, ".score") == [False], "no score was sent"
    feed.end(1)
    expect(page.locator(".outcome")).to_have_text("Right wins")
    expect(page.locator(".length")).to_have_text("2:31")
    assert visible(page, ".percent", ".stocks") == [True, True]
    assert page.locator(".won").count() == 1
    score = {"players": [{"connectCode": "CODE#1"}, {"connectCode": "CODE#0"}], "score": [2, 1]}
    feed.send({"type": "set", "station": "station", **score})
    page.locator("[data-phase=between]").wait_for()
    assert visible(page, ".percent", ".stocks", ".match", ".result", ".name") == [False, False, False, False, True]
    expect(page.locator(".score")).to_have_text(["1", "2"])
    feed.start("Left", "Right")
    expect(page.locator(".percent")).to_have_text(["0%", "0%"])
    assert visible(page, ".percent", ".score", ".match") == [True, True, True]
    watched.check(daemon.url)


def test_no_custom_files_without_a_folder(tmp_path: Path) -> None:
    from slpstream.config import check

    with pytest.raises(ConfigError) as refused:
        check({"web": {"overlay_folder": str(tmp_path / "none")}})
    assert refused.value.key == "web.overlay_folder"
    assert check({"web": {"overlay_folder": os.fspath(tmp_path)}}).web.overlay_folder == str(tmp_path)


@needs_node
def test_values_of_options() -> None:
    script = """
      const { readOptions } = await import("./scene_options.js");
      return given.map((query) => {
        const { options, problems } = readOptions(new URLSearchParams(query));
        return [problems.length, options[query.split("=")[0]]];
      });
    """
    cases: dict[str, Any] = {
        "delay=500ms": 500, "delay=2s": 2000, "delay=1.5s": 1500, "delay=80": 80, "hold=2m": 120_000, "scale=75%": 0.75,
        "scale=2": 2, "players=1,2": [1, 2], "players= left": "left", "show=": [],
        "show=stage,%20timer": ["stage", "timer"],
        "css=a/b.css": "a/b.css", "theme=light": "light", "layout=top": "top", "aspect=73:60": "73:60", "hud=1": True,
        "motion=0": False, "lang=ja": "ja", "sizes=name:1.2,score:80%25": {"name": 1.2, "score": 0.8},
    }  # fmt: skip
    wrong = [
        "delay=-1", "delay=2h", "delay=x", "scale=0", "scale=9", "players=5", "players=", "show=none", "theme=",
        "css=x", "layout=left", "aspect=5:4", "hud=yes", "motion=2", "lang=tlh", "sizes=name", "sizes=name:9",
        "sizes=shoe:1",
    ]  # fmt: skip
    answers = run(script, [*cases, *wrong])
    assert answers[: len(cases)] == [[0, value] for value in cases.values()]
    assert [problems for problems, _ in answers[len(cases) :]] == [1] * len(wrong)


def test_every_option_and_property_is_documented() -> None:
    text = (ROOT / "docs" / "howto" / "overlay.md").read_text(encoding="utf-8")
    table = (STATIC / "scene_options.js").read_text(encoding="utf-8").split("const OPTIONS = {")[1].split("\n};")[0]
    options = re.findall(r"^  (\w+): ", table, re.MULTILINE)
    assert len(options) == 20
    assert set(re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE)) >= set(options)
    root = (STATIC / "scene.css").read_text(encoding="utf-8").split(":root {")[1].split("}")[0]
    properties = re.findall(r"^  (--[\w-]+):", root, re.MULTILINE)
    assert len(properties) > 10
    assert [name for name in properties if f"`{name}`" not in text] == []
