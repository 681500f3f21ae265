"""Faults of many simultaneous files and of unusual file names."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from slpstream.formats.slippi.edited import as_another_game
from tests.faults.scene import Outcome, Scene, log_lines
from tests.synthetic.match import synthetic_match

_NAMES = (
    b"Game_%d_\xff\xfe.slp",
    b"Game_%d_\xe9t\xe9.slp",
    "Game_%d_対戦.slp".encode(),
    b"Game %d \n\t.slp",
    b"Game_%d_" + b"x" * 236 + b".slp",
)
_FRAMES = 30


def names(folder: Path, times: int) -> Outcome:
    """File names that are not UTF-8, contain line feeds, or have the maximum length."""
    with Scene(folder) as scene:
        for n in range(times):
            scene.play(scene.game(name=_NAMES[n % len(_NAMES)] % n))
        return scene.outcome(times)


def at_once(folder: Path, times: int) -> Outcome:
    """`times` finished games are copied into the folder together; the daemon is limited to 128 file descriptors."""
    with Scene(folder, open_files=128) as scene:
        match, started_at = synthetic_match(seed=6, frames=_FRAMES), datetime(2026, 3, 14, tzinfo=UTC)
        expected: list[bytes] = []
        for number in range(times):
            data = as_another_game(match, random_seed=number, started_at=started_at)
            (scene.folder / f"Game_{number:05}.slp").write_bytes(data)
            expected += log_lines(data)
        scene.expect_in_any_order(expected)
        return scene.outcome(times)
