"""All scenes except the live one: versus, results, next set, replay, ticker, controllers.

The games are the bundled matches, which form a set of five that ends 3-2, in the folder of a real daemon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from slpstream.parts.scenes.pages import STATION_SCENES, TICKER
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
from tests.sets.bundled_set import DECISIVE, GAMES, STAGES, add_game, best_of_five

SCENES = (*STATION_SCENES[1:], TICKER)
"""All but the live scene."""
FED = ("up-next", "controller", "casters", "ticker")
"""The scenes that get their messages from a test."""


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
    for i in range(3 if "up-next" in page.url or "ticker" in page.url else 0):
        station.set(("aMSa", "Golden Guardians | Hungrybox"), (1, i), station=f"setup{i + 1}", round="Losers Semis")


@pytest.mark.parametrize(("scene", "cells"), [*product(SCENES, ["few"]), *release(*product(SCENES, ["all"]))])
def test_themes_and_sizes(watched: WatchedPage, page: Page, played: DaemonProcess, scene: str, cells: str) -> None:
    station = Station(page) if scene in FED else None
    page.goto(scene_address(played, scene, "" if scene == "ticker" else "?motion=0"))
    page.locator(".scene[data-phase]").wait_for()
    if station is not None and scene == "controller":
        station.start("Golden Guardians | Zain", "Cody Schwab")
        station.frame(1200, 134, 47)
    elif station is not None:
        announce(station, page, "Golden Guardians | Zain", "Cody Schwab", casters=["Mika @mika", "Juno"])
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


NAMED = ("player", "up-next", "set-result", "game-result", "ticker", "controller")


@pytest.mark.parametrize("scene", ["versus", "casters", *release(*NAMED)])
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
            elif scene in ("set-result", "game-result", "player"):
                over = {"state": "over", "winner": 0, "round": "Grand Final", "games": finished["games"]}
                station.set((left, right), (3, 2), **over)
            else:
                announce(station, page, left, right, casters=[f"{left} @{left.split()[0]}", right])
                if scene in ("up-next", "ticker"):
                    station.set((right, left), (1, 0), station="elsewhere")
            tag = left if scene == "casters" else left.split(" | ")[-1]
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
    expect(page.locator(".kicker")).to_have_text("Replay ½×")
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
        assert [" ".join(text.split()) for text in texts] == ["one Aki 1 Bo 0 Live · Pools", "two Cy 2 Di 3 Finished"]
        expect(page.locator(".names.won")).to_have_text("Di")
        assert page.evaluate("() => document.getAnimations().length") == 0


def test_controllers_of_the_selected_players(page: Page, played: DaemonProcess) -> None:
    station = opened(page, scene_address(played, "controller", "?players=2"))
    station.start("Aki", "Bo")
    station.frame(5, 0, 0)
    expect(page.locator(".pad .name")).to_have_text(["Bo"])
    expect(page.locator("controller-display")).to_have_attribute("data-buttons", "a")


BASELINES = """() => [...document.querySelectorAll(".plate .name bdi")].map((name) => {
  const probe = document.createElement("span");
  probe.style.display = "inline-block";
  name.append(probe);
  const { bottom } = probe.getBoundingClientRect();
  probe.remove();
  return Math.round(bottom);
})"""


def test_both_sides_have_the_same_baseline(page: Page, played: DaemonProcess) -> None:
    """A sponsor, pronouns or a seed that only one player has, and names of different lengths."""
    station = opened(page, scene_address(played, "versus", "?motion=0"), "idle")
    rows: Sequence[tuple[str, str, dict[int, dict[str, Any]]]] = (
        ("Zain", "Golden Guardians | Cody Schwab", {0: {"seed": 1}}),
        ("Counter Logic Gaming | WWWWWWWWWW", "a", {1: {"pronouns": "they/them"}}),
        ("海鮮炒飯大盛り", "Panda | 侍ソウル", {}),
    )
    for left, right, details in rows:
        announce(station, page, left, right, details=details)
        expect(page.locator(".side.right .name")).to_have_text(right.split(" | ")[-1])
        settle(page)
        one, other = page.evaluate(BASELINES)
        assert abs(one - other) <= 1, (left, right)


def test_versus_fills_the_picture(page: Page, empty_daemon: DaemonProcess) -> None:
    page.goto(scene_address(empty_daemon, "versus", "?fill=1&motion=0#example"))
    board = page.locator(".board")
    expect(page.locator(".side .name")).to_have_text(["Vixen", "Altea"])
    assert board.bounding_box() == {"x": 0, "y": 0, **page.viewport_size}  # type: ignore[dict-item]
    for theme, size in CELLS["few"]:
        use(page, theme, size)
        check_look(page, (theme, size))
        assert poor_contrasts(page) == [], (theme, size)


@pytest.mark.parametrize("scene", ["controller", "casters"])
def test_place_in_the_picture(page: Page, empty_daemon: DaemonProcess, scene: str) -> None:
    """Left and right are at the bottom."""
    boxes = {}
    for at in ("middle", "left", "right"):
        page.goto("about:blank")
        page.goto(scene_address(empty_daemon, scene, f"?players=1&motion=0&at={at}#example"))
        board = page.locator(".pad" if scene == "controller" else ".board")
        expect(board).to_be_visible()
        settle(page)
        box = board.bounding_box()
        assert box is not None
        boxes[at] = (box["x"], 1920 - box["x"] - box["width"], 1080 - box["y"] - box["height"])
    middle, left, right = boxes["middle"], boxes["left"], boxes["right"]
    assert abs(middle[0] - middle[1]) < 2
    assert left[0] < 100 < left[1]
    assert right[1] < 100 < right[0]
    assert max(left[2], right[2]) < 120


LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 1"><path d="M0 0h4v1H0z" fill="#fa0"/></svg>'


def test_logos_of_sponsors(page: Page, empty_daemon: DaemonProcess) -> None:
    """A logo is in the place of the sponsor's name; all of them follow one another at the end of the ticker."""
    sponsors = {"nova ": "sponsors/nova%20.svg", "Team Liquid": "sponsors/gone.svg"}
    own = {"icons": {}, "portraits": {}, "stages": {}, "sponsors": sponsors}
    page.route("**/static/icons/own.json", lambda route: route.fulfill(json=own))
    page.route("**/custom/sponsors/nova*", lambda route: route.fulfill(content_type="image/svg+xml", body=LOGO))
    for scene in ("live", "versus", "player", "set-result", "up-next"):
        page.goto("about:blank")
        page.goto(scene_address(empty_daemon, scene, "?motion=0#example"))
        logo = page.locator(".sponsor img")
        expect(logo).to_have_attribute("alt", "Nova")
        page.wait_for_function("() => document.querySelector('.sponsor img').clientWidth > 20")
        assert page.evaluate(CUT) == [], scene
    station = opened(page, scene_address(empty_daemon, "versus", "?motion=0"), "idle")
    announce(station, page, "Team Liquid | Aki", "Nobody | Bo")
    expect(page.locator(".sponsor")).to_have_text(["Team Liquid", "Nobody"])  # the file of the logo is gone
    page.clock.install()
    page.goto(scene_address(empty_daemon, "ticker", "?motion=0&sponsors=1#example"))
    shown = page.locator(".logos img")
    expect(shown).to_have_attribute("alt", "nova ")
    page.clock.run_for(7000)
    expect(shown).to_have_attribute("alt", "Team Liquid")


def test_player_today(watched: WatchedPage, page: Page, played: DaemonProcess) -> None:
    page.goto(scene_address(played, "player", "?players=right&motion=0"))
    expect(page.locator(".plate .name")).to_have_text("Altea")
    expect(page.locator(".use .times")).to_have_text(["×3", "×2"])
    expect(page.locator(".fact dd").nth(1)).to_have_text("3–2")
    stats = [
        played.get(f"/v1/games/{game['gameId']}/stats")["overall"][1]["openingsPerKill"]
        for game in played.get("/v1/games?station=station")["games"]
    ]
    openings = sum(each["count"] for each in stats) / sum(each["total"] for each in stats)
    expect(page.locator(".fact dd").nth(2)).to_have_text(f"{openings:.1f}")
    expect(page.locator(".path-game .outcome")).to_have_text(["Lost", "Won", "Lost", "Won", "Won"])
    watched.check(played.url)


def test_highlights_follow_one_another(watched: WatchedPage, page: Page, played: DaemonProcess) -> None:
    moments = played.get("/v1/highlights?set=station&order=best&limit=5")["highlights"]
    games = [game["gameId"] for game in played.get("/v1/stations/station/set")["games"]]
    page.goto(scene_address(played, "highlights"))
    details = page.locator(".caption .details")
    for place, moment in enumerate(moments[:2]):
        number = games.index(moment["gameId"])
        expect(page.locator(".kicker .count")).to_have_text(f"{place + 1}/{len(moments)}")
        expect(details).to_contain_text(f"Game {number + 1} · {STAGES[number]}")
        page.wait_for_function("() => Number(document.querySelector('stage-view')?.dataset.frame || 0) > 0")
        expect(page.locator(".caption .name")).to_contain_text(moment["player"]["name"])
    watched.check(played.url)


def test_casters_of_the_address_come_before_those_of_the_set(page: Page, empty_daemon: DaemonProcess) -> None:
    page.goto(scene_address(empty_daemon, "casters", "?casters=Bea%20@bea,Kim&motion=0#example"))
    expect(page.locator(".caster .name:not([hidden])")).to_have_text(["Bea", "@bea", "Kim"])


EXAMPLES = {
    "live": (".name bdi", ["Vixen", "Altea"]),
    "versus": (".plate .name", ["Vixen", "Altea"]),
    "player": (".path-game .outcome", ["Won", "Lost", "Won", "Lost", "Won", "Lost", "Won", "Lost", "Won", "Lost"]),
    "game-result": (".outcome", ["Vixen wins"]),
    "set-result": (".decisive .words", ["Vixen: Up Smash at 109% on Dream Land N64"]),
    "highlights": (".caption p", ["Vixen: Up Smash at 109%", "Game 5 · Dream Land N64 · last stock"]),
    "up-next": (".sides .name", ["Vixen", "Altea"]),
    "replay": (".caption", ["Vixen: Up Smash at 109%"]),
    "controller": (".pad .name", ["Vixen", "Altea"]),
    "casters": (".caster .handle", ["@mika_casts", "@juno"]),
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
