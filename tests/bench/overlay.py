"""The overlay in Chromium during games in real time: frames, updates and repaints per second, CPU time and heap."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, CDPSession

from tests.bench.report import Figure, Form
from tests.browsers.chromium import chromium
from tests.browsers.pages import open_page, screenshot
from tests.daemons.process import running
from tests.web.shown import game_file, shows_a_frame, written_live

GAMES = ("FodPlatforms", "Whispy", "rollbackFrameTest", "ics2", "console_name", "v2.0")
EVERYTHING = "show=names,stocks,percent,combo,timer,stage,score,controller"
_MAX_WARM_UP_SECONDS = 2.5
_COUNT_UPDATES = """() => {
  window.updates = window.repaints = 0;
  const count = () => { window.repaints += 1; requestAnimationFrame(count); };
  requestAnimationFrame(count);
  let frame = null;
  new MutationObserver(() => {
    const shown = document.querySelector(".players").dataset.frame;
    window.updates += shown === frame ? 0 : 1;
    frame = shown;
  }).observe(document.querySelector(".players"), {attributes: true, attributeFilter: ["data-frame"]});
}"""


class Measured(NamedTuple):
    """Results of one run, per second except for the heap."""

    frames: float
    """Frame messages received."""
    updates: float
    """Changes of the displayed frame."""
    repaints: float
    """Repaints of the page. A busy machine without a graphics card reaches fewer than 60."""
    busy: float
    """Seconds spent on script, style and layout."""
    heap_before: float
    """Bytes in use after a garbage collection."""
    heap_after: float


def run(form: Form) -> list[Figure]:
    """The overlay with all its parts while games are played one after another."""
    seconds = form.seconds(20.0)
    runs: list[Measured] = []
    with chromium() as browser:
        for _ in range(form.times):
            with tempfile.TemporaryDirectory(prefix="slpstream-overlay-") as folder:
                runs.append(measure(browser, Path(folder), seconds))
    repainted = ", ".join(f"{one.repaints:.0f}" for one in runs)
    return [
        Figure("overlay, script, style and layout", [100 * one.busy for one in runs], "% of a core", 10.0),
        Figure("overlay, frames received", [one.frames for one in runs], "a second", 55.0, "", True),
        Figure("overlay, updates shown", [one.updates for one in runs], "a second", None, f"{repainted} repaints"),
        Figure("overlay, heap growth", [max(0.0, one.heap_after - one.heap_before) for one in runs], "bytes", 500_000),
    ]


def measure(browser: Browser, folder: Path, seconds: float, *, speed: float = 1.0) -> Measured:
    """Show games in the overlay and measure for some seconds after a warm-up. `folder` must be empty.

    The games are played at `speed` times real time.
    """
    station = folder / "station"
    station.mkdir()
    replays = list(dict.fromkeys(game_file(name, folder, frames=8000) for name in GAMES))
    received: list[str | bytes] = []
    with (
        running(station) as daemon,
        open_page(browser, viewport={"width": 1280, "height": 720}) as watched,
        _playing_in_turn(replays, station, speed),
    ):
        page = watched.page
        page.on("websocket", lambda socket: socket.on("framereceived", lambda line: received.append(line)))
        page.goto(f"{daemon.url}/overlay/station?{EVERYTHING}")
        shows_a_frame(page)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        page.wait_for_timeout(1000 * min(_MAX_WARM_UP_SECONDS, seconds / 2))
        heap_before = _heap_bytes(session)
        page.evaluate(_COUNT_UPDATES)
        received.clear()
        before = _figures(session)
        page.wait_for_timeout(1000 * seconds)
        after, (updates, repaints) = _figures(session), page.evaluate("[window.updates, window.repaints]")
        frames = sum('"type":"frame"' in str(line[:20]) for line in received)
        heap_after = _heap_bytes(session)
        screenshot(page, "overlay-controllers")
        watched.check(daemon.url)
    took = after["Timestamp"] - before["Timestamp"]
    busy = sum(after[name] - before[name] for name in ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration"))
    return Measured(frames / took, updates / took, repaints / took, busy / took, heap_before, heap_after)


def _figures(session: CDPSession) -> dict[str, float]:
    """Chromium's performance metrics of the page, in seconds and bytes."""
    return {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}


def _heap_bytes(session: CDPSession) -> float:
    session.send("HeapProfiler.collectGarbage")
    return _figures(session)["JSHeapUsedSize"]


@contextmanager
def _playing_in_turn(replays: Sequence[Path], into: Path, speed: float) -> Iterator[None]:
    """Play games, frame by frame, for the duration of the block."""
    stop = threading.Event()

    def play() -> None:
        for replay in replays:
            with written_live(replay, into, speed=speed) as process:
                while process.poll() is None:
                    if stop.wait(0.1):
                        return

    thread = threading.Thread(target=play)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
