"""A set between Vixen and Altea at 1-1, whose third game is being played."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.synthetic.match import synthetic_match


def write_unfinished_set(folder: Path) -> None:
    """Write the three games, two of which ended minutes ago."""
    for number, (seed, minutes_ago) in enumerate(((6, 10), (3, 6), (4, 0))):
        path = folder / f"Game_{number}.slp"
        ended = minutes_ago > 0
        path.write_bytes(synthetic_match(seed=seed, stocks=1, ended=ended, frames=None if ended else 900))
        if ended:
            at = time.time() - 60 * minutes_ago
            os.utime(path, (at, at))
