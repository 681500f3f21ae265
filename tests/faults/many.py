"""Faults of many files at once and of unusual file names."""

from __future__ import annotations

from pathlib import Path

from tests.faults.scene import Outcome, Scene, log_lines
from tests.synthetic.match import synthetic_match

_NAMES = (
    b"Game_%d_\xff\xfe.slp",
    b"Game_%d_\xe9t\xe9.slp",
    "Game_%d_対戦.slp".encode(),
    b"Game %d \n\t.slp",
    b"Game_%d_" + b"x" * 236 + b".slp",
)
_SEED_OFFSET = 0x13D
_FRAMES = 30


def names(folder: Path, times: int) -> Outcome:
    """File names that are not UTF-8, contain line feeds, or have the maximum length."""
    with Scene(folder) as scene:
        for n in range(times):
            scene.play(scene.game(name=_NAMES[n % len(_NAMES)] % n))
        return scene.outcome(times)


def at_once(folder: Path, times: int) -> Outcome:
    """`times` finished games are copied into the folder at once; the daemon may have 128 file descriptors."""
    with Scene(folder, open_files=128) as scene:
        data = bytearray(synthetic_match(seed=6, frames=_FRAMES))
        seed_offset = data.index(b"\x36") + _SEED_OFFSET
        expected: list[bytes] = []
        for number in range(times):
            data[seed_offset : seed_offset + 4] = number.to_bytes(4, "big")
            (scene.folder / f"Game_{number:05}.slp").write_bytes(data)
            expected += log_lines(bytes(data))
        scene.expect_in_any_order(expected)
        return scene.outcome(times)
