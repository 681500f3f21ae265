"""Every scene and the dashboard show the state of the API, whenever they are loaded and whenever their data arrive.

A set is played in the folder of a real daemon, which is restarted in the middle of each game. At every half second,
pages that have been open from the start show the state of the API, and so do the same pages after a reload.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import playwright.sync_api
import pytest
from playwright.sync_api import Browser, Page, expect

from slpstream.formats.slippi import names as melee
from slpstream.formats.slippi.edited import as_another_game
from slpstream.parts.scenes.pages import STATION_SCENES, TICKER
from tests.browsers.held import Held
from tests.browsers.pages import LONG_MS, WatchedPage, open_page, screenshot
from tests.daemons.configuration import configuration
from tests.daemons.process import DaemonProcess
from tests.daemons.requests import correct_set
from tests.marks import release
from tests.parts.scenes.on_air import opened, scene_address
from tests.ports import free_port
from tests.replays.in_progress import written_in_steps
from tests.synthetic.match import synthetic_match

pytestmark = pytest.mark.parts("dashboard")

GAMES = ((11, 2), (39, 1), (47, 1), (21, 1), (25, 1))
"""Seeds and stocks of short games. The first player wins the first, the third and the fifth, the other one the rest."""
SCENES = (*STATION_SCENES, TICKER)
DASHBOARD = {"card": "/#", "detail": "/#station/station", "wall": "/#wall", "phone": "/#remote/station"}
CARD = "[data-station=station].station"
TILE = ".tile:has([href='#station/station'])"
READ: Mapping[str, Mapping[str, str]] = {
    "live": {
        "status": ".status",
        "names": ".player .name",
        "characters": ".player .fighter",
        "scores": ".player .score",
        "stocks": ".player .stocks .text",
        "percents": ".player .percent",
    },
    "versus": {"names": ".side .name", "characters": ".side .character", "scores": ".score"},
    "player": {"names": ".plate .name", "outcomes": ".path-game .outcome"},
    "game-result": {"names": ".column .name", "characters": ".column .character", "outcome": ".outcome"},
    "set-result": {"names": ".side .name", "scores": ".side .score", "running": ".set-game .running"},
    "highlights": {"total": ".kicker .total"},
    "up-next": {"names": ".side .name"},
    "replay": {"caption": ".caption"},
    "controller": {"names": ".pad .name"},
    "casters": {"names": ".caster .name"},
    "ticker": {"items": ".items[aria-hidden=false] .item"},
    "card": {
        "names": f"{CARD} .name",
        "characters": f"{CARD} .character",
        "scores": f"{CARD} .score",
        "stocks": f"{CARD} .stocks .hidden",
        "percents": f"{CARD} .percent",
    },
    "detail": {
        "names": ".panel .player .name",
        "characters": ".panel .player .character",
        "scores": ".panel .player .score",
        "stocks": ".panel .player .stocks .hidden",
        "percents": ".panel .player .percent",
        "result": ".panel .result",
    },
    "wall": {
        "names": f"{TILE} .player-name",
        "scores": f"{TILE} :is(.set-score, .figure)",
        "percents": f"{TILE} .damage",
        "next": f"{TILE} .next",
    },
    "phone": {"state": ".remote .state", "names": ".remote .name", "scores": ".remote .points"},
}
"""The compared texts, by selector."""
KILL_FRAMES = 60
"""Maximum distance between a kill and the loss of the stock."""
TEXTS = """(selectors) => Object.fromEntries(Object.entries(selectors).map(([name, selector]) => [name,
    [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility())
        .map((each) => each.textContent.replaceAll(/\\s+/g, " ").trim()).filter(Boolean)]))"""

Texts = dict[str, list[str]]


class Venue:
    """A daemon with the stations `station` and `side` that can be restarted, and the answers of its API."""

    def __init__(self, folder: Path, best_of: int) -> None:
        self.folders = [folder / "station", folder / "side"]
        for each in self.folders:
            each.mkdir()
        self._state = folder / "state"
        self._arguments = configuration(
            folder, f"[sets]\nbest_of = {best_of}\n[watch]\nstalled_seconds = 900\nidle_seconds = 900\n"
        )
        self._port = str(free_port())
        self.daemon = self._started()
        self.stocks = 0
        """Of a player at the start of the current game."""

    def _started(self) -> DaemonProcess:
        arguments = (*self._arguments, "--port", self._port)
        daemon = DaemonProcess(*self.folders, arguments=arguments, state=self._state)
        daemon.wait_ready()
        return daemon

    def restart(self) -> None:
        """Restart the daemon on the same port, so that open pages reconnect."""
        self.daemon.terminate()
        self.daemon = self._started()

    @property
    def set(self) -> dict[str, Any]:
        found: dict[str, Any] = self.daemon.get("/v1/stations/station/set")
        return found

    def until(self, verdicts: list[str]) -> None:
        """Wait until the games of the set have these verdicts."""
        self.daemon.until(lambda: [game["verdict"] for game in self.set["games"]] == verdicts)

    def until_listed(self, count: int) -> None:
        """Wait until the daemon lists this many games, which takes a moment after a restart."""
        self.daemon.until(lambda: len(self.games) == count)

    @property
    def games(self) -> list[dict[str, Any]]:
        """The games of the station, the newest first."""
        found: list[dict[str, Any]] = self.daemon.get("/v1/games?station=station")["games"]
        return found

    def expected(self) -> dict[str, dict[str, Any]]:
        """The expected text of each page, derived from the API alone."""
        found, games = self.set, self.games
        people = sorted(found["players"], key=lambda player: player["port"])
        names = [player.get("name", "") for player in people]
        scores = [str(player["score"]) for player in people]
        state = found["state"]
        running = next((game for game in games if game["inProgress"]), None)
        last = next((game for game in games if not game["inProgress"]), None)
        characters = [melee.character_name(player["characterId"]) for player in people if "characterId" in player]
        now = running or last
        lives, damages = ([], []) if now is None else self._values(now)
        stocks = [f"{life} stock{'' if life == 1 else 's'}" for life in lives]
        percents = [f"{damage}%" for damage in damages]
        row = {
            "names": [] if now is None else self._names(now),
            "scores": scores if now is not None and self._has(now) else [],
            "percents": ["out" if life == 0 else percent for life, percent in zip(lives, percents, strict=True)],
        }
        following = {"upcoming": "Up next", "running": f"Game {sum(map(int, scores)) + 1} next", "over": "Set over"}
        tile = {
            "names": names if state == "upcoming" else row["names"],
            "scores": [] if state == "upcoming" else row["scores"],
            "percents": row["percents"] if running else [],
            "next": [] if running else [following[state]],
        }
        card = row | {"characters": [] if now is None else _characters(now), "stocks": stocks}
        outcome = [] if last is None else [f"{self._names(last)[last['winners'][0]]} wins"]
        counted = [game for game in found["games"] if game["counts"]]
        words = [{"upcoming": "Up next", "running": "Live", "over": "Finished"}[state], found.get("round", "")]
        best = self.daemon.get("/v1/highlights?set=station&order=best&limit=20")["highlights"]
        moments = [each for each in best if running is None or each["gameId"] != running["gameId"]][:5]
        item = f"station{names[0]}{scores[0]}{names[1]}{scores[1]}{' · '.join(filter(None, words))}"
        return {
            "live": {
                "status": [], "names": names, "characters": characters if running else [], "scores": scores,
                "stocks": stocks if running else [], "percents": percents if running else [],
            },
            "versus": {
                "names": names, "characters": characters, "scores": scores if any(map(int, scores)) else [],
            },
            "player": {
                "names": names,
                "outcomes": [
                    "Won" if game["winner"] == player["side"] else "Lost"
                    for player in people for game in counted if "winner" in game
                ],
            },
            "game-result": {
                "names": [] if last is None else self._names(last),
                "characters": [] if last is None else _characters(last), "outcome": outcome,
            },
            "set-result": {
                "names": names if counted else [], "scores": scores if counted else [],
                "running": ["–".join(map(str, game["score"])) for game in counted],
            },
            "highlights": {"total": [str(len(moments))] if moments else []},
            "up-next": {"names": names if state == "upcoming" else []},
            "replay": {"caption": self._last_loss(games)},
            "controller": {"names": names if running else []},
            "casters": {"names": found.get("casters", [])},
            "ticker": {"items": [item]},
            "card": card,
            "detail": card | {"result": [] if running else outcome},
            "wall": tile,
            "phone": {
                "state": [self.daemon.get("/v1/stations/station")["state"]],
                "names": [side["name"] for side in found["sides"]],
                "scores": [str(side["score"]) for side in found["sides"]],
            },
        }  # fmt: skip

    def _has(self, game: Mapping[str, Any]) -> bool:
        return game["gameId"] in [each["gameId"] for each in self.set["games"]]

    def _names(self, game: Mapping[str, Any]) -> list[str]:
        players = self.set["players"] if self._has(game) else game["players"]
        return [player["name"] for player in sorted(players, key=lambda player: player["port"])]

    def _values(self, game: Mapping[str, Any]) -> tuple[list[int], list[int]]:
        """Stocks and percents: at the end of the game, or in its newest frame."""
        if not game["inProgress"]:
            ends = [game["standings"][str(player["index"])] for player in game["players"]]
            return [end["stocks"] for end in ends], [int(end["percent"]) for end in ends]
        newest = self.daemon.get(f"/v1/games/{game['gameId']}/frames?from={self._frame}")["frames"][-1]
        posts = [newest["players"][str(player["index"])]["post"] for player in game["players"]]
        return [post["stocksRemaining"] for post in posts], [int(post["percent"]) for post in posts]

    def until_frame(self, number: int) -> None:
        """Wait until the daemon has this frame of the running game."""
        self._frame = number
        self.daemon.until(
            lambda: any(
                self.daemon.status(f"/v1/games/{game['gameId']}/frames?from={number}") == 200
                for game in self.games
                if game["inProgress"]
            )
        )

    def _last_loss(self, games: list[dict[str, Any]]) -> list[str]:
        """The caption of the newest game in which a stock was lost: the kill, or the stage if there was none."""
        for game in games:
            status, stats = self.daemon.request("GET", f"/v1/games/{game['gameId']}/stats")
            if status == 404:
                continue  # the game has only begun
            losses = [stock["endFrame"] for stock in stats["stocks"] if "endFrame" in stock]
            if game["inProgress"] and sum(self._values(game)[0]) + len(losses) < 2 * self.stocks:
                return ["Battlefield"]  # the stats of a running game are a few frames behind
            for one in stats["extra"]["players"]:
                for kill in one["killMoves"]:
                    if losses and abs(kill["frame"] - max(losses)) < KILL_FRAMES:
                        who, move = self._names(game)[one["playerIndex"]], melee.move_name(kill["moveId"])
                        return [f"{who}: {move} at {int(kill['percent'])}%"]
            if losses:
                return ["Battlefield"]
        return []

    def address(self, page: str) -> str:
        if page in DASHBOARD:
            return f"{self.daemon.url}{DASHBOARD[page]}"
        return scene_address(self.daemon, page, "?layout=hud&hold=0" if page == "live" else "")


def _characters(game: Mapping[str, Any]) -> list[str]:
    return [melee.character_name(player["character"]) or "" for player in game["players"]]


class Pages:
    """One page for each scene and part of the dashboard, open all the time."""

    def __init__(self, first: WatchedPage, venue: Venue) -> None:
        self._venue = venue
        self._pages = {name: first.page if name == "live" else first.page.context.new_page() for name in READ}
        for name in READ:
            self._load(name)

    def _load(self, name: str) -> None:
        page = self._pages[name]
        page.goto("about:blank")  # a change of the fragment alone would not reload the dashboard
        page.goto(self._venue.address(name))

    def check(self, moment: str, *, reload: bool) -> None:
        """Check that every page shows the state of the API now, and again after a reload."""
        expected = self._venue.expected()
        for name, texts in expected.items():
            self._shows(name, texts, f"{moment}: {name}, open since before")
        if reload:
            for name in READ:
                self._load(name)
            for name, texts in expected.items():
                self._shows(name, texts, f"{moment}: {name}, loaded now")
                screenshot(self._pages[name], f"any_moment_{moment.replace(' ', '_')}_{name}")

    def _shows(self, name: str, texts: Mapping[str, list[str]], what: str) -> None:
        page, selectors = self._pages[name], READ[name]
        try:
            page.wait_for_function(
                f"([selectors, wanted]) => {{ const now = ({TEXTS})(selectors); return Object.entries(wanted)"
                " .every(([name, texts]) => JSON.stringify(name === 'items' ? now[name].slice(0, 1) : now[name])"
                " === JSON.stringify(texts)); }",
                arg=[dict(selectors), dict(texts)],
                timeout=LONG_MS,
            )
        except playwright.sync_api.TimeoutError:
            got = page.evaluate(TEXTS, dict(selectors))
            wrong = {key: (got[key], wanted) for key, wanted in texts.items() if got[key] != wanted}
            raise AssertionError(f"{what}: {wrong}") from None


@pytest.mark.parametrize(("games", "every_frames"), [(3, 600), *release((5, 30))])
def test_pages_show_the_state_of_the_api(browser: Browser, tmp_path: Path, games: int, every_frames: int) -> None:
    venue = Venue(tmp_path, games)
    with open_page(browser, reduced_motion="reduce") as watched:
        try:
            pages = Pages(watched, venue)
            for moment in play(venue, games, every_frames):
                is_whole = games == len(GAMES)
                pages.check(moment, reload=moment == "restart in game 2" or (is_whole and " at " not in moment))
            watched.check(venue.daemon.url, interrupted=True)
        finally:
            venue.daemon.kill()


def play(venue: Venue, games: int, every_frames: int) -> Iterator[str]:
    """Play a set, with a restart in the middle of each game, and announce the next one. Yields at each moment."""
    names = {"0": "Mika", "1": "Juno"}
    correct_set(venue.daemon, "station", {"names": names, "round": "Winners Final", "casters": ["Bea"]})
    yield "before"
    for number, (seed, stocks) in enumerate(GAMES[:games], 1):
        match = synthetic_match(seed=seed, stocks=stocks)
        venue.stocks = stocks
        game = as_another_game(match, random_seed=seed, started_at=datetime.now(UTC))
        counted = ["counted"] * (number - 1)
        middle, last = 400, 0
        for frame in written_in_steps(venue.folders[0] / f"Game_{number}.slp", game, every_frames):
            venue.until_frame(frame)
            yield f"game {number} at {(frame + 123) / 60:.1f} s"
            if last < middle <= frame:
                venue.restart()
                venue.until([*counted, "playing"])
                venue.until_frame(frame)
                venue.until_listed(number)
                yield f"restart in game {number}"
            last = frame
        venue.until([*counted, "counted"])
        venue.daemon.until(lambda: "standings" in venue.games[0])
        if number < games:
            yield f"after game {number}"
    assert venue.set["state"] == "over"
    yield "set over"
    venue.restart()
    venue.until_listed(games)
    venue.daemon.until(lambda: venue.set.get("games"))
    yield "restart after the set"
    correct_set(venue.daemon, "station", {"newSet": True})
    correct_set(venue.daemon, "station", {"names": {"0": "Orla", "1": "Quill"}})
    yield "next set"


DRAWN = """() => [...document.querySelectorAll("main *")].filter((each) => each.checkVisibility()).flatMap((each) => {
    const isName = /name|fighter|costume|character|stage|move|words|title/.test(each.getAttribute("class") ?? "");
    const words = isName ? [...each.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data) : [];
    const colours = ["--costume", "--costume-ink", "--port-ink"].map((name) => each.style.getPropertyValue(name));
    const drawn = ["d", "href", "src"].map((name) => each.getAttribute(name));
    const found = [...words, ...colours, ...drawn].filter(Boolean);
    return found.length === 0 ? [] : [found.join(" ")];
})"""
"""The names, colours and pictures that a page shows."""
NAMES_AND_STYLE = ("**/static/names/**", "**/custom/late.css")
LATE = {"names": NAMES_AND_STYLE, "all": (*NAMES_AND_STYLE, "**/static/icons/own.json")}
STYLE = "[data-colour] { --port: #fff3b0 !important; }"
OWN = {"icons": {"9": {"0": "icons/9/0.svg"}}, "portraits": {}, "stages": {}}
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>'
GATE = (("up-next", "en", "names"), ("live", "ja", "all"), ("set-result", "ja", "all"))


@pytest.mark.parametrize(
    ("scene", "language", "files"),
    [*GATE, *release(*(each for each in product(SCENES, ("en", "ja"), ("all",)) if each not in GATE))],
)
def test_late_names_and_pictures_are_drawn(
    browser: Browser, empty_daemon: DaemonProcess, scene: str, language: str, files: str
) -> None:
    """A page that gets names, pictures and its stylesheet late looks like one that gets them in time."""
    with open_page(browser, reduced_motion="reduce") as watched:
        early, late = watched.page, watched.page.context.new_page()
        for page in (early, late):
            page.route("**/custom/late.css", lambda route: route.fulfill(content_type="text/css", body=STYLE))
            page.route("**/static/icons/own.json", lambda route: route.fulfill(json=OWN))
            page.route("**/custom/icons/**", lambda route: route.fulfill(content_type="image/svg+xml", body=PICTURE))
        one_by_one = f'import "./scenes/{scene}.js";'  # with the names in files of their own
        late.route("**/combined.js**", lambda route: route.fulfill(content_type="text/javascript", body=one_by_one))
        held = Held(late, *LATE[files])
        for page in (early, late):
            address = scene_address(empty_daemon, scene, f"?css=late.css&lang={language}#example")
            page.goto(address, wait_until="commit")  # a page that waits for its stylesheet is not loaded
            page.locator(".name, .names, .caption").first.wait_for()
        early.wait_for_load_state("networkidle")
        without = late.evaluate(DRAWN)
        if scene not in ("replay", "highlights", "ticker", "controller", "casters"):
            assert without != early.evaluate(DRAWN)
        held.release()
        deadline = time.monotonic() + LONG_MS / 1000
        while (shown := late.evaluate(DRAWN)) != (wanted := early.evaluate(DRAWN)):
            assert time.monotonic() < deadline, [
                pair for pair in zip(shown, wanted, strict=False) if pair[0] != pair[1]
            ]
            late.wait_for_timeout(100)
        watched.check(empty_daemon.url)


@pytest.mark.parametrize("scene", ["live", *release("versus", "controller", "ticker")])
def test_late_set_is_drawn(page: Page, empty_daemon: DaemonProcess, scene: str) -> None:
    """A set that arrives in the middle of a game adds its names and scores."""
    station = opened(page, scene_address(empty_daemon, scene))
    station.start("Vixen", "Altea")
    station.frame(1200, 134, 47)
    if scene != "ticker":
        expect(page.locator(".name").first).to_have_text("Vixen")
    station.set(("Mika", "Juno"), (2, 1))
    names = page.locator(".names" if scene == "ticker" else ".name")
    expect(names.first).to_have_text("Mika")
    if scene != "controller":
        expect(page.locator(".score, .points").first).to_have_text("2")
