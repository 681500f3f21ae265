"""Size targets, on real replays. Sizes are exact; the benchmark `replay_log` measures speed."""

from __future__ import annotations

import pytest

from slpstream.formats.slplog.writer import pack
from tests.bench.replay_log import (
    INPUT_TARGET,
    RATIO_TARGET,
    REAL_GX,
    REAL_STUNTS,
    gx_bytes_a_frame,
    stunts_bytes_a_frame,
    zstd,
)
from tests.formats.slplog.input_tracks import MELEE_PAD, melee_pads, pack_track
from tests.replays import SHARED, needs_shared, replay

pytestmark = needs_shared

GAMES = ("v3.18", "netplay", "homeRun_jp", "unranked_game2", "dash_back", "test")
"""Games of various versions and lengths, including those with the worst ratios in the benchmark."""


@pytest.mark.parametrize("name", GAMES)
def test_log_takes_at_most_nine_tenths_of_zstd_19(name: str) -> None:
    data, size_of = replay(name), zstd()
    assert size_of is not None, "zstandard is not installed"
    assert len(pack(data, "slippi", f"{name}.slp")) <= RATIO_TARGET * size_of(data)


@pytest.mark.parametrize("name", REAL_GX)
def test_gx_inputs(name: str) -> None:
    assert gx_bytes_a_frame(SHARED / "gci" / name) <= INPUT_TARGET


@pytest.mark.parametrize("name", REAL_STUNTS)
def test_stunts_inputs(name: str) -> None:
    assert stunts_bytes_a_frame(SHARED / "stunts" / name) <= INPUT_TARGET


def test_inputs_alone_of_five_minutes_of_melee() -> None:
    pads = melee_pads(replay("v2.0"))
    assert len(pads) == 2
    bytes_a_frame = sum(len(pack_track(MELEE_PAD, runs)) / sum(run.frames for run in runs) for runs in pads.values())
    assert bytes_a_frame * 18_000 <= 150_000
