"""The pacing of a game's frames, measured on arrival."""

from __future__ import annotations

import pytest

from slpstream.daemon.station.frame_pacing import FramePacing
from slpstream.model.setup import Pacing

FRAME = 1 / 60


def measured(*deliveries: tuple[int, float]) -> Pacing:
    """The pacing of deliveries, each given as number of frames and seconds since the previous one."""
    pacing, at = FramePacing(FRAME), 100.0
    pacing.arrived(1, at)
    for frames, seconds in deliveries:
        at += seconds
        pacing.arrived(frames, at)
    found = pacing.measured()
    assert found is not None
    return found


@pytest.mark.parametrize("frames", [1, 5, 30])
def test_even_frames_however_they_are_delivered(frames: int) -> None:
    assert measured(*[(frames, frames * FRAME)] * 100) == Pacing(
        frames_per_second=60.0, stutters=0, late_milliseconds=0, seconds=round(100 * frames * FRAME, 1)
    )


def test_late_frames_are_stutters() -> None:
    even = [(1, FRAME)] * 195
    found = measured(*even, *[(1, FRAME + 0.102)] * 5)
    assert found.stutters == 5
    assert found.late_milliseconds == 100
    assert found.frames_per_second < 60


def test_bursts_slow_setups_and_pauses_are_not_stutters() -> None:
    bursts, slow = measured(*[(4, 0.085), (6, 0.085)] * 100), measured(*[(1, 1 / 55)] * 600)
    assert (bursts.stutters, round(bursts.frames_per_second)) == (0, 59)
    assert slow.frames_per_second == 55.0
    paused = measured(*[(1, FRAME)] * 60, (1, 30.0), *[(1, FRAME)] * 60)
    assert paused == measured(*[(1, FRAME)] * 120)
    pacing = FramePacing(FRAME)
    assert pacing.measured() is None
    pacing.arrived(3, 1.0)
    assert pacing.measured() is None, "not before the second delivery"
