"""Spread periodic work out over time, so that it doesn't all happen at the same moment."""

from __future__ import annotations

import zlib


def phase_of(name: str) -> float:
    """Return an offset in [0, 1), as a fraction of the period. For the same name, you always get the same offset."""
    return zlib.crc32(name.encode("utf-8", "surrogateescape")) / 2**32
