"""The page `deploy/docs/how_far_it_goes.md`: written from measured figures, and from nothing else that is a number.

`python -m tests.bench fanout --write` measures and writes it. A test makes the page again from the figures that stand
on it: so its arithmetic follows from them.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

from tests.project import ROOT

TEMPLATE = Path(__file__).with_suffix(".md")
PAGE = ROOT / "deploy" / "docs" / "how_far_it_goes.md"

STATIONS = 10_000
VIEWERS = 1_000_000
FRAMES_PER_SECOND = 60
LIVE_A_FRAME, FINALIZED_A_FRAME = 2, 1
"""Messages: `frame` and `finalized`, and the frame once more when it is final. All others together are under one in a
hundred."""
VENUE_STATIONS = 32
MINUTES_KEPT = 14
THRIFTY_RATE = 30
HEADROOM = 2
"""Nothing is planned at more than half of what it can do."""


class Measured(NamedTuple):
    """What the benchmark has found. Rates are messages a second, `per_core` of one core's whole time."""

    ingest_per_second: int
    ingest_per_core: int
    broker_in_per_core: int
    broker_out_per_core: int
    gateway_in_per_core: int
    gateway_out_per_second: int
    gateway_out_per_core: int
    bytes_each: int
    viewer_bytes_per_frame: int
    p50_ms: float
    p99_ms: float


last: Measured | None = None
"""Of the last run of the benchmark in this process."""

WHAT = (
    "through one ingest into the broker, decoding included, messages a second",
    "the same for each core of ingest",
    "taken by the broker, for each of its cores",
    "given out by the broker, for each of its cores",
    "taken by a gateway, for each of its cores",
    "out of one gateway to subscribers, messages a second",
    "the same for each core of gateway",
    "memory of the broker for one message, bytes",
    "what a viewer is sent for one frame, bytes",
    "from the file to the subscriber through the broker, p50, ms",
    "the same, p99, ms",
)
"""Each figure in the words of the page. `the same` is told apart by what follows."""


def read(text: str) -> tuple[Measured, str]:
    """The figures of a page, and the line about the machine. Raises `ValueError` for a page without them."""
    found = dict(re.findall(r"^\| (.+?) \| ([0-9,.]+) \|$", text, re.MULTILINE))
    machine = re.search(r"^Measured on (.*)$", text, re.MULTILINE)
    if machine is None or any(what not in found for what in WHAT):
        raise ValueError("this page has no figures")
    values = [found[what].replace(",", "") for what in WHAT]
    return Measured(*(float(v) if "." in v else int(v) for v in values)), machine[1]  # type: ignore[arg-type]


def _cores(rate: float, each: float) -> int:
    return math.ceil(rate * HEADROOM / each)


def page(measured: Measured, machine: str) -> str:
    """The whole page."""
    m = measured
    station_rate = FRAMES_PER_SECOND * (LIVE_A_FRAME + FINALIZED_A_FRAME)
    all_rate, venue_rate = STATIONS * station_rate, VENUE_STATIONS * station_rate
    kept = MINUTES_KEPT * 60 * station_rate
    station_gigabytes = kept * m.bytes_each / 1e9
    gateway_stations = m.gateway_in_per_core // (station_rate * HEADROOM)
    groups = math.ceil(STATIONS / gateway_stations)
    viewer_rate = FRAMES_PER_SECOND * LIVE_A_FRAME
    full_rate, thrifty_all = VIEWERS * viewer_rate, VIEWERS * THRIFTY_RATE
    thrifty_cores = _cores(thrifty_all, m.gateway_out_per_core)
    each_group = math.ceil(thrifty_cores / groups)
    broker_reads = all_rate * each_group
    gigabits_a_frame = VIEWERS * m.viewer_bytes_per_frame * 8 / 1e9
    return TEMPLATE.read_text(encoding="utf-8").format(
        m=m,
        rows="\n".join(f"| {what} | {value:,} |" for what, value in zip(WHAT, m, strict=True)),
        machine=machine,
        stations=STATIONS,
        viewers=VIEWERS,
        headroom=HEADROOM,
        frames_per_second=FRAMES_PER_SECOND,
        live_a_frame=LIVE_A_FRAME,
        finalized_a_frame=FINALIZED_A_FRAME,
        station_rate=station_rate,
        one_broker=m.broker_in_per_core // (station_rate * HEADROOM),
        gateway_stations=gateway_stations,
        full_viewers=m.gateway_out_per_core // (viewer_rate * HEADROOM),
        thrifty_viewers=m.gateway_out_per_core // (THRIFTY_RATE * HEADROOM),
        thrifty_rate=THRIFTY_RATE,
        minutes_kept=MINUTES_KEPT,
        kept=kept,
        station_gigabytes=station_gigabytes,
        in_sixteen_gigabytes=int(16 / station_gigabytes),
        all_rate=all_rate,
        venues=math.ceil(STATIONS / VENUE_STATIONS),
        venue_stations=VENUE_STATIONS,
        venue_rate=venue_rate,
        venue_percent=100 * venue_rate / m.ingest_per_core,
        ingest_cores=_cores(venue_rate, m.ingest_per_core),
        shards=_cores(all_rate, m.broker_in_per_core),
        all_gigabytes=STATIONS * station_gigabytes,
        groups=groups,
        viewer_rate=viewer_rate,
        full_rate=full_rate,
        thrifty_all=thrifty_all,
        full_cores=_cores(full_rate, m.gateway_out_per_core),
        thrifty_cores=thrifty_cores,
        full_gigabits=gigabits_a_frame * FRAMES_PER_SECOND,
        thrifty_gigabits=gigabits_a_frame * THRIFTY_RATE,
        each_group=each_group,
        broker_reads=broker_reads,
        broker_read_cores=_cores(broker_reads, m.broker_out_per_core),
    )


def write(measured: Measured, machine: str) -> None:
    """Writes the page."""
    PAGE.write_text(page(measured, machine), encoding="utf-8")
