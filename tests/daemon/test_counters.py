"""Stations measure the latency of the oldest frame of a read, not of the newest."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from slpstream.daemon.station.counters import StationCounters
from slpstream.sources.tail.events import TailedFile
from slpstream.sources.tail.identity import FileIdentity

pytestmark = pytest.mark.trio
NOW = 1_000_000.0
"""Unix time."""


@pytest.fixture(autouse=True)
def stopped_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slpstream.daemon.station.counters.time", SimpleNamespace(time=lambda: NOW))


def delay_seconds(
    frames: int, *, modified_seconds: float, previously_seconds: float, unchanged_seconds: float
) -> float:
    """The measured delay; all arguments except the first are ages."""
    counted: list[float] = []
    metrics: Any = SimpleNamespace(
        publish_seconds=SimpleNamespace(observe=counted.extend),
        frames=SimpleNamespace(inc=lambda count: None),
        bytes=None,
        rollback_frames=None,
    )
    file = TailedFile(Path("a.slp"), FileIdentity(1, 1), 100, round((NOW - modified_seconds) * 1e9))
    file.previous_mtime_ns = round((NOW - previously_seconds) * 1e9)
    file.unchanged_at = trio.current_time() - unchanged_seconds
    context: Any = SimpleNamespace(metrics=metrics, folder=Path())
    counters = StationCounters(context)
    batch: Any = SimpleNamespace(notable=(), end=None, frames=frames, resent_frames=0)
    followed: Any = SimpleNamespace(file=file, game=None)
    counters.count(followed, batch)
    counters.flush(())
    [delay] = counted
    return delay


@pytest.mark.parametrize(
    ("frames", "modified", "previously", "unchanged", "expected"),
    [
        (1, 0.001, 0.017, 0.016, 0.001),
        (1, 0.5, 0.517, 0.516, 0.5),
        (30, 0.01, 0.51, 0.6, 0.01 + 0.5 * 29 / 30),  # half a second of frames, read together
        (30, 0.01, 5.0, 0.11, 0.01 + 0.1 * 29 / 30),  # they appeared in the last tenth of a second
        (30, 0.01, 5.0, 0.005, 0.01),  # the clock was changed
        (2, 0.02, 60.0, math.inf, 0.02),  # the first read of a file
        (1, 3600.0, 3600.0, 0.004, 0.004),  # the modification time does not move
        (1, 3600.0, 3600.0, math.inf, 3600.0),
    ],
)
async def test_oldest_frame_counts(
    frames: int, modified: float, previously: float, unchanged: float, expected: float, autojump_clock: object
) -> None:
    counted = delay_seconds(
        frames, modified_seconds=modified, previously_seconds=previously, unchanged_seconds=unchanged
    )
    assert counted == pytest.approx(expected, abs=1e-5)
