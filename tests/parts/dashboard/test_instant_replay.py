"""Instant replay on the dashboard, in a real browser: scrubbing in a running game, and returning to live.

Determinism: the stage view is compared with the log of the file by frame number. The running game has no end, and
tests wait for the page's contents, so speed does not matter.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from playwright.sync_api import Locator, Page, expect

from slpstream.api import messages
from tests.bench.games import EndlessGame
from tests.browsers.pages import WatchedPage
from tests.daemons.process import running
from tests.synthetic.match import synthetic_match

TEN_SECONDS = 600
FRAMES_A_WRITE = 3
BEFORE = "most => document.querySelector('stage-view').frame?.frame < most"
MAX_KEPT_FRAMES = 6 * 300
SHOWN = """async () => {
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const { frame } = document.querySelector("stage-view");
    const players = Object.entries(frame?.players ?? {});
    return [frame?.frame ?? null, players.map(([i, { post }]) => [i, post.positionX, post.positionY, post.percent])];
}"""


def entries(path: Path) -> dict[int, list[Any]]:
    """The valid players on the stage, by frame number. The last revision of a frame is final."""
    found: dict[int, list[Any]] = {}
    for message in messages(path, topics=("frame",), frames="finalized"):
        if message.type == "frame":
            entry = msgspec.json.decode(message.entry())
            posts = [(index, player["post"]) for index, player in entry["players"].items()]
            found[entry["frame"]] = [[i, p["positionX"], p["positionY"], p["percent"]] for i, p in posts]
    return found


def shows(page: Page, frame: int) -> None:
    """Wait until the stage shows a frame."""
    page.locator(f"stage-view[data-frame='{frame}']").wait_for()


def number(page: Page) -> int:
    return int(page.locator("stage-view").get_attribute("data-frame") or -999)


def newest(slider: Locator) -> int:
    return int(slider.get_attribute("max") or -999)


def plays_past(page: Page, frame: int) -> None:
    page.wait_for_function("frame => Number(document.querySelector('stage-view')?.dataset.frame) > frame", arg=frame)


@contextmanager
def written_without_end(path: Path, begun: int = 1000) -> Iterator[None]:
    """Write a game: `begun` frames immediately, and further ones in real time."""
    game, stop = EndlessGame(), threading.Event()

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            for index in itertools.count(begun, FRAMES_A_WRITE):
                if stop.wait(FRAMES_A_WRITE / 60):
                    return
                file.write(b"".join(game.frame(index + i) for i in range(FRAMES_A_WRITE)))

    path.write_bytes(game.head(7) + b"".join(game.frame(index) for index in range(begun)))
    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


def test_scrub_back_ten_seconds_in_a_running_game_and_return_to_live(
    watched: WatchedPage, page: Page, folder: Path
) -> None:
    path = folder / "Game_1.slp"
    seen: list[list[Any]] = []
    with running(folder) as daemon:
        daemon.wait_ready()
        page.goto(f"{daemon.url}/?delta=1")
        bar, slider = page.locator("replay-bar"), page.get_by_role("slider", name="Position in the game")
        back_to_live = page.get_by_role("button", name="Back to live")
        with written_without_end(path):
            plays_past(page, 800)
            expect(page.get_by_role("button", name="Live")).to_have_attribute("aria-pressed", "true")
            expect(page.get_by_role("button", name="Live")).to_have_text("LIVE")

            page.get_by_role("button", name="Pause").click()
            expect(bar).to_have_attribute("data-live", "false")
            page.locator("replay-bar[data-waiting=false]").wait_for()
            paused = int(slider.input_value())
            shows(page, paused)
            seen.append(page.evaluate(SHOWN))
            before = newest(slider)

            page.get_by_role("button", name="back ten seconds").click()
            shows(page, paused - TEN_SECONDS)
            seen.append(page.evaluate(SHOWN))
            assert seen[-1][0] == paused - TEN_SECONDS
            expect(back_to_live).to_have_attribute("aria-pressed", "false")

            page.locator("body").press("ArrowRight")
            shows(page, paused - TEN_SECONDS + 60)
            page.locator("body").press("Shift+ArrowLeft")
            shows(page, paused - TEN_SECONDS + 59)
            seen.append(page.evaluate(SHOWN))

            slider.fill("-60")
            shows(page, -60)
            seen.append(page.evaluate(SHOWN))
            expect(slider).to_have_attribute("aria-valuetext", re.compile(r"0:00 of \d:\d\d"))

            page.get_by_role("button", name="1× speed").click()
            page.get_by_role("button", name="Play").click()
            plays_past(page, -40)
            seen.append(page.evaluate(SHOWN))
            assert newest(slider) > before, "live messages are received meanwhile"

            back_to_live.click()
            expect(bar).to_have_attribute("data-live", "true")
            plays_past(page, before)

            newest_then = newest(slider)
            page.get_by_role("button", name="back ten seconds").click()
            expect(bar).to_have_attribute("data-live", "false")
            page.wait_for_function(BEFORE, arg=newest_then - TEN_SECONDS // 2)
            seen.append(page.evaluate(SHOWN))
            slider.press("End")
            expect(bar).to_have_attribute("data-live", "true")
        asked = [url for url in watched.requested if "/frames?" in url]
        assert 1 <= len(asked) < 60
        watched.check(daemon.url)
    expected = entries(path)
    assert [frame for frame, _ in seen[:4]] == [paused, paused - TEN_SECONDS, paused - TEN_SECONDS + 59, -60]
    for frame, posts in seen:
        assert posts == expected[frame], frame


def test_finished_game(watched: WatchedPage, page: Page, folder: Path) -> None:
    """It can be watched from its first frame to its last, and has no live view to return to. Only a few of its frames
    stay in memory, however long it is watched."""
    path = folder / "Game_1.slp"
    path.write_bytes(synthetic_match(seed=3, frames=3000, stocks=4, stage_id=2))
    expected = entries(path)
    last = max(expected)
    with running(folder) as daemon:
        daemon.wait_ready()
        daemon.until(lambda: bool(daemon.get("/v1/games")["games"]))
        game_id = daemon.get("/v1/games")["games"][0]["gameId"]
        page.goto(f"{daemon.url}/#game/{game_id}")
        shows(page, -123)
        assert page.evaluate(SHOWN)[1] == expected[-123]
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        expect(page.locator("replay-bar .live")).to_be_hidden()
        slider = page.get_by_role("slider", name="Position in the game")
        assert newest(slider) == last
        slider.fill(str(last - 30))
        shows(page, last - 30)
        page.get_by_role("button", name="Play").click()
        shows(page, last)
        expect(page.get_by_role("button", name="Play")).to_be_visible()
        assert page.evaluate(SHOWN)[1] == expected[last]

        kept = page.evaluate(
            """async ([gameId, last]) => {
              const { Recording } = await import("/static/recording.js");
              const get = async (path) => {
                const response = await fetch(`/${path}`);
                return { status: response.status, body: await response.json() };
              };
              const recording = new Recording(get, gameId, ["post.percent"], () => {});
              const kept = [];
              for (let at = -123; at < last; at += 290) {
                recording.want(at, last);
                while (!recording.knows(at)) {
                  await new Promise((resolve) => setTimeout(resolve, 5));
                }
                kept.push([recording.frames.size, recording.at(at).frame === at]);
              }
              return kept;
            }""",
            [game_id, last],
        )
        assert len(kept) >= 10
        assert all(right for _, right in kept)
        assert 300 <= max(size for size, _ in kept) <= MAX_KEPT_FRAMES
        watched.check(daemon.url)
