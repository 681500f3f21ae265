"""Spread periodic work out over time, so that it doesn't all happen at the same moment."""

from __future__ import annotations

import math
import zlib


def phase_of(name: str) -> float:
    """Return an offset in [0, 1), as a fraction of the period. For the same name, you always get the same offset."""
    return zlib.crc32(name.encode("utf-8", "surrogateescape")) / 2**32


def next_moment(name: str, period_seconds: float, now: float) -> float:
    """Return the next moment after `now` at which the work of `name` is due, on any clock."""
    phase = phase_of(name)
    return (math.floor(now / period_seconds - phase) + 1 + phase) * period_seconds
