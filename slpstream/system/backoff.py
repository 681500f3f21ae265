"""How long to wait before something that has failed is tried again."""

from __future__ import annotations

from typing import Final

MAX_PAUSE_SECONDS: Final = 60.0
_MAX_DOUBLINGS: Final = 20
"""More are not needed to reach the longest pause, and a thousand would be too large a number for a float."""


def backoff_seconds(failures: int, first_seconds: float) -> float:
    """The pause after this many failures in a row, at least one. It doubles with each of them, up to a minute."""
    doublings: int = min(failures - 1, _MAX_DOUBLINGS)
    return min(first_seconds * (1 << doublings), MAX_PAUSE_SECONDS)
