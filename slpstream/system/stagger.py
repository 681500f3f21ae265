"""Many of a kind that each do something every few seconds must not do it at the same moment."""

from __future__ import annotations

import zlib


def phase_of(name: str) -> float:
    """A share of a period, from 0 to below 1: of each name another one, of the same always the same."""
    return zlib.crc32(name.encode("utf-8", "surrogateescape")) / 2**32
