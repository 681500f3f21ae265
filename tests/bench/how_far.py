"""Write the section about several machines of the page `docs/reference/figures.md` from measured figures.

`python -m tests.bench fanout --write` measures and writes it. A test rebuilds the section from its figures, so that all
other numbers follow from them.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

from tests.project import ROOT

TEMPLATE = Path(__file__).with_suffix(".md")
PAGE = ROOT / "docs" / "reference" / "figures.md"
HEADING = "## Several machines\n"
"""The first line of the section, which is the last one of the page."""

STATIONS = 10_000
VIEWERS = 1_000_000
FRAMES_PER_SECOND = 60
LIVE_PER_FRAME, FINALIZED_PER_FRAME = 2, 1
"""Messages per frame: `frame` and `finalized` in the live log, and the final frame in the finalized log. All other
messages together are less than one percent."""
VENUE_STATIONS = 32
MINUTES_KEPT = 14
REDUCED_RATE = 30
HEADROOM = 2
"""Each part is planned with at most half of its measured capacity."""


class Measured(NamedTuple):
    """The figures of the benchmark. Rates are messages per second; `per_core` are messages per second of CPU time."""

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
"""The figures of the last run of the benchmark in this process."""

LABELS = (
    "through one ingest into the broker, including decoding, messages/s",
    "through the ingest, messages/s per core",
    "into the broker, messages/s per core",
    "out of the broker, messages/s per core",
    "into a gateway, messages/s per core",
    "out of one gateway to subscribers, messages/s",
    "out of the gateway, messages/s per core",
    "memory of the broker per message, bytes",
    "sent to a viewer per frame, bytes",
    "latency from the file to the subscriber through the broker, p50, ms",
    "latency from the file to the subscriber through the broker, p99, ms",
)
"""The label of each figure in the section."""


def read(text: str) -> tuple[Measured, str]:
    """The figures of a section, and its line about the machine. Raises `ValueError` for a text without them."""
    found = dict(re.findall(r"^\| (.+?) \| ([0-9,.]+) \|$", text, re.MULTILINE))
    machine = re.search(r"^Measured on (.*)$", text, re.MULTILINE)
    if machine is None or any(label not in found for label in LABELS):
        raise ValueError("this section has no figures")
    values = [found[label].replace(",", "") for label in LABELS]
    return Measured(*(float(v) if "." in v else int(v) for v in values)), machine[1]  # type: ignore[arg-type]


def _cores(rate: float, per_core: float) -> int:
    return math.ceil(rate * HEADROOM / per_core)


def section(measured: Measured, machine: str) -> str:
    """The text of the section."""
    m = measured
    station_rate = FRAMES_PER_SECOND * (LIVE_PER_FRAME + FINALIZED_PER_FRAME)
    all_rate, venue_rate = STATIONS * station_rate, VENUE_STATIONS * station_rate
    kept = MINUTES_KEPT * 60 * station_rate
    station_gigabytes = kept * m.bytes_each / 1e9
    gateway_stations = m.gateway_in_per_core // (station_rate * HEADROOM)
    groups = math.ceil(STATIONS / gateway_stations)
    viewer_rate = FRAMES_PER_SECOND * LIVE_PER_FRAME
    full_rate, reduced_all = VIEWERS * viewer_rate, VIEWERS * REDUCED_RATE
    reduced_cores = _cores(reduced_all, m.gateway_out_per_core)
    each_group = math.ceil(reduced_cores / groups)
    broker_reads = all_rate * each_group
    gigabits_per_frame = VIEWERS * m.viewer_bytes_per_frame * 8 / 1e9
    return TEMPLATE.read_text(encoding="utf-8").format(
        m=m,
        rows="\n".join(f"| {label} | {value:,} |" for label, value in zip(LABELS, m, strict=True)),
        machine=machine,
        stations=STATIONS,
        viewers=VIEWERS,
        headroom=HEADROOM,
        frames_per_second=FRAMES_PER_SECOND,
        live_per_frame=LIVE_PER_FRAME,
        finalized_per_frame=FINALIZED_PER_FRAME,
        station_rate=station_rate,
        one_broker=m.broker_in_per_core // (station_rate * HEADROOM),
        gateway_stations=gateway_stations,
        full_viewers=m.gateway_out_per_core // (viewer_rate * HEADROOM),
        reduced_viewers=m.gateway_out_per_core // (REDUCED_RATE * HEADROOM),
        reduced_rate=REDUCED_RATE,
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
        reduced_all=reduced_all,
        full_cores=_cores(full_rate, m.gateway_out_per_core),
        reduced_cores=reduced_cores,
        full_gigabits=gigabits_per_frame * FRAMES_PER_SECOND,
        reduced_gigabits=gigabits_per_frame * REDUCED_RATE,
        each_group=each_group,
        broker_reads=broker_reads,
        broker_read_cores=_cores(broker_reads, m.broker_out_per_core),
    )


def write(measured: Measured, machine: str) -> None:
    """Write the section into the page."""
    others = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    PAGE.write_text(others + section(measured, machine), encoding="utf-8")
