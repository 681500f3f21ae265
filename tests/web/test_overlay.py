"""The overlay in a real browser: what it shows is what the stream says, frame by frame, and it survives its daemon.

The page writes the number of the frame that it shows into `data-frame`, so each look at the page is compared with
exactly that frame. The determinism rules are in `pages.py`.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from websockets.sync.client import ClientConnection, connect

from slpstream.api import messages
from slpstream.simulate.match import synthetic_match
from slpstream.slippi import ids
from tests.daemon_process import running
from tests.web.pages import LIKE_A_VIDEO, Demo, chromium, demo, open_page, screenshot

SIZES = [(1920, 1080), (1280, 720), (3840, 2160), (800, 600), (600, 200), (400, 700)]
SECONDS = 30.0

READ_PAGE = """() => {
  const text = (root, selector) => root.querySelector(selector)?.textContent;
  const list = document.querySelector(".players");
  return {
    game: list.dataset.game,
    frame: list.dataset.frame,
    stage: text(document, ".stage"),
    clock: text(document, ".clock"),
    status: document.querySelector(".status").hidden ? null : text(document, ".status"),
    stale: document.querySelector(".overlay").classList.contains("stale"),
    players: [...list.children].map((card) => ({
      port: Number(card.dataset.port),
      colour: card.dataset.colour,
      name: text(card, ".name"),
      character: text(card, ".fighter"),
      costume: text(card, ".costume"),
      stocks: text(card, ".stocks .text"),
      icons: card.querySelectorAll(".icon:not(.lost)").length,
      lost: card.querySelectorAll(".icon.lost").length,
      percent: text(card, ".percent"),
    })),
  };
}"""

RECORD_WHAT_IS_SHOWN = f"""() => {{
  const read = {READ_PAGE};
  window.shown = [];
  const observer = new MutationObserver(() => window.shown.push(read()));
  observer.observe(document.querySelector(".players"), {{attributes: true}});
}}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def shared_demo(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demo("--speed", "3", log=tmp_path_factory.mktemp("demo") / "stderr") as running_demo:
        yield running_demo


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "first" / "station"
    folder.mkdir(parents=True)
    return folder


class Log:
    """What a game's log says, by frame number: all revisions of a frame."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {}
        self.frames: dict[int, list[dict[str, Any]]] = {}
        self.ended = False

    def take(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "game_start":
            self.settings = message["settings"]
        elif message["type"] == "frame":
            self.frames.setdefault(message["frame"]["frame"], []).append(message["frame"])
        elif message["type"] == "game_end":
            self.ended = True

    def pages(self, number: int) -> list[dict[str, Any]]:
        """What a page may show when it shows this frame; one for each revision."""
        return [self._page(number, entry) for entry in self.frames.get(number, ())]

    def _page(self, number: int, entry: Mapping[str, Any]) -> dict[str, Any]:
        players = entry["players"]
        seconds = max(0.0, self.settings["startingTimerSeconds"] - max(0, number) / 60)
        return {
            "frame": str(number),
            "stage": ids.stage_name(self.settings["stageId"]),
            "clock": f"{int(seconds) // 60}:{int(seconds) % 60:02}",
            "players": [self._player(p, players[str(p["playerIndex"])]["post"]) for p in self.settings["players"]],
        }

    def _player(self, setup: Mapping[str, Any], post: Mapping[str, Any]) -> dict[str, Any]:
        character_id = ids.INTERNAL_CHARACTERS[post["internalCharacterId"]].external_id
        stocks = post["stocksRemaining"]
        ports = ("red", "blue", "yellow", "green")
        return {
            "port": setup["port"],
            "colour": ids.TEAMS[setup["teamId"]] if self.settings["isTeams"] else ports[setup["port"] - 1],
            "name": setup["displayName"] or setup["nametag"] or f"P{setup['port']}",
            "character": ids.character_name(character_id),
            "costume": ids.costume_name(character_id, setup["characterColor"]),
            "stocks": "1 stock" if stocks == 1 else f"{stocks} stocks",
            "icons": stocks,
            "lost": setup["startStocks"] - stocks,
            "percent": f"{math.floor(post['percent'])}%",
        }


def log_of(replay: Path) -> Log:
    """The log of a replay on disk."""
    log = Log()
    for message in messages(replay, topics=("game", "frame")):
        log.take(json.loads(message.json()))
    return log


class Listener:
    """What a lossless subscriber beside the page is told: games by id."""

    def __init__(self) -> None:
        self.games: dict[str, Log] = {}

    def listen(self, socket: ClientConnection) -> None:
        """Until the connection is closed."""
        for line in socket:
            message = json.loads(line)
            if message["type"] in ("game_start", "frame", "game_end"):
                self.games.setdefault(message["gameId"], Log()).take(message)

    def log(self, game: str, frame: int) -> Log:
        """A game's log, once it has this frame."""
        deadline = time.monotonic() + SECONDS
        while game not in self.games or frame not in self.games[game].frames:
            assert time.monotonic() < deadline, f"the stream has no frame {frame} of game {game}"
            time.sleep(0.005)
        return self.games[game]


@contextmanager
def listening(url: str) -> Iterator[Listener]:
    listener = Listener()
    query = "station=demo&topics=game,frame&delivery=lossless&cursor=start"
    with connect(f"{url.replace('http', 'ws', 1)}/v1/stream?{query}", max_size=None, open_timeout=SECONDS) as socket:
        thread = threading.Thread(target=listener.listen, args=[socket], daemon=True)
        thread.start()
        try:
            yield listener
        finally:
            socket.close()
            thread.join(SECONDS)


@contextmanager
def written_live(replay: Path, into: Path, speed: float) -> Iterator[subprocess.Popen[bytes]]:
    """The `simulate` command in a process of its own: a game that goes on whatever becomes of the daemon."""
    command = [sys.executable, "-m", "slpstream", "simulate", str(replay), "--into", str(into)]
    process = subprocess.Popen([*command, "--speed", str(speed), "--writer", "frame"], stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(SECONDS)


def shown(page: Page) -> dict[str, Any]:
    """What the page shows in this moment."""
    read: dict[str, Any] = page.evaluate(READ_PAGE)
    return read


def shows_a_frame(page: Page, after: int = -124) -> None:
    page.wait_for_function(
        "after => ((shown) => shown !== '' && Number(shown) > after)(document.querySelector('.players').dataset.frame)",
        arg=after,
    )


def shows_the_last_frame(page: Page, log: Log) -> None:
    page.locator(f".players[data-frame='{max(log.frames)}']").wait_for()


def values(read: Mapping[str, Any]) -> dict[str, Any]:
    """The part of what is shown that follows from the frame."""
    return {key: read[key] for key in ("frame", "stage", "clock", "players")}


def check(read: Mapping[str, Any], log: Log) -> None:
    """The page shows what the log says of this frame."""
    may_show = log.pages(int(read["frame"]))
    assert values(read) in may_show, f"{values(read)} is none of {may_show}"


def test_shows_what_the_stream_says(browser: Browser, shared_demo: Demo) -> None:
    with open_page(browser) as watched, listening(shared_demo.url) as listener:
        page = watched.page
        page.goto(f"{shared_demo.url}/overlay/demo")
        shows_a_frame(page)
        page.wait_for_function("() => document.querySelector('.icon.lost') !== null")
        compared = set()
        for _ in range(60):
            shows_a_frame(page)
            read = shown(page)
            check(read, listener.log(read["game"], int(read["frame"])))
            compared.add(read["frame"])
            page.wait_for_timeout(30)
        assert len(compared) > 20
        assert (read["status"], read["stale"]) == (None, False)
        assert [player["percent"] for player in read["players"]] == page.locator(".percent").all_inner_texts()
        screenshot(page, "overlay-1920x1080")
        page.evaluate(LIKE_A_VIDEO)
        screenshot(page, "overlay-1920x1080-over-video")
        watched.check(shared_demo.url)


def test_is_transparent_and_fits_any_size(browser: Browser, shared_demo: Demo) -> None:
    with open_page(browser) as watched:
        page = watched.page
        page.goto(f"{shared_demo.url}/overlay/demo")
        shows_a_frame(page)
        for element in ("html", "body", ".overlay"):
            colour = page.eval_on_selector(element, "element => getComputedStyle(element).backgroundColor")
            assert colour == "rgba(0, 0, 0, 0)"
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            boxes = [box for part in page.locator(".match, .player").all() if (box := part.bounding_box())]
            assert len(boxes) == 3
            for box in boxes:
                assert 0 <= box["x"] <= width - box["width"], (width, height, boxes)
                assert 0 <= box["y"] <= height - box["height"], (width, height, boxes)
            _, left, right = boxes
            assert left["x"] + left["width"] < right["x"], (width, height)
        watched.check(shared_demo.url)


def test_damage_goes_from_white_over_yellow_to_red(browser: Browser, shared_demo: Demo) -> None:
    with open_page(browser) as watched:
        watched.page.goto(f"{shared_demo.url}/overlay/demo")
        red, green, blue = zip(
            *watched.page.evaluate(
                "import('/static/slippi.js').then(({damageColour}) => [0, 20, 60, 100, 140, 250, 999]"
                ".map((percent) => damageColour(percent).match(/\\d+/g).map(Number)))"
            ),
            strict=True,
        )
    assert (red[0], green[0], blue[0]) == (255, 255, 255)
    assert list(green) == sorted(green, reverse=True)
    assert blue[2] < 100 < 180 < green[2]
    assert max(green[4:]) < 80 < 200 < min(red)


def test_waits_for_a_game_and_keeps_the_last_values(browser: Browser, folder: Path, tmp_path: Path) -> None:
    replay = tmp_path / "Game_teams.slp"
    replay.write_bytes(synthetic_match(seed=5, players=4, teams=True, frames=400))
    log = log_of(replay)
    with running(folder) as daemon, open_page(browser) as watched:
        page = watched.page
        page.goto(f"{daemon.url}/overlay/station")
        page.get_by_text("waiting for a game").wait_for()
        assert shown(page)["players"] == []
        with written_live(replay, folder, speed=4.0):
            shows_a_frame(page)
            shows_the_last_frame(page, log)
        daemon.until(lambda: daemon.get("/v1/stations")["stations"][0]["state"] == "idle")
        read = shown(page)
        check(read, log)
        assert len(read["players"]) == 4
        assert {player["colour"] for player in read["players"]} <= set(ids.TEAMS.values())
        assert read["status"] is None
        screenshot(page, "overlay-teams")
        watched.check(daemon.url)


def test_survives_a_killed_daemon(browser: Browser, folder: Path, tmp_path: Path) -> None:
    replay = tmp_path / "Game_long.slp"
    replay.write_bytes(synthetic_match(seed=2, frames=2400))
    log = log_of(replay)
    with running(folder) as first, written_live(replay, folder, speed=3.0), open_page(browser) as watched:
        page = watched.page
        page.goto(f"{first.url}/overlay/station")
        shows_a_frame(page, 300)
        page.evaluate(RECORD_WHAT_IS_SHOWN)
        shows_a_frame(page, 500)
        first.kill()
        page.locator(".stale").wait_for()
        before = shown(page)
        page.get_by_text("reconnecting").wait_for()
        page.wait_for_timeout(1500)
        assert values(shown(page)) == values(before)
        with running(folder, arguments=("--port", first.url.rpartition(":")[2])) as second:
            assert second.url == first.url
            page.locator(".overlay:not(.stale)").wait_for()
            shows_a_frame(page, int(before["frame"]) + 60)
            shows_the_last_frame(page, log)
            assert shown(page)["status"] is None
            for read in page.evaluate("window.shown"):
                check(read, log)
            numbers = [int(read["frame"]) for read in page.evaluate("window.shown")]
            assert numbers == sorted(numbers)
            assert len(numbers) > 100
        joined_live = [url for url in watched.asked if "cursor=live" in url]
        assert len(joined_live) == 1, "it went on at its cursor"
        watched.check(first.url, interrupted=True)


def test_begins_anew_when_its_game_is_gone(browser: Browser, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "second" / "station"
    other.mkdir(parents=True)
    (tmp_path / "Game_a.slp").write_bytes(synthetic_match(seed=6, frames=3000))
    (tmp_path / "Game_b.slp").write_bytes(synthetic_match(seed=7, frames=200))
    with open_page(browser) as watched:
        page = watched.page
        with running(folder) as first, written_live(tmp_path / "Game_a.slp", folder, speed=3.0):
            page.goto(f"{first.url}/overlay/station")
            shows_a_frame(page, 200)
            first.kill()
        with running(other, arguments=("--port", first.url.rpartition(":")[2])) as second:
            page.get_by_text("waiting for a game").wait_for()
            assert shown(page)["players"] == []
            with written_live(tmp_path / "Game_b.slp", other, speed=3.0):
                shows_a_frame(page)
                log = log_of(tmp_path / "Game_b.slp")
                read = shown(page)
                check(read, log)
            joined_live = [url for url in watched.asked if "cursor=live" in url]
            assert len(joined_live) == 2, "its cursor was of no use"
            watched.check(second.url, interrupted=True)


def test_passes_the_token_on(browser: Browser, folder: Path, tmp_path: Path) -> None:
    replay = tmp_path / "Game.slp"
    replay.write_bytes(synthetic_match(seed=8, frames=600))
    (tmp_path / "token").write_text("sesame\n")
    config = tmp_path / "slpstream.toml"
    config.write_text(f'[server]\nrequire_token = true\ntoken_file = "{tmp_path / "token"}"\n')
    with running(folder, arguments=("--config", str(config))) as daemon, open_page(browser) as watched:
        watched.page.set_default_timeout(5000)
        watched.page.goto(f"{daemon.url}/overlay/station?token=sesame")
        with written_live(replay, folder, speed=3.0):
            shows_a_frame(watched.page)
        watched.check(daemon.url)


def test_the_game_that_began_last_counts(browser: Browser, shared_demo: Demo) -> None:
    def frame(game: str, number: int, percent: float) -> dict[str, Any]:
        entry = {"frame": number, "players": {"0": {"post": {"percent": percent}}}}
        return {"type": "frame", "gameId": game, "cursor": f"{game}/l{number}", "frame": entry}

    def start(game: str) -> dict[str, Any]:
        return {"type": "game_start", "gameId": game, "cursor": f"{game}/l0", "format": "slippi", "settings": {}}

    script = """(messages) => import("/static/slpstream.js").then(({StationView}) => {
      const view = new StationView("station");
      return messages.map((message) => {
        view.take(message);
        const percent = view.game?.players.get(0)?.post.percent ?? null;
        return [view.game?.gameId ?? null, view.cursor, percent, view.catchingUp];
      });
    })"""
    playing = {"type": "station", "state": "playing", "gameId": "b"}
    told = [frame("a", 1, 1), start("a"), frame("a", 5, 12.5), playing, start("b"), frame("a", 6, 30), frame("b", 1, 0)]
    with open_page(browser) as watched:
        watched.page.goto(f"{shared_demo.url}/overlay/demo")
        seen = watched.page.evaluate(script, told)
    assert seen == [
        [None, None, None, False],
        ["a", "a/l0", None, False],
        ["a", "a/l5", 12.5, False],
        ["a", "a/l5", 12.5, True],
        ["b", "b/l0", None, False],
        ["b", "b/l0", None, False],
        ["b", "b/l1", 0, False],
    ]
