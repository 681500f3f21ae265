"""Everything that is expensive for a daemon at once: a live game on another station loses nothing and is not held up.

`python -m tests.bench fairness` measures the delays; the bounds here are loose, because other tests run meanwhile.
"""

from __future__ import annotations

import sys

import pytest

from tests.bench.fairness import ALL_CLIENTS, interfere

MAX_MILLISECONDS = 500

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the clients use epoll, and CPU time is in /proc"),
]


def test_live_game_is_not_held_up() -> None:
    measured, health_milliseconds = interfere(
        ALL_CLIENTS, seconds=5.0, old_games=3000, long_game_frames=3600, hole=True
    )
    assert measured.missed == 0
    assert measured.lagged == 0
    assert measured.quantile(0.99) < MAX_MILLISECONDS
    assert health_milliseconds[int(0.99 * len(health_milliseconds))] < MAX_MILLISECONDS
