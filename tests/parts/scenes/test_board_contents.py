"""The contents of all scenes except the live one; `test_scenes_boards.py` tests how they look."""

from __future__ import annotations

import math
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from slpstream.parts.scenes.pages import STATION_SCENES, TICKER
from tests.browsers.pages import WatchedPage, open_page
from tests.daemons.process import DaemonProcess
from tests.parts.scenes.on_air import GAME, announce, opened, person, scene_address
from tests.project import has_part
from tests.sets.bundled_set import STAGES

SCENES = (*STATION_SCENES[1:], TICKER)
"""All but the live scene."""
NAMES = ("Vixen", "Altea")


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


def test_doubles_and_swapped_sides(page: Page, played: DaemonProcess) -> None:
    station = opened(page, scene_address(played, "versus"), "idle")
    announce(station, page, "Aki", "Bo", "Cy", "Di")
    expect(page.locator(".side.left .name")).to_have_text(["Aki", "Cy"])
    expect(page.locator(".side.right .name")).to_have_text(["Bo", "Di"])
    announce(station, page, "Aki", "Bo", "Cy", "Di", swapped=True)
    expect(page.locator(".side.left .name")).to_have_text(["Bo", "Di"])


def test_matchup_of_two_players(page: Page, empty_daemon: DaemonProcess) -> None:
    """It is on the side of its player, follows what becomes known, and ends with the set."""
    station = opened(page, scene_address(empty_daemon, "matchup", "?motion=0&lang=en"), "idle")
    assert "also=matchup" in station.routes[-1].url
    row = page.locator(".tape-row")
    station.set(("Aki", "Nova | Bo"), state="upcoming")
    station.matchup(("Aki", "Nova | Bo"), ("Team | Cy", "Di"))
    expect(page.locator(".plate .name")).to_have_text(["Aki", "Bo"])
    expect(page.locator(".totals")).to_have_text("3–1")
    expect(page.locator(".meetings .unit")).to_have_text("in sets, 8–5 in games")
    expect(page.locator(".last-set")).to_have_text("Last set 2–1, Nov 12, 2026")
    expect(row.first.locator("dd")).to_have_text(["Cy1–2Di2–2"] * 2)
    expect(row.nth(1).locator(".right .fact-line")).to_have_text(["Battlefield6–3", "Dream Land N641–7"])
    expect(row.locator("dt")).to_have_text(
        ["Sets today", "Favourite stages", "Most wins with", "Average game", "Openings per kill"]
    )
    station.set(("Aki", "Nova | Bo"), (1, 0), swapped=True)
    expect(page.locator(".plate .name")).to_have_text(["Bo", "Aki"])
    expect(page.locator(".totals")).to_have_text("1–3")
    expect(page.locator(".last-set")).to_have_text("Last set 1–2, Nov 12, 2026")
    station.set(("Aki", "Nova | Bo"))
    station.matchup(("Aki", "Nova | Bo"), headToHead={"sets": [0, 0], "games": [1, 1]})
    expect(page.locator(".meetings")).to_have_text("Head to head1–1in games")
    station.matchup(("Aki", "Nova | Bo"), (), headToHead={"sets": [0, 0], "games": [0, 0]})
    expect(page.locator(".meetings")).to_have_text("VSNo earlier games")
    expect(row.nth(2).locator("dd")).to_have_text(["3:07", "–"])
    board = page.locator(".board")
    station.set(("Aki", "Cy"))  # the matchup of the others is still there
    expect(board).to_be_hidden()
    station.matchup(("Aki", "Cy"))
    expect(board).to_be_visible()
    station.set(("Aki", "Cy"), (3, 1), state="over", winner=0)
    expect(board).to_be_hidden()
    station.set(("Aki", "Cy"))
    expect(board).to_be_visible()
    station.matchup(("Aki", "Cy"), players=[], withoutMatchup="both players have the same name")
    expect(board).to_be_hidden()


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
    if has_part("odds"):
        best = played.get("/v1/highlights?set=station&order=swing&limit=1")["highlights"][0]
        page.goto(scene_address(played, "highlights", "?odds=1"))
        change = " → ".join(f"{best['odds'][key]:.0%}" for key in ("before", "after"))
        expect(details).to_contain_text(f" · chances to win {change}")
        expect(details).to_contain_text(f"Game {games.index(best['gameId']) + 1} ")
    watched.check(played.url)


@pytest.mark.parts("odds")
def test_results_have_the_turning_point(watched: WatchedPage, page: Page, played: DaemonProcess) -> None:
    turn = played.get("/v1/stations/station/set/turning-points")["turningPoints"][0]
    games = [game["gameId"] for game in played.get("/v1/stations/station/set")["games"]]
    page.goto(scene_address(played, "set-result", "?odds=1&motion=0"))
    expect(page.locator(".turning .words")).to_have_text(
        f"Game {games.index(turn['gameId']) + 1} · {gain_of(turn['turningPoint'])} · {change_of(turn['turningPoint'])}"
    )
    expect(page.locator(".decisive .title")).to_have_text(["Decisive moment", "Turning point"])
    last = played.get(f"/v1/games/{games[-1]}/odds")["turningPoints"][0]
    page.goto(scene_address(played, "game-result", "?odds=1&motion=0"))
    expect(page.locator(".turning-point .who")).to_have_text(NAMES[last["playerIndex"]])
    expect(page.locator(".turning-point .swing")).to_have_text(change_of(last))
    watched.check(played.url)


@pytest.mark.parts("odds")
def test_result_of_five_games_fits_into_a_small_page(page: Page, played: DaemonProcess) -> None:
    page.set_viewport_size({"width": 640, "height": 360})
    page.goto(scene_address(played, "set-result", "?odds=1&motion=0"))
    expect(page.locator(".set-game")).to_have_count(5)
    expect(page.locator(".decisive")).to_have_count(2)
    board, last = page.locator(".board").bounding_box(), page.locator(".turning").bounding_box()
    assert board is not None
    assert last is not None
    assert last["y"] + last["height"] <= board["y"] + board["height"]


def gain_of(turn: dict[str, Any]) -> str:
    return f"{NAMES[turn['playerIndex']]}: {math.floor(turn['damage'])}% damage"


def change_of(turn: dict[str, Any]) -> str:
    return " → ".join(f"{turn[key]:.0%}" for key in ("before", "after"))


def test_casters_of_the_address_come_before_those_of_the_set(page: Page, empty_daemon: DaemonProcess) -> None:
    page.goto(scene_address(empty_daemon, "casters", "?casters=Bea%20@bea,Kim&motion=0#example"))
    expect(page.locator(".caster .name:not([hidden])")).to_have_text(["Bea", "@bea", "Kim"])
