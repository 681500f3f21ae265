"""The venue wall: filter and order of stations, tiles that fit into the window, and use without a mouse.

Most tests give the page made-up stations instead of the daemon's, so that no game has to run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, WebSocketRoute, expect

from slpstream.parts.scenes.pages import STATION_SCENES
from tests.browsers.axe import check_with_axe
from tests.browsers.held import Held
from tests.browsers.pages import FULL_HD, PHONE, WIDE, WatchedPage, open_page
from tests.daemons.process import DaemonProcess
from tests.marks import release
from tests.parts.scenes.on_air import person
from tests.web import javascript
from tests.web.javascript import needs_node

pytestmark = pytest.mark.parts("dashboard", "scenes")

HD = ViewportSize(width=1280, height=720)
UHD = ViewportSize(width=3840, height=2160)
NAMES = (
    "Golden Guardians | Zain", "Captain Faceroll", "まりおとるいーじだいすき", "W" * 20, "i" * 24,
    "مرحبا بالعالم الكبير", "🦊🦅🐉 Wobbles 🦊🦅🐉", "Team Liquid | Hungrybox | TSM", "aMSa",
    "Donaudampfschifffahrtskapitän",
    "Ünïcödé Ñandú", "A", "𝔉𝔯𝔞𝔨𝔱𝔲𝔯 𝔫𝔞𝔪𝔢", "n0ne", "Very Long Sponsor Name Inc. | Tag", "Ｆｕｌｌｗｉｄｔｈ　Ｎａｍｅ",
)  # fmt: skip
OUTSIDE = """() => [...document.querySelectorAll(".tile")].flatMap((tile) => {
    const room = tile.getBoundingClientRect();
    const main = document.querySelector("main").getBoundingClientRect();
    return [tile, ...tile.querySelectorAll("*:not(.open)")].filter((each) => {
        const { left, right, top, bottom, width } = each.getBoundingClientRect();
        return each.checkVisibility() && width > 1 && (left < room.left - 1 || right > room.right + 1
            || top < room.top - 1 || bottom > room.bottom + 1 || left < main.left - 1 || right > main.right + 1);
    }).map((each) => `${tile.dataset.station} ${each.getAttribute("class")} ${each.textContent}`);
})"""
"""Parts that leave their tile, and tiles that leave the page to the side."""
BROKEN = """() => [...document.querySelectorAll(".tile .player-name")].filter((name) => {
    const texts = document.createTreeWalker(name, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (texts.nextNode()) {
        for (const { index, 0: word } of texts.currentNode.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
            range.setStart(texts.currentNode, index);
            range.setEnd(texts.currentNode, index + word.length);
            if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top / 4))).size > 1) {
                return true;
            }
        }
    }
    return name.scrollWidth > name.clientWidth + 1 && !name.classList.contains("cut");
}).map((name) => name.textContent)"""
"""The names with a broken word, and those that end without an ellipsis."""
PLAYING, BETWEEN, OVER, ANNOUNCED = "playing", "between", "over", "announced"


def station(number: int, names: Sequence[str] = NAMES, **changes: Any) -> dict[str, Any]:
    """A station as `/v1/stations` describes it, with two players of a finished game."""
    players = [
        {"index": i, "port": i + 1, "name": names[(2 * number + i) % len(names)], "startStocks": 4} for i in range(2)
    ]
    game = {
        "gameId": f"{number:032x}", "format": "slippi", "inProgress": False,
        "summary": {"players": players, "winners": [0], "place": {"kind": "stage", "id": 31, "name": "Battlefield"}},
    }  # fmt: skip
    return {
        "id": f"s{number}", "name": f"Setup {number}", "state": "idle", "reason": "watching", "subscribers": 0,
        "files": {"inProgress": 0, "finished": 1}, "game": game, **changes,
    }  # fmt: skip


def item(number: int, percents: tuple[float, float] = (134.7, 0.0)) -> dict[str, Any]:
    """The finished game of `station(number)` as `/v1/games` lists it."""
    game = station(number)["game"]
    standings = {str(i): {"stocks": 2 - 2 * i, "percent": percent} for i, percent in enumerate(percents)}
    times = {"startedAt": "2025-02-03T14:05:06Z", "endedAt": f"2025-02-03T15:{number % 60:02}:06Z"}
    recorded = {"station": f"s{number}", "stations": [f"s{number}"]}
    return {**game, **times, **recorded, "reason": "game_end", "winners": [0], "standings": standings}


def messages(
    number: int, moment: str, names: Sequence[str], score: Sequence[int] = (1, 1), **game: Any
) -> Iterator[Any]:
    """The messages of a station at this moment of a set of best of 5. `teams` and `stocks` are those of its game."""
    teams, stocks = game.get("teams", False), game.get("stocks", (4, 3, 2, 1))
    source = {"station": f"s{number}"}
    logged = source | {"gameId": f"{number:032x}"}
    people = [person(i, name, team=i % 2 if teams else 0) for i, name in enumerate(names)]
    state = PLAYING if moment == PLAYING else "idle"
    yield source | {"type": "station", "state": state} | ({"gameId": logged["gameId"]} if state == PLAYING else {})
    sides = [{"score": score[side], "players": list(range(side, len(names), 2))} for side in (0, 1)]
    players = [
        {"playerIndex": i, "port": i + 1, "score": score[i % 2], "characterId": each["characterId"]}
        | ({"name": each["displayName"]} if each["displayName"] else {})
        for i, each in enumerate(people)
    ]
    counted = {"counts": True, "verdict": "counted", "players": []}
    games = [counted | {"gameId": f"{i}"} for i in range(sum(score) - (moment != PLAYING))]
    games.append(counted | {"gameId": logged["gameId"]} | ({"verdict": PLAYING} if moment == PLAYING else {}))
    yield source | {
        "type": "set", "state": {OVER: "over", ANNOUNCED: "upcoming"}.get(moment, "running"), "bestOf": 5,
        "winsNeeded": 3, "players": players, "sides": sides, "games": [] if moment == ANNOUNCED else games,
    }  # fmt: skip
    if moment == ANNOUNCED:
        return
    settings = {"stageId": 31, "inGameMode": 32, "timerType": 2, "startingTimerSeconds": 480, "isTeams": teams}
    yield logged | {
        "type": "game_start", "cursor": "c/l0.0", "format": "slippi", "rate": [60, 1],
        "settings": settings | {"players": people},
    }  # fmt: skip
    values = {
        str(i): {"post": {"percent": 134.7, "stocksRemaining": stocks[i], "positionX": 20 * i, "positionY": 0}}
        for i in range(len(names))
    }
    yield logged | {"type": "frame", "cursor": "c/l9.0", "frame": {"frame": 900, "players": values}}
    if len(names) == 2:
        yield logged | {"type": "odds", "frame": 900, "players": [0, 1], "odds": 0.304, "stocks": [4, 3]}
    if moment != PLAYING:
        yield logged | {"type": "game_end", "cursor": "c/l99.0", "reason": "game_end", "winners": [{"playerIndex": 0}]}


def feed(page: Page, stations: Sequence[Sequence[Any]]) -> None:
    """Send these messages to the page when it connects."""

    def connected(route: WebSocketRoute) -> None:
        hello = {"type": "hello", "protocol": 1, "version": "0", "stations": []}
        for message in (hello, *(each for station in stations for each in station)):
            route.send(json.dumps(message))

    page.route_web_socket("**/v1/stream**", connected)


@contextmanager
def made_up(
    browser: Browser,
    daemon: DaemonProcess,
    stations: list[dict[str, Any]],
    fragment: str = "#wall",
    live: Sequence[Sequence[Any]] = (),
    **options: Any,
) -> Iterator[tuple[WatchedPage, str]]:
    """The dashboard with these stations, and the messages of each in `live`, if there are any."""

    def games(route: Any) -> None:
        wanted = re.search(r"station=s(\d+)", route.request.url)
        numbers = [int(wanted[1])] if wanted is not None else range(1, 4)
        route.fulfill(json={"games": [ended.get(f"s{number}") or item(number) for number in numbers]})

    ended = {each["id"]: each["game"] for each in stations if "endedAt" in (each["game"] or {})}

    with open_page(browser, **({"viewport": WIDE, "color_scheme": "dark"} | options)) as watched:
        base = re.escape(daemon.url)
        if live:
            feed(watched.page, live)
        watched.page.route(
            re.compile(rf"{base}/v1/stations$"), lambda route: route.fulfill(json={"stations": stations})
        )
        watched.page.route(re.compile(rf"{base}/v1/games(\?.*)?$"), games)
        watched.page.goto(f"{daemon.url}/{fragment}")
        expect(watched.page.locator("body[data-route]")).to_be_attached()
        yield watched, daemon.url


def names_of(page: Page) -> list[str]:
    """The stations in their order."""
    return page.locator(".tile .station-name").all_text_contents()


@needs_node
def test_order_and_filter() -> None:
    def facts(name: str, **values: Any) -> Mapping[str, Any]:
        plain = {"state": "playing", "attention": 0, "lastStocks": 0, "round": "", "gameNumber": 0}
        return {"id": name, "name": name, "words": f"{name} {values.pop('words', '')}", **plain, **values}

    stations = [
        facts("Setup 10", state="idle"),
        facts("Setup 2", lastStocks=1, round="Winners Final", gameNumber=2, words="Zain"),
        facts("Setup 1", lastStocks=2, round="Grand Final", words="Ünal ﾌｫｯｸｽ"),
        facts("Setup 3", state="offline", attention=2),
        facts("Setup 4", attention=1, round="Winners Final", gameNumber=3),
    ]
    script = """
    const { attentionOf } = await import("./dashboard/attention.js");
    const { arranged } = await import("./wall/order.js");
    const { optionsOf, hashOf } = await import("./wall/options.js");
    const hashes = given.hashes;
    return {
      orders: hashes.map((hash) => {
        return arranged(given.stations, optionsOf(hash)).map(({ name }) => name.slice(6)).join(" ");
      }),
      again: hashes.map((hash) => hashOf(optionsOf(hash))),
      attention: given.attention.map(([station, state, lag]) => attentionOf(station, state, lag ?? undefined)),
    };
    """
    wanted = {
        "#wall": "3 4 1 2 10",
        "#wall?sort=name": "1 2 3 4 10",
        "#wall?sort=last_stock": "1 2 4 3 10",
        "#wall?sort=round": "1 4 2 3 10",
        "#wall?state=attention": "3 4",
        "#wall?sort=name&state=playing": "1 2 4",
        "#wall?state=offline": "3",
        "#wall?find=zain": "2",
        "#wall?find=UNAL+%E3%83%95%E3%82%A9": "1",
        "#wall?find=setup+nobody": "",
        "#wall?state=offline&featured=1": "3",
    }
    attention = [
        ({"reason": "watching"}, "idle", None, 0),
        ({"reason": "the folder is missing"}, "offline", None, 2),
        ({"reason": "the file has not grown for long"}, "idle", None, 1),
        ({"reason": "the file has not grown for long"}, "playing", 0.02, 0),
        ({"reason": "starting"}, "starting", None, 0),
        ({"reason": "game in progress"}, "stalled", None, 2),
        ({"reason": "game in progress"}, "playing", 0.02, 0),
        ({"reason": "game in progress"}, "playing", 3.5, 2),
        ({"reason": "game in progress; not recorded: disk full"}, "playing", 0.02, 2),
        ({"reason": "watching", "degraded": "the limit of inotify is reached"}, "idle", None, 1),
    ]
    given = {"stations": stations, "hashes": list(wanted), "attention": [each[:3] for each in attention]}
    found = javascript.run(script, given)
    assert dict(zip(wanted, found["orders"], strict=True)) == wanted
    assert found["again"] == list(wanted)
    assert found["attention"] == [each[3] for each in attention]


PACE = """
    const { Pacing } = await import("./wall/pacing.js");
    const pacing = new Pacing();
    pacing.begin([60, 1]);
    const [arrivals, shown] = [[...given.arrivals], []];
    for (let picture = 0; picture < given.pictures; picture++) {
      const now = (picture * 1000) / 60 + 7;
      while (arrivals.length > 0 && arrivals[0][1] <= now) {
        pacing.push({ frame: arrivals.shift()[0] });
      }
      const frame = pacing.due(now);
      if (frame !== null) shown.push([frame.frame, now - (frame.frame * 1000) / 60]);
    }
    return shown;
"""
"""Draw 60 times a second, with frames arriving at given times; return each shown frame and its delay."""


@needs_node
@pytest.mark.parametrize(("burst", "step", "max_held_ms"), [(1, 1, 20.0), (1, 3, 20.0), (12, 3, 260.0)])
def test_pacing_spreads_bursts_and_barely_delays_single_frames(burst: int, step: int, max_held_ms: float) -> None:
    """Frames arrive in groups of `burst`, with the last of them, and every `step`-th frame is sent."""
    arrivals = [(frame, (frame - frame % burst + burst - 1) * 1000 / 60) for frame in range(0, 1200 - burst, step)]
    found = javascript.run(PACE, {"arrivals": arrivals, "pictures": 1200})
    settled = found[len(found) // 4 :]
    assert len(found) >= 0.95 * len(arrivals)
    assert max(held for _, held in settled) <= max_held_ms
    numbers = [frame for frame, _ in settled]
    assert sum(after - before != step for before, after in pairwise(numbers)) <= 0.02 * len(numbers)


@needs_node
def test_late_frame_barely_delays_later_ones() -> None:
    """Every 30th sent frame arrives 90 ms late, together with the frames after it."""
    times = [(frame, frame * 1000 / 60 + (90 if frame % 90 == 0 else 0)) for frame in range(0, 1200, 3)]
    latest = accumulate((at for _, at in times), max)
    arrivals = [(frame, at) for (frame, _), at in zip(times, latest, strict=True)]
    held = sorted(each for _, each in javascript.run(PACE, {"arrivals": arrivals, "pictures": 1260}))
    assert len(held) == 400
    assert held[len(held) // 2] < 26.0
    assert held[-1] < 116.0


@needs_node
def test_missing_frames_delay_nothing() -> None:
    arrivals = [(0, 0), (4, 66), (900, 133), (904, 200)]
    shown = javascript.run(PACE, {"arrivals": arrivals, "pictures": 20})
    assert [frame for frame, _ in shown] == [0, 4, 900, 904]


def moments(count: int) -> tuple[list[dict[str, Any]], list[list[Any]]]:
    """Stations at all moments of sets: singles, doubles, games of four without teams, and players without names."""
    stations, live = [], []
    for number in range(1, count + 1):
        names = [NAMES[(3 * number + i) % len(NAMES)] for i in range(4)]
        moment = (PLAYING, BETWEEN, OVER, ANNOUNCED)[number % 4]
        players, teams = ((2, False), (4, True), (4, False))[number % 3]
        shown = [""] * players if number % 7 == 0 and moment != ANNOUNCED else names[:players]
        live.append(list(messages(number, moment, shown, teams=teams)))
        stations.append(station(number, state=PLAYING if moment == PLAYING else "idle", game=None))
    stations[0]["name"] = "Hauptbühne der Donaudampfschifffahrtsgesellschaft"
    return stations, live


@pytest.mark.parametrize(
    ("count", "viewport"),
    [(64, HD), (8, PHONE), *release((8, FULL_HD), (64, FULL_HD), (64, UHD), (50, HD), (64, PHONE))],
)
def test_tiles_fit_into_the_window(
    browser: Browser, empty_daemon: DaemonProcess, count: int, viewport: ViewportSize
) -> None:
    """Nothing leaves its tile, no word is broken, and the page does not scroll."""
    stations, live = moments(count)
    with made_up(browser, empty_daemon, stations, "?odds=1#wall", live, viewport=viewport) as (watched, url):
        page = watched.page
        playing = [each for each in live if each[0]["state"] == PLAYING and each[-1]["type"] == "odds"]
        expect(page.locator(".tile .advantage").filter(visible=True)).to_have_count(len(playing))
        expect(page.locator(".tile")).to_have_count(count)
        expect(page.locator(".tile .character-picture")).to_have_count(sum(len(each[1]["players"]) for each in live))
        for options in ("", "?featured=1", "?size=large", "?size=medium", "?size=small"):
            page.evaluate("hash => { location.hash = hash; }", f"#wall{options}")
            expect(page.locator(".tile.featured")).to_have_count(int("featured" in options and viewport != PHONE))
            page.wait_for_function(f"() => ({OUTSIDE})().length === 0 && ({BROKEN})().length === 0")
            if "size" not in options and viewport != PHONE:
                page.wait_for_function("() => document.documentElement.scrollHeight <= innerHeight")
        assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
        watched.check(url)


def test_tile_between_games_shows_the_set(browser: Browser, empty_daemon: DaemonProcess) -> None:
    ended = datetime.now(UTC) - timedelta(minutes=12, seconds=30)
    live = [
        list(messages(1, BETWEEN, ("Mika", "Juno"), (1, 1))),
        list(messages(2, PLAYING, ("", "Golden Guardians | Zain"))),
        list(messages(3, OVER, ("Mika", "Juno", "Orla", "Quill"), (3, 1), teams=True)),
        list(messages(4, ANNOUNCED, ("Orla", "Quill"))),
    ]
    stations = [station(number, state=PLAYING if number == 2 else "idle", game=None) for number in range(1, 5)]
    stations[0]["game"] = item(1) | {"endedAt": ended.isoformat()}
    with made_up(browser, empty_daemon, stations, "#wall?sort=name", live, viewport=FULL_HD, bypass_csp=True) as (
        watched,
        url,
    ):
        tiles = watched.page.locator(".tile")
        expect(tiles).to_have_count(4)
        expect(tiles.nth(0).locator(".next")).to_have_text("Game 3 next")
        expect(tiles.nth(0).locator(".figure")).to_have_text(["1", "1"])
        expect(tiles.nth(0).locator(".idle-time")).to_have_text("12 min")
        expect(tiles.nth(0)).to_have_attribute("data-idle", "long")
        expect(tiles.nth(0).locator(".damage").first).to_be_hidden()
        assert (
            tiles.nth(0).locator(".figure").first.evaluate("each => parseFloat(getComputedStyle(each).fontSize)") >= 96
        )
        expect(tiles.nth(1).locator(".player-name")).to_have_text(["Fox", "Golden Guardians | Zain"])
        expect(tiles.nth(1).locator(".side-player .icon .character-picture")).to_have_count(2)
        expect(tiles.nth(1).locator(".damage")).to_have_text(["134%", "134%"])
        expect(tiles.nth(2).locator(".next")).to_have_text("Set over")
        expect(tiles.nth(2).locator(".figure")).to_have_text(["3", "1"])
        expect(tiles.nth(2).locator(".player-name")).to_have_text(["Mika", "Orla", "Juno", "Quill"])
        expect(tiles.nth(3).locator(".next")).to_have_text("Up next")
        expect(tiles.nth(3).locator(".player-name")).to_have_text(["Orla", "Quill"])
        colours = tiles.evaluate_all(
            """all => all.map((tile) => [...tile.querySelectorAll(".player-name")].map((name) =>
                getComputedStyle(name).color === getComputedStyle(tile).color))"""
        )
        assert colours == [[True, False], [True, True], [True, True, False, False], [True, True]], "losers are dimmed"
        expect(watched.page.locator(".advantage")).to_have_count(0)
        check_with_axe(watched.page)
        watched.check(url)


@needs_node
def test_featured_station_keeps_its_place_for_a_while() -> None:
    """The tensest station is featured. Another one takes its place once it has been tenser for long enough."""
    script = """
    const { featuredOf } = await import("./wall/order.js");
    const set = (...score) => ({ winsNeeded: 3, sides: score.map((each) => ({ score: each })) });
    const plain = { attention: 0, round: "", gameNumber: 1, words: "", state: "playing", lastStocks: 0 };
    let last = null;
    return given.map(([atMs, stations]) => {
      const all = stations.map(([id, values, score]) => ({ ...plain, id, name: id, set: set(...score), ...values }));
      last = featuredOf(all, last, atMs);
      return last?.id ?? "";
    });
    """
    quiet: dict[str, Any] = {}
    last, idle = {"lastStocks": 2}, {"state": "idle"}
    steps: list[tuple[int, list[Any], str]] = [
        (0, [("a", idle, [2, 2])], ""),
        (0, [("a", quiet, [2, 1]), ("b", quiet, [2, 2]), ("c", quiet, [0, 0])], "b"),
        (1000, [("a", last, [2, 1]), ("b", quiet, [2, 2])], "b"),
        (2000, [("a", quiet, [2, 1]), ("b", quiet, [2, 2])], "b"),
        (9000, [("a", last, [2, 1]), ("b", idle, [2, 2])], "b"),
        (12000, [("a", last, [2, 1]), ("b", idle, [2, 2])], "a"),
        (30000, [("a", idle, [2, 1]), ("b", idle, [2, 2])], "a"),
        (31000, [("b", quiet, [0, 0])], "b"),
    ]
    assert javascript.run(script, [step[:2] for step in steps]) == [step[2] for step in steps]


def test_tensest_game_has_a_large_tile(browser: Browser, empty_daemon: DaemonProcess) -> None:
    names = ("Mika", "Juno")
    live = [list(messages(number, PLAYING, names, (0, 0), stocks=(4, 4))) for number in range(1, 6)]
    live.append(list(messages(6, PLAYING, names, (2, 2), stocks=(1, 1))))
    stations = [station(number, state=PLAYING, game=None) for number in range(1, 7)]
    with made_up(browser, empty_daemon, stations, "#wall?sort=name", live, viewport=FULL_HD) as (watched, url):
        page = watched.page
        expect(page.locator(".tile").first).to_have_attribute("data-station", "s1")
        page.get_by_label("Feature the tensest game").check()
        expect(page).to_have_url(re.compile(r"#wall\?sort=name&featured=1$"))
        expect(page.locator(".tile").first).to_have_attribute("data-station", "s6")
        large, usual = page.locator(".tile.featured").bounding_box(), page.locator(".tile").last.bounding_box()
        assert large is not None
        assert usual is not None
        assert large["width"] > 2 * usual["width"]
        assert large["height"] > 2 * usual["height"]
        page.get_by_label("Find a station or player").fill("setup 2")
        expect(page.locator(".tile.featured")).to_have_count(0)
        watched.check(url)


def test_page_says_that_it_is_loading(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with open_page(browser) as watched:
        held = Held(watched.page, "**/v1/stations")
        watched.page.goto(f"{empty_daemon.url}/#wall", wait_until="commit")
        expect(watched.page.get_by_text("Loading…")).to_be_visible()
        held.release()
        expect(watched.page.get_by_text("Loading…")).to_be_hidden()


def test_filter_sort_and_address(browser: Browser, empty_daemon: DaemonProcess) -> None:
    stations = [station(number) for number in range(1, 13)]
    stations[6] |= {"state": "offline", "reason": "the folder is missing"}
    stations[1] |= {"state": "stalled", "reason": "the file does not grow"}
    with made_up(browser, empty_daemon, stations) as (watched, url):
        page = watched.page
        expect(page.locator(".tile")).to_have_count(12)
        assert names_of(page)[:3] == ["Setup 2", "Setup 7", "Setup 1"], "stations that need attention come first"
        expect(page.locator(".tile").nth(1).locator(".note")).to_contain_text("the folder is missing")
        page.locator("[name=sort]").select_option("name")
        expect(page).to_have_url(re.compile(r"#wall\?sort=name$"))
        expect(page.locator(".tile").nth(0)).to_have_attribute("data-station", "s1")
        assert names_of(page) == [f"Setup {number}" for number in range(1, 13)]
        page.locator("[name=state]").select_option("attention")
        expect(page.locator(".tile")).to_have_count(2)
        page.locator("[name=state]").select_option("all")
        expect(page.locator(".tile")).to_have_count(12)
        page.get_by_label("Find a station or player").fill("hungrybox")
        expect(page.locator(".tile")).to_have_count(2)
        expect(page.locator(".wall-bar .shown")).to_have_text("2 of 12 stations")
        page.get_by_label("Find a station or player").fill("nobody")
        expect(page.locator(".nothing")).to_have_text("No station matches.")
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        expect(page.locator(".nothing")).to_have_text("No station matches.")
        expect(page.get_by_label("Find a station or player")).to_have_value("nobody")
        watched.check(url)


def test_overview_of_many_stations_is_the_wall(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with made_up(browser, empty_daemon, [station(number) for number in range(17)], fragment="") as (watched, _):
        expect(watched.page.locator(".tile")).to_have_count(17)
        expect(watched.page.locator(".lists")).to_be_hidden()
    with made_up(browser, empty_daemon, [station(number) for number in range(16)], fragment="") as (watched, _):
        expect(watched.page.locator(".station")).to_have_count(16)
        watched.page.get_by_role("link", name="Venue wall").click()
        expect(watched.page.locator(".tile")).to_have_count(16)


def test_keyboard_reaches_stations_and_their_scenes(browser: Browser, empty_daemon: DaemonProcess) -> None:
    with made_up(
        browser,
        empty_daemon,
        [station(number) for number in range(1, 4)],
        permissions=["clipboard-read", "clipboard-write"],
        bypass_csp=True,
    ) as (watched, url):
        page = watched.page
        expect(page.locator(".tile")).to_have_count(3)
        page.get_by_role("button", name="Full screen").focus()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Setup 1", exact=True)).to_be_focused()
        page.keyboard.press("Tab")
        scenes = page.get_by_role("button", name="Scenes of Setup 1")
        expect(scenes).to_be_focused()
        page.keyboard.press("Enter")
        menu = page.get_by_role("dialog", name="Scenes of Setup 1")
        expect(menu.get_by_role("link", name="Live")).to_be_focused()
        check_with_axe(page)
        addresses = [link.get_attribute("href") for link in menu.get_by_role("link").all()]
        assert addresses == [f"{url}/scenes/{scene}/s1" for scene in STATION_SCENES]
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(menu.get_by_text("Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == addresses[0]
        page.keyboard.press("Escape")
        expect(menu).to_be_hidden()
        expect(scenes).to_be_focused()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#detail-title")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("link", name="Setup 1", exact=True)).to_be_focused()
        expect(page.locator(".tile")).to_have_count(3)


def test_phone_opens_scenes_and_a_station_with_one_tap_each(browser: Browser, empty_daemon: DaemonProcess) -> None:
    stations = [station(number) for number in range(1, 6)]
    with made_up(browser, empty_daemon, stations, viewport=PHONE, has_touch=True) as (watched, _):
        page = watched.page
        page.get_by_role("button", name="Scenes of Setup 2").tap()
        menu = page.get_by_role("dialog")
        box = menu.bounding_box()
        assert box is not None
        assert (box["x"], box["width"], round(box["y"] + box["height"])) == (0, PHONE["width"], PHONE["height"])
        menu.get_by_role("button", name="Close").tap()
        expect(menu).to_be_hidden()
        box = page.locator(".tile[data-station=s3] .picture").bounding_box()
        assert box is not None
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(page.locator("#detail-title")).to_have_text("Setup 3")
        page.get_by_role("link", name="All stations").tap()
        expect(page.locator(".tile")).to_have_count(5)


def test_projector_shows_nothing_but_stations(browser: Browser, empty_daemon: DaemonProcess) -> None:
    stations = [station(number, ("Golden Guardians | Zain", "aMSa", "Captain Faceroll")) for number in range(1, 65)]
    with made_up(browser, empty_daemon, stations, fragment="#wall?clean=1", viewport=FULL_HD) as (watched, _):
        page = watched.page
        expect(page.locator(".tile")).to_have_count(64)
        expect(page.locator(".wall-bar")).to_be_hidden()
        expect(page.locator(".health")).to_be_hidden()
        page.wait_for_function("height => document.documentElement.scrollHeight <= height", arg=FULL_HD["height"])
        page.get_by_role("button", name="Leave full screen").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".wall-bar")).to_be_visible()
