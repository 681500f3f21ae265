"""Spread periodic work so that it does not run in lockstep."""

from __future__ import annotations

import zlib


def phase_of(name: str) -> float:
    """Return a deterministic per-name offset in [0, 1), as a fraction of the period."""
    return zlib.crc32(name.encode("utf-8", "surrogateescape")) / 2**32
