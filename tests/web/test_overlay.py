"""The overlay in a real browser: it shows the stream frame by frame, and it survives its daemon.

The page writes the number of the displayed frame into `data-frame`, so each look at the page is compared with exactly
that frame.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from websockets.sync.client import ClientConnection, connect

from tests.browsers.pages import open_page
from tests.daemons.configuration import requiring_tokens
from tests.daemons.demo import Demo, demo
from tests.daemons.process import running
from tests.synthetic.match import synthetic_match
from tests.web.shown import (
    RECORD_WHAT_IS_SHOWN,
    SECONDS,
    TEAMS,
    Log,
    check,
    game_file,
    log_of,
    shown,
    shows_a_frame,
    shows_the_last_frame,
    values,
    written_live,
)

SIZES = [(1920, 1080), (3840, 2160), (600, 200), (400, 700)]


@pytest.fixture(scope="module")
def shared_demo(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demo("--speed", "5", log=tmp_path_factory.mktemp("demo") / "stderr") as running_demo:
        yield running_demo


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "first" / "station"
    folder.mkdir(parents=True)
    return folder


class Listener:
    """A lossless subscriber in addition to the page, which records games by id."""

    def __init__(self) -> None:
        self.games: dict[str, Log] = {}

    def listen(self, socket: ClientConnection) -> None:
        """Receives until the connection is closed."""
        for line in socket:
            message = json.loads(line)
            if message["type"] in ("game_start", "frame", "game_end"):
                self.games.setdefault(message["gameId"], Log()).take(message)

    def log(self, game: str, frame: int) -> Log:
        """The log of a game, once it has this frame."""
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


@pytest.mark.slow
def test_shows_the_frames_of_the_stream(browser: Browser, shared_demo: Demo) -> None:
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
        both = page.locator(".percent").evaluate_all("lines => lines.map((line) => [line.textContent, line.innerText])")
        assert [text for text, _ in both] == [seen for _, seen in both], "the values in the DOM are visible"
        watched.check(shared_demo.url)


@pytest.mark.slow
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
        assert {player["colour"] for player in read["players"]} <= set(TEAMS)
        assert read["status"] is None
        watched.check(daemon.url)


@pytest.mark.slow
def test_survives_a_killed_daemon(browser: Browser, folder: Path, tmp_path: Path) -> None:
    replay = game_file("v3.18", tmp_path)
    log = log_of(replay)
    with running(folder) as first, written_live(replay, folder, speed=1.5), open_page(browser) as watched:
        page = watched.page
        page.goto(f"{first.url}/overlay/station")
        shows_a_frame(page)
        page.evaluate(RECORD_WHAT_IS_SHOWN)
        shows_a_frame(page, 200)
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
        joined_live = [url for url in watched.requested if "cursor=live" in url]
        assert len(joined_live) == 1, "it resumed at its cursor"
        watched.check(first.url, interrupted=True)


@pytest.mark.slow
def test_starts_over_when_its_game_is_gone(browser: Browser, folder: Path, tmp_path: Path) -> None:
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
            joined_live = [url for url in watched.requested if "cursor=live" in url]
            assert len(joined_live) == 2, "its cursor was gone"
            watched.check(second.url, interrupted=True)


def test_passes_the_token_on(browser: Browser, folder: Path, tmp_path: Path) -> None:
    replay = tmp_path / "Game.slp"
    replay.write_bytes(synthetic_match(seed=8, frames=600))
    with running(folder, arguments=requiring_tokens(tmp_path)) as daemon, open_page(browser) as watched:
        watched.page.goto(f"{daemon.url}/overlay/station?token=sesame")
        with written_live(replay, folder, speed=3.0):
            shows_a_frame(watched.page)
        watched.check(daemon.url)
