"""Size targets. Sizes are exact; the benchmark `replay_log` measures speed."""

from __future__ import annotations

from pathlib import Path

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
from tests.formats.slplog.logs import synthetic
from tests.replays import SHARED, SLP

GAMES = ("v3.18", "netplay", "homeRun_jp", "unranked_game2", "dash_back", "test")
"""Games of various versions and lengths, including those with the worst ratios in the benchmark."""


def existing(folder: Path, names: tuple[str, ...]) -> list[Path]:
    return [path for path in (folder / name for name in names) if path.is_file()]


@pytest.mark.parametrize("path", [None, *existing(SLP, tuple(f"{name}.slp" for name in GAMES))])
def test_log_takes_at_most_nine_tenths_of_zstd_19(path: Path | None) -> None:
    data, size_of = synthetic() if path is None else path.read_bytes(), zstd()
    assert size_of is not None, "zstandard is not installed"
    assert len(pack(data, "slippi", "Game_1.slp")) <= RATIO_TARGET * size_of(data)


def test_inputs_take_two_bytes_a_frame() -> None:
    for path in existing(SHARED / "gci", REAL_GX):
        assert gx_bytes_a_frame(path) <= INPUT_TARGET
    for path in existing(SHARED / "stunts", REAL_STUNTS):
        assert stunts_bytes_a_frame(path) <= INPUT_TARGET
