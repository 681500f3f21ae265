"""All scenes except the live one: versus, results, next set, replay, ticker, controllers.

The games are the bundled matches, which form a set of five that ends 3-2, in the folder of a real daemon.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsers.pages import WatchedPage, open_page
from tests.daemons.process import DaemonProcess
from tests.marks import release
from tests.parts.scenes.on_air import (
    CELLS,
    CROWDED,
    CUT,
    GAME,
    NAMES,
    SIZES,
    Station,
    game_picture,
    opened,
    person,
    poor_contrasts,
    scene_address,
    settle,
)
from tests.sets.bundled_set import DECISIVE, GAMES, add_game, best_of_five

SCENES = ("versus", "game-result", "set-result", "up-next", "replay", "controller", "ticker")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A daemon with a finished set of five games."""
    folder = tmp_path_factory.mktemp("boards")
    with best_of_five(folder) as (daemon, station):
        for play in range(1, GAMES + 1):
            add_game(station, play)
        daemon.until(lambda: daemon.get("/v1/stations/station/set").get("state") == "over")
        yield daemon


def use(page: Page, theme: str, size: tuple[int, int]) -> None:
    """Give an open page another theme and size, and draw a game below it."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate(
        # Boards are rebuilt, because the theme of a page never changes.
        "([theme, picture]) => {"
        " document.querySelectorAll('[data-shown]').forEach((each) => delete each.dataset.shown);"
        " const root = document.documentElement; root.dataset.theme = theme;"
        " root.style.background = picture; dispatchEvent(new Event('resize')); }",
        [theme, game_picture(*size)],
    )
    settle(page)


def announce(station: Station, page: Page, *names: str, **values: Any) -> None:
    """Announce a set, with sets of other stations."""
    details = {0: {"pronouns": "they/them", "seed": 1}, 1: {"seed": 3}}
    given = {"state": "upcoming", "round": "Grand Final", "event": "The Big Field 12", "details": details} | values
    station.set(names, **given)
    for i in range(0 if "versus" in page.url else 3):
        station.set(("aMSa", "Golden Guardians | Hungrybox"), (1, i), station=f"setup{i + 1}", round="Losers Semis")


@pytest.mark.parametrize(("scene", "cells"), [*product(SCENES, ["few"]), *release(*product(SCENES, ["all"]))])
def test_themes_and_sizes(watched: WatchedPage, page: Page, played: DaemonProcess, scene: str, cells: str) -> None:
    station = Station(page) if scene in ("up-next", "controller", "ticker") else None
    page.goto(scene_address(played, scene, "" if scene == "ticker" else "?motion=0"))
    page.locator(".scene[data-phase]").wait_for()
    if station is not None and scene == "controller":
        station.start("Golden Guardians | Zain", "Cody Schwab")
        station.frame(1200, 134, 47)
    elif station is not None:
        announce(station, page, "Golden Guardians | Zain", "Cody Schwab")
    page.locator(".scene[data-phase=shown]").wait_for()
    if scene == "set-result":
        expect(page.locator(".decisive .words")).to_have_text(DECISIVE)
    if scene == "game-result":
        page.locator(".chart").wait_for()
    for theme, size in CELLS[cells]:
        use(page, theme, size)
        check_look(page, (theme, size))
        assert poor_contrasts(page) == [], (theme, size)
    watched.check(played.url)


def check_look(page: Page, what: object) -> None:
    """Check that nothing on the board is cut, covered or outside."""
    hidden = "board.scrollWidth - board.clientWidth, board.scrollHeight - board.clientHeight"
    cut, crowded, width, height = page.locator(".board").evaluate(f"board => [({CUT})(), ({CROWDED})(), {hidden}]")
    assert cut == [], what
    assert crowded == [], what
    assert (width <= 1, height <= 1) == (True, True), what


def test_result_of_a_game(watched: WatchedPage, page: Page, played: DaemonProcess) -> None:
    """`test_set_on_air.py` covers the results of a whole set."""
    page.goto(scene_address(played, "game-result"))
    expect(page.locator(".outcome")).to_have_text("Altea wins")
    expect(page.locator(".right .kill")).to_have_text(
        ["0:09Forward Smash84%", "1:27Up Smash211%", "2:24Forward Smash123%", "3:23Forward Smash129%"]
    )
    expect(page.locator(".row dt").nth(1)).to_have_text("Openings per kill")
    expect(page.locator(".row").nth(1).locator("dd")).to_have_text(["7.3", "5.5"])
    expect(page.locator(".stocks-left")).to_have_text(["0 stocks", "1 stock"])
    assert page.locator(".chart .loss").count() == 7
    watched.check(played.url)


def test_nothing_to_show_is_transparent(watched: WatchedPage, page: Page, empty_daemon: DaemonProcess) -> None:
    for scene in SCENES:
        page.goto(scene_address(empty_daemon, scene))
        page.locator(".scene[data-phase=waiting]").wait_for()
        assert page.locator("main").inner_text().strip() == "", scene
        for element in ("html", "body", ".scene"):
            expect(page.locator(element)).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    watched.check(empty_daemon.url)


@pytest.mark.parametrize("scene", ["versus", *release("up-next", "set-result", "game-result", "ticker", "controller")])
def test_names_of_a_board_are_not_cut(page: Page, played: DaemonProcess, scene: str) -> None:
    """The names of one set after another; the queue and the ticker also show those of other stations."""
    station = opened(page, scene_address(played, scene, "?motion=0"), "idle")
    finished = played.get("/v1/stations/station/set")
    for size in (SIZES[0], SIZES[2]):
        use(page, "dark", size)
        for left, right in zip(NAMES[::2], NAMES[1::2], strict=True):
            if scene == "controller":
                station.start(left, right)
                station.frame(1200, 134, 47)
            elif scene in ("set-result", "game-result"):
                over = {"state": "over", "winner": 0, "round": "Grand Final", "games": finished["games"]}
                station.set((left, right), (3, 2), **over)
            else:
                announce(station, page, left, right)
                station.set((right, left), (1, 0), station="elsewhere")
            tag = left.split(" | ")[-1]
            page.wait_for_function(
                "tag => [...document.querySelectorAll('.name, .names')].some((name) => name.textContent === tag)",
                arg=tag,
            )
            settle(page)
            check_look(page, (size, left, right))


def test_doubles_and_swapped_sides(page: Page, played: DaemonProcess) -> None:
    station = opened(page, scene_address(played, "versus"), "idle")
    announce(station, page, "Aki", "Bo", "Cy", "Di")
    expect(page.locator(".side.left .name")).to_have_text(["Aki", "Cy"])
    expect(page.locator(".side.right .name")).to_have_text(["Bo", "Di"])
    announce(station, page, "Aki", "Bo", "Cy", "Di", swapped=True)
    expect(page.locator(".side.left .name")).to_have_text(["Bo", "Di"])


def test_another_format_has_a_result(page: Page, played: DaemonProcess) -> None:
    """The summary of a game has the same shape for every format."""
    players = [{"index": i, "name": name, "character": {"name": "Blue Falcon"}} for i, name in enumerate(("Aki", "Bo"))]
    summary = {"place": {"kind": "course", "name": "Mute City"}, "players": players, "winners": [1], "mode": "race"}
    game: dict[str, Any] = {
        "gameId": GAME, "format": "gci", "rate": [60, 1], "settings": {}, "summary": summary, "winners": [1],
        "reason": "game_end", "durationSeconds": 81.0, "inProgress": False,
    }  # fmt: skip
    page.route(f"**/v1/games/{GAME}", lambda route: route.fulfill(json=game))
    station = opened(page, scene_address(played, "game-result"))
    station.log("game_start", 0, format="gci", rate=[60, 1], settings={}, summary=summary)
    station.end(1, seconds=81.0)
    expect(page.locator(".outcome")).to_have_text("Bo wins")
    expect(page.locator(".detail")).to_have_text(["Mute City", "1:21"])
    assert page.locator(".chart").count() == 0


def test_result_that_is_not_recorded_yet(page: Page, played: DaemonProcess) -> None:
    """The game has ended in the stream; the list of games shows it as neither running nor finished."""
    game: dict[str, Any] = {
        "gameId": GAME, "format": "slippi", "settings": {"stageId": 31, "players": [person(0, "Aki"), person(1, "Bo")]},
        "winners": [], "reason": None, "inProgress": False,
    }  # fmt: skip
    page.route(f"**/v1/games/{GAME}", lambda route: route.fulfill(json=game))
    page.route(f"**/v1/games/{GAME}/stats", lambda route: route.fulfill(status=404, json={}))
    station = opened(page, scene_address(played, "game-result"))
    station.start("Aki", "Bo")
    with page.expect_response(f"**/v1/games/{GAME}"):
        station.end(1)
    expect(page.locator(".outcome")).to_have_text("Bo wins")
    with page.expect_response(f"**/v1/games/{GAME}"):  # it is requested again
        game |= {"winners": [0], "reason": "game_end"}
    expect(page.locator(".outcome")).to_have_text("Aki wins")


def test_lost_connection_keeps_the_board(page: Page, played: DaemonProcess) -> None:
    station = opened(page, scene_address(played, "versus"), "idle")
    announce(station, page, "Aki", "Bo")
    expect(page.locator(".side.left .name")).to_have_text("Aki")
    page.route_web_socket("**/v1/stream**", lambda route: route.close(code=1001))
    station.lose_connection()
    page.locator(".scene.stale").wait_for()
    assert page.locator(".side.left .name").is_visible()


def test_replay_shows_the_last_stock(watched: WatchedPage, page: Page, played: DaemonProcess) -> None:
    page.goto(scene_address(played, "replay"))
    expect(page.locator(".caption")).to_have_text("Altea: Forward Smash at 129%")
    page.wait_for_function("() => Number(document.querySelector('stage-view')?.dataset.frame || 0) > 0")
    first = int(page.locator("stage-view").get_attribute("data-frame") or 0)
    page.wait_for_function(
        "first => Number(document.querySelector('stage-view').dataset.frame) > first + 20", arg=first
    )
    watched.check(played.url)


def test_ticker_shows_all_stations(browser: Browser, played: DaemonProcess) -> None:
    with open_page(browser, reduced_motion="reduce") as watched:
        page = watched.page
        station = opened(page, scene_address(played, "ticker"), "idle")
        station.set(("Aki", "Bo"), (1, 0), station="one", round="Pools")
        station.set(("Cy", "Di"), (2, 3), station="two", state="over", winner=1, setId="1" * 32)
        items = page.locator(".items .item")
        expect(items).to_have_count(2)
        texts = sorted(items.all_inner_texts())
        assert [" ".join(text.split()) for text in texts] == ["one Aki 1 Bo 0 Live · Pools", "two Cy 2 Di 3 Final"]
        expect(page.locator(".names.won")).to_have_text("Di")
        assert page.evaluate("() => document.getAnimations().length") == 0


def test_controllers_of_the_selected_players(page: Page, played: DaemonProcess) -> None:
    station = opened(page, scene_address(played, "controller", "?players=2"))
    station.start("Aki", "Bo")
    station.frame(5, 0, 0)
    expect(page.locator(".pad .name")).to_have_text(["Bo"])
    expect(page.locator("controller-display")).to_have_attribute("data-buttons", "a")


EXAMPLES = {
    "live": (".name bdi", ["Vixen", "Altea"]),
    "versus": (".plate .name", ["Vixen", "Altea"]),
    "game-result": (".outcome", ["Vixen wins"]),
    "set-result": (".decisive .words", ["Vixen: Up Smash at 109% on Dream Land N64"]),
    "up-next": (".sides .name", ["Vixen", "Altea"]),
    "replay": (".caption", ["Vixen: Up Smash at 109%"]),
    "controller": (".pad .name", ["Vixen", "Altea"]),
    "ticker": (".items:first-child .names.won", ["Bramble"]),
}
"""The texts that scenes show of the made-up set if their address ends in `#example`."""


def test_every_scene_has_an_example(watched: WatchedPage, page: Page, empty_daemon: DaemonProcess) -> None:
    page.goto(scene_address(empty_daemon, "versus"))
    page.locator(".scene[data-phase=waiting]").wait_for()
    assert not any("/example.js" in url for url in watched.requested)
    del watched.requested[:]
    for scene, (selector, texts) in EXAMPLES.items():
        page.goto("about:blank")
        page.goto(scene_address(empty_daemon, scene, "?theme=varsity&motion=0#example"))
        expect(page.locator(selector)).to_have_text(texts)
        settle(page)
        assert page.evaluate(CUT) == [] or scene == "ticker", scene
        assert poor_contrasts(page) == [], scene
    page.goto("about:blank")
    page.goto(scene_address(empty_daemon, "live", "?delay=60s&show=names,percent,score,combo#example"))
    expect(page.locator(".call")).to_have_text(["KO!117%", "Stock lost"])
    expect(page.locator(".outcome")).to_have_text("Vixen wins")
    expect(page.locator(".overlay")).to_have_attribute("data-phase", "playing")
    assert [url for url in watched.requested if "/v1/" in url] == [], "no request is sent to the daemon"
    watched.check(empty_daemon.url)
