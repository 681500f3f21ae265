"""The options of the overlay, stylesheets, score and result.

Where the messages and their timing matter, the test itself is the other end of the page's websocket (`FakeStream`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from slpstream.model.errors import ConfigError
from slpstream.web.app import STATIC
from tests.daemons.process import DaemonProcess, running
from tests.marks import slow
from tests.project import ROOT
from tests.web.javascript import needs_node, run
from tests.web.pages import LIKE_A_VIDEO, open_page, screenshot

GAME = "0123456789abcdef0123456789abcdef"
EVERYTHING = "show=names,stocks,percent,combo,timer,stage,score,controller"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    base = tmp_path_factory.mktemp("options")
    (base / "station").mkdir()
    folder = base / "folder"
    folder.mkdir()
    (folder / "my.css").write_text(":root { --panel: rgb(1, 2, 3); } .name { letter-spacing: 7px; }")
    (folder / "evil.css").symlink_to(base / "secret.css")
    (base / "secret.css").write_text("secret")
    (folder / "notes.txt").write_text("secret")
    config = base / "slpstream.toml"
    config.write_text(f'[web]\noverlay_folder = "{folder}"\n')
    with running(base / "station", arguments=("--config", str(config))) as daemon:
        yield daemon


class FakeStream:
    """The daemon's end of the page's websocket."""

    def __init__(self, page: Page) -> None:
        self._routes: list[WebSocketRoute] = []
        self._page = page
        page.route_web_socket("**/v1/stream**", self._connected)

    def _connected(self, route: WebSocketRoute) -> None:
        self._routes.append(route)
        self.send({"type": "hello", "protocol": 1, "version": "0", "stations": ["station"]})
        self.send({"type": "station", "station": "station", "state": "playing", "gameId": GAME})

    def send(self, message: dict[str, Any]) -> None:
        self._routes[-1].send(json.dumps(message))

    def log(self, type: str, offset: int, **payload: Any) -> None:
        self.send({"type": type, "station": "station", "gameId": GAME, "cursor": f"{GAME}/l{offset}.0", **payload})

    def start(self, *names: str, teams: bool = False) -> None:
        self._page.wait_for_function("() => document.querySelector('.overlay').dataset.phase !== undefined")
        characters = ((2, 1), (9, 0), (20, 2), (0, 5))
        players = [
            {
                "playerIndex": index,
                "port": index + 1,
                "characterId": characters[index][0],
                "characterColor": characters[index][1],
                "startStocks": 4,
                "teamId": index % 2,
                "displayName": name,
                "nametag": "",
                "connectCode": f"{name[:4].upper()}#{index}",
            }
            for index, name in enumerate(names)
        ]
        settings = {"stageId": 31, "inGameMode": 32, "timerType": 2, "startingTimerSeconds": 480, "isTeams": teams}
        self.log("game_start", 0, format="slippi", rate=[60, 1], settings=settings | {"players": players})

    def frame(self, number: int, *percents: float, stocks: int = 4, **pre: Any) -> None:
        players = {
            str(index): {"pre": pre, "post": {"percent": percent, "stocksRemaining": stocks}}
            for index, percent in enumerate(percents)
        }
        self.log("frame", number + 200, frame={"frame": number, "revision": 0, "players": players})

    def combo(self, kind: str, frame: int, *damages: float) -> None:
        """Sends an event about a combo of player 0 on player 1."""
        moves = [{"playerIndex": 0, "frame": frame, "moveId": 2, "hitCount": 1, "damage": damage} for damage in damages]
        self.log("event", frame + 201, kind=kind, frame=frame, playerIndex=1, combo={"playerIndex": 1, "moves": moves})

    def end(self, *winners: int) -> None:
        won = [{"playerIndex": index, "position": 0} for index in winners]
        self.log(
            "game_end", 100_000, reason="game_end", winners=won, gameEnd={"gameEndMethod": 2}, durationSeconds=151.2
        )


def open_overlay(page: Page, daemon: DaemonProcess, query: str = "") -> FakeStream:
    feed = FakeStream(page)
    page.goto(f"{daemon.url}/overlay/station?{query}")
    return feed


def visible(page: Page, *selectors: str) -> list[bool]:
    return [page.locator(selector).first.is_visible() for selector in selectors]


PARTS = (".name", ".stocks", ".percent", ".combo", ".clock", ".stage", ".controller")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", (True, True, True, True, True, True, False)),
        (EVERYTHING, (True,) * 7),
        *slow(("show=percent,stocks", (False, True, True, False, False, False, False))),
        ("show=timer,names", (True, False, False, False, True, False, False)),
    ],
)
def test_shows_the_requested_parts(
    browser: Browser, daemon: DaemonProcess, query: str, expected: tuple[bool, ...]
) -> None:
    with open_page(browser) as watched:
        feed = open_overlay(watched.page, daemon, query)
        feed.start("Left", "Right")
        feed.frame(1, 12, 34)
        watched.page.locator(".players[data-frame='1']").wait_for(state="attached")
        assert tuple(visible(watched.page, *PARTS)) == expected
        watched.check(daemon.url)


@pytest.mark.parametrize(
    ("players", "names"),
    [
        ("left", ["A", "B"]),
        *slow(("all", ["A", "B", "C", "D"]), ("right", ["C", "D"]), ("3", ["C"])),
        ("4,1", ["A", "D"]),
    ],
)
def test_shows_the_requested_players(browser: Browser, daemon: DaemonProcess, players: str, names: list[str]) -> None:
    with open_page(browser) as watched:
        feed = open_overlay(watched.page, daemon, f"players={players}")
        feed.start("A", "B", "C", "D")
        expect(watched.page.locator(".name")).to_have_text(names)
        watched.check(daemon.url)


def test_doubles_are_shown_as_coloured_teams(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        page = watched.page
        feed = open_overlay(page, daemon, EVERYTHING)
        feed.start("Aki", "Bo", "Cy", "Somebody Longer", teams=True)
        feed.frame(1, 12, 134, 87, 0, joystickX=0.7, joystickY=-0.7, physicalButtons=0x100, physicalRTrigger=0.5)
        feed.combo("combo_extended", 1, 10, 4, 7.5)
        page.locator(".combo.shown").wait_for()
        page.locator(".player[data-port='2'][data-colour='blue']").wait_for()  # the names of teams are loaded
        colours = page.locator(".player").evaluate_all("cards => cards.map((card) => card.dataset.colour)")
        assert colours == ["red", "blue", "red", "blue"]
        assert page.locator("controller-display").first.get_attribute("data-buttons") == "a"
        page.evaluate(LIKE_A_VIDEO)
        screenshot(page, "overlay-doubles-controllers")
        feed.end(1, 3)
        expect(page.locator(".outcome")).to_have_text("Blue team wins")
        page.set_viewport_size({"width": 800, "height": 600})
        boxes = [box for card in page.locator(".card").all() if (box := card.bounding_box())]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 800 for box in boxes)
        assert len({(box["x"], box["y"]) for box in boxes}) == 4
        watched.check(daemon.url)
    with open_page(browser) as watched:
        feed = open_overlay(watched.page, daemon, "players=right")
        feed.start("A", "B", "C", "D", teams=True)
        expect(watched.page.locator(".name")).to_have_text(["B", "D"])


def test_unknown_options_are_reported_on_the_page_and_the_console(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        watched.page.goto(f"{daemon.url}/overlay/station?colour=red&theme=pink&delay=500ms")
        expect(watched.page.locator(".notes li")).to_have_text(
            ["unknown option: colour", "theme=pink: expected dark, light, neon or varsity"]
        )
        assert [line.startswith("slpstream overlay: ") for line in watched.complaints] == [True, True]
        assert watched.page.locator("html").get_attribute("data-theme") == "dark"


def test_theme_and_scale(browser: Browser, daemon: DaemonProcess) -> None:
    sizes = []
    for query in ("theme=light&scale=150%", ""):
        with open_page(browser) as watched:
            page = watched.page
            feed = open_overlay(page, daemon, query)
            feed.start("Left", "Right")
            feed.frame(1, 0, 134)
            page.locator(".players[data-frame='1']").wait_for()
            size, colour = page.evaluate(
                "() => [':root', '.name'].map((s) => getComputedStyle(document.querySelector(s)))"
                ".map((style, i) => (i ? style.color : parseFloat(style.fontSize)))"
            )
            sizes.append(size)
            assert colour == ("rgb(18, 21, 29)" if query else "rgb(255, 255, 255)")
            page.evaluate(LIKE_A_VIDEO)
            screenshot(page, f"overlay-{query[6:11] or 'dark'}")
            watched.check(daemon.url)
    assert sizes[0] == pytest.approx(1.5 * sizes[1])


def test_the_delay_holds_messages_back(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        page = watched.page
        page.clock.install(time=0)
        page.clock.pause_at(1)
        feed = open_overlay(page, daemon, "delay=2s")
        # The page's clock stands still, so waiting moves it.
        while page.locator(".overlay[data-phase]").count() == 0:
            page.clock.run_for(2100)
        feed.start("Left", "Right")
        feed.frame(1, 55, 0)
        page.wait_for_timeout(300)
        page.clock.run_for(1900)
        assert page.locator(".player").count() == 0
        page.clock.run_for(300)
        expect(page.locator(".percent").first).to_have_text("55%")
        watched.check(daemon.url)


def test_combos_grow_end_and_go(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        page = watched.page
        feed = open_overlay(page, daemon)
        feed.start("Left", "Right")
        combo = page.locator(".combo").first
        feed.frame(1, 0, 8)
        feed.combo("combo_started", 1, 8.2)
        page.locator(".players[data-frame='1']").wait_for()
        assert "shown" not in str(combo.get_attribute("class")), "one hit is not a combo"
        feed.frame(10, 0, 14)
        feed.combo("combo_extended", 10, 8.2, 6.3)
        expect(combo).to_have_text("2hits14%")
        feed.frame(20, 0, 14)
        feed.combo("combo_ended", 20, 8.2, 6.3)
        page.locator(".combo.shown.ended").wait_for()
        feed.frame(96, 0, 14)
        page.wait_for_function("() => document.querySelector('.combo.shown') === null")
        watched.check(daemon.url)


def test_last_result_stays_until_names_and_score_follow(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        page = watched.page
        feed = open_overlay(page, daemon, "hold=1500ms")
        feed.start("Left", "Right")
        feed.frame(1, 12, 34, stocks=2)
        page.locator(".players[data-frame='1']").wait_for()
        assert visible(page, ".score") == [False], "no score was sent"
        feed.end(1)
        expect(page.locator(".outcome")).to_have_text("Right wins")
        expect(page.locator(".length")).to_have_text("2:31")
        assert visible(page, ".percent", ".stocks") == [True, True]
        assert page.locator(".won").count() == 1
        page.evaluate(LIKE_A_VIDEO)
        screenshot(page, "overlay-result")
        score = {"players": [{"connectCode": "RIGH#1"}, {"connectCode": "LEFT#0"}], "score": [2, 1]}
        feed.send({"type": "set", "station": "station", **score})
        page.locator("[data-phase=between]").wait_for()
        assert visible(page, ".percent", ".stocks", ".match", ".result", ".name") == [False, False, False, False, True]
        expect(page.locator(".score")).to_have_text(["1", "2"])
        screenshot(page, "overlay-between")
        feed.start("Left", "Right")
        expect(page.locator(".percent")).to_have_text(["0%", "0%"])
        assert visible(page, ".percent", ".score", ".match") == [True, True, True]
        screenshot(page, "overlay-score")
        watched.check(daemon.url)


def test_custom_stylesheet(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        page = watched.page
        feed = open_overlay(page, daemon, "css=my.css")
        feed.start("Left", "Right")
        expect(page.locator(".name").first).to_have_css("letter-spacing", "7px")
        assert page.eval_on_selector(".match", "e => getComputedStyle(e).backgroundColor") == "rgb(1, 2, 3)"
        watched.check(daemon.url)


@pytest.mark.parametrize(
    "path",
    [
        "//example.org/x.css",
        *slow("https://example.org/x.css", "../static/scenes/live.css", "..%2Fsecret.css", "notes.txt"),
    ],
)
def test_stylesheet_of_another_server_is_not_requested(browser: Browser, daemon: DaemonProcess, path: str) -> None:
    with open_page(browser) as watched:
        watched.page.goto(f"{daemon.url}/overlay/station?css={path}")
        watched.page.get_by_text("expected the path of a stylesheet in the overlay folder").wait_for()
        assert watched.page.locator("link[rel=stylesheet]").count() == 1
        assert all(url.startswith(daemon.url) for url in watched.requested)


def test_missing_stylesheet_is_reported(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        watched.page.goto(f"{daemon.url}/overlay/station?css=none.css")
        watched.page.get_by_text("css=none.css: not found in the overlay folder").wait_for()


@pytest.mark.parametrize(
    "path", ["notes.txt", "evil.css", "../secret.css", "%2e%2e/secret.css", "..%2fsecret.css", "", ".", "none.css"]
)
def test_custom_folder_is_never_left(daemon: DaemonProcess, path: str) -> None:
    with pytest.raises(OSError, match=r"404|400"):
        daemon.text(f"/custom/{path}")
    assert "letter-spacing" in daemon.text("/custom/my.css")


def test_no_custom_files_without_a_folder(tmp_path: Path) -> None:
    from slpstream.config import check

    with pytest.raises(ConfigError) as refused:
        check({"web": {"overlay_folder": str(tmp_path / "none")}})
    assert refused.value.key == "web.overlay_folder"
    assert check({"web": {"overlay_folder": os.fspath(tmp_path)}}).web.overlay_folder == str(tmp_path)


@needs_node
def test_values_of_options(tmp_path: Path) -> None:
    script = """
      const { readOptions } = await import("./scenes/options.js");
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
        "delay=-1",
        "delay=2h",
        "delay=x",
        "scale=0",
        "scale=9",
        "players=5",
        "players=",
        "show=none",
        "theme=",
        "css=x",
        "layout=left",
        "aspect=5:4",
        "hud=yes",
        "motion=2",
        "lang=tlh",
        "sizes=name",
        "sizes=name:9",
        "sizes=shoe:1",
    ]
    answers = run(script, [*cases, *wrong], tmp_path)
    assert answers[: len(cases)] == [[0, value] for value in cases.values()]
    assert [problems for problems, _ in answers[len(cases) :]] == [1] * len(wrong)


def test_every_option_and_property_is_documented() -> None:
    text = (ROOT / "docs" / "howto" / "overlay.md").read_text(encoding="utf-8")
    table = (
        (STATIC / "scenes" / "options.js").read_text(encoding="utf-8").split("const OPTIONS = {")[1].split("\n};")[0]
    )
    options = re.findall(r"^  (\w+): ", table, re.MULTILINE)
    assert len(options) == 15
    assert set(re.findall(r"^\| `(\w+)` \| ", text, re.MULTILINE)) >= set(options)
    root = (STATIC / "scenes" / "scenes.css").read_text(encoding="utf-8").split(":root {")[1].split("}")[0]
    properties = re.findall(r"^  (--[\w-]+):", root, re.MULTILINE)
    assert len(properties) > 10
    assert [name for name in properties if f"`{name}`" not in text] == []
