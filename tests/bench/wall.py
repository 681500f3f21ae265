"""The venue wall in Chromium during games in real time: pictures per second, script, latency, and dropped frames.

A writer, the daemon and the browser share the machine. A blank page is measured first, while the games are written and
the daemon follows them, so that both pages run under the same load. Chromium draws without a graphics card here.

Latency is the time from just before the write of a displayed frame until the page has changed for it. A frame is
dropped if it was sent to the wall, which gets every third, and a later one was shown instead.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench import machine
from tests.bench.clocks import RECORD
from tests.bench.live import line_of, module, process_of
from tests.bench.report import Figure, Form, quantile
from tests.bench.unwatched import UnwatchedPage, unwatched_page
from tests.daemons.process import running

STATIONS = 64
BURST_FRAMES = 12
_MAX_SETTLE_SECONDS = 4.0
_SPARE_SECONDS = 30.0
"""Time for loading the pages. The writer is stopped earlier if they need less."""
_COUNT_PICTURES = """(() => {
  window.pictures = 0;
  const count = () => { window.pictures += 1; requestAnimationFrame(count); };
  requestAnimationFrame(count);
})()"""
_RECORD_FRAMES = """(() => {
  window.shown = [];
  new MutationObserver((changes) => {
    const at = performance.timeOrigin + performance.now();
    for (const { target } of changes) {
      window.shown.push([target.dataset.station, Number(target.dataset.frame), at]);
    }
  }).observe(document.querySelector(".tiles"), { attributes: true, attributeFilter: ["data-frame"], subtree: true });
})()"""


class Measured(NamedTuple):
    """Results of one run. Shares are in percent of a core, latencies in milliseconds in ascending order."""

    blank: float
    """Pictures per second of a blank page."""
    pictures: float
    script: float
    all_work: float
    """Script, style, layout and painting of the page's main thread."""
    latencies: list[float]
    dropped: float
    """Sent frames that were not shown, in percent."""
    daemon: float
    writer: float

    def quantile(self, share: float) -> float:
        """A quantile of the latencies."""
        return quantile(self.latencies, share)


def run(form: Form) -> list[Figure]:
    """64 stations, written frame by frame and in bursts of 12 frames."""
    stations, seconds = 4 if form.short else STATIONS, form.seconds(15.0)
    single: list[Measured] = []
    bursts: list[Measured] = []
    for _ in range(form.times):
        single.append(_run_once(stations, seconds, 1))
        bursts.append(_run_once(stations, seconds, BURST_FRAMES))
    name = f"wall of {stations}"
    beside = f"beside it daemon {single[0].daemon:.0f} %, writer {single[0].writer:.0f} % of a core"
    return [
        Figure(f"{name}, blank page", [one.blank for one in single], "pictures a second", None, beside),
        Figure(f"{name}, pictures", [one.pictures for one in single], "a second", 50.0, "", at_least=True),
        Figure(f"{name}, script", [one.script for one in single], "% of a core", 30.0),
        Figure(f"{name}, main thread", [one.all_work for one in single], "% of a core"),
        Figure(f"{name}, append to DOM p50", [one.quantile(0.5) for one in single], "ms", 25.0),
        Figure(f"{name}, append to DOM p99", [one.quantile(0.99) for one in single], "ms", 60.0),
        Figure(f"{name}, frames dropped", [one.dropped for one in single], "%"),
        Figure(f"{name}, bursts, pictures", [one.pictures for one in bursts], "a second", 50.0, "", at_least=True),
        Figure(f"{name}, bursts, frames dropped", [one.dropped for one in bursts], "%", 2.0),
    ]


def _run_once(stations: int, seconds: float, burst: int) -> Measured:
    machine.allow_descriptors(4096)
    with tempfile.TemporaryDirectory(prefix="slpstream-wall-") as name:
        return measure(Path(name), stations, seconds, burst)


def measure(root: Path, stations: int, seconds: float, burst: int) -> Measured:
    """Measure a blank page and then the wall, for some seconds each. `root` must be empty."""
    folders = [root / f"Setup {station + 1}" for station in range(stations)]
    for folder in folders:
        folder.mkdir()
    log = root / "written"
    settle_seconds = min(_MAX_SETTLE_SECONDS, seconds / 2)
    length = 2 * (seconds + settle_seconds) + _SPARE_SECONDS
    command = module(
        "game_writer", *map(str, folders), "--seconds", str(length), "--log", str(log), "--burst", str(burst)
    )
    with running(*folders) as daemon, unwatched_page() as page:
        daemon.wait_ready()
        ids = [each["id"] for each in daemon.get("/v1/stations")["stations"]]
        with process_of(command, length) as writer:
            line_of(writer)
            time.sleep(settle_seconds)
            blank = _pictures(page, seconds)
            page.goto(f"{daemon.url}/#wall")
            page.wait_until(f"document.querySelectorAll('.tile[data-state=playing]').length === {stations}")
            time.sleep(settle_seconds)
            page.evaluate(_RECORD_FRAMES)
            before, cpu, began = (
                page.figures(),
                [machine.cpu_seconds(p) for p in (daemon.process.pid, writer.pid)],
                time.monotonic(),
            )
            pictures = _pictures(page, seconds)
            after = page.figures()
            took = time.monotonic() - began
            used = [machine.cpu_seconds(p) - b for p, b in zip((daemon.process.pid, writer.pid), cpu, strict=True)]
            shown: list[tuple[str, int, float]] = page.evaluate("window.shown")
            page.screenshot(f"wall-live-{stations}-{burst}")
            writer.terminate()
            line_of(writer)
    offset_ns = time.time_ns() - time.monotonic_ns()
    due = {(ids[station], frame): (at + offset_ns) / 1e6 for station, frame, at in RECORD.iter_unpack(log.read_bytes())}
    busy = {name: (after[name] - before[name]) / (after["Timestamp"] - before["Timestamp"]) for name in _WORK}
    return Measured(
        blank=blank,
        pictures=pictures,
        script=100 * busy["ScriptDuration"],
        all_work=100 * busy["TaskDuration"],
        latencies=sorted(at - due[station, frame] for station, frame, at in shown if (station, frame) in due),
        dropped=_dropped(shown),
        daemon=100 * used[0] / took,
        writer=100 * used[1] / took,
    )


_WORK = ("ScriptDuration", "TaskDuration")


def _dropped(shown: Sequence[tuple[str, int, float]]) -> float:
    """The share of frames that were sent and not shown, in percent."""
    by_station: dict[str, list[int]] = {}
    for station, frame, _ in shown:
        numbers = by_station.setdefault(station, [])
        if not numbers or frame > numbers[-1]:
            numbers.append(frame)
    steps = Counter(b - a for numbers in by_station.values() for a, b in pairwise(numbers))
    step = min((each for each, count in steps.items() if count > 0.02 * steps.total()), default=1)
    sent = sum((numbers[-1] - numbers[0]) // step for numbers in by_station.values())
    return max(0.0, 100 * (1 - steps.total() / sent)) if sent else 0.0


def _pictures(page: UnwatchedPage, seconds: float) -> float:
    """Pictures per second of a page."""
    page.evaluate(_COUNT_PICTURES)
    began = time.monotonic()
    time.sleep(seconds)
    pictures: Any = page.evaluate("window.pictures")
    return float(pictures) / (time.monotonic() - began)
