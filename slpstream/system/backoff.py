"""Exponential backoff, which tells you how long to wait before you retry something that has failed."""

from __future__ import annotations

from typing import Final

MAX_PAUSE_SECONDS: Final = 60.0
_MAX_DOUBLINGS: Final = 20
"""Enough to reach the longest pause. A thousand doublings would overflow a float."""


def backoff_seconds(failures: int, first_seconds: float) -> float:
    """Return how long to wait after this many failures in a row, which must be at least one.

    The pause doubles each time, up to a minute.
    """
    doublings: int = min(failures - 1, _MAX_DOUBLINGS)
    return min(first_seconds * (1 << doublings), MAX_PAUSE_SECONDS)
