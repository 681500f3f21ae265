"""Damage without a hit: the causes that raise the percent of a fighter without an attack."""

from __future__ import annotations

HURT_THEMSELVES = frozenset({23, 24, 26})
"""Internal character ids of Pichu, Mr. Game & Watch and Roy."""


def is_magnifying_glass(damage: float) -> bool:
    """Whether damage without hitstun is that of the magnifying glass: 1 %, within the precision of a replay."""
    return abs(damage - 1.0) < 1e-4
