"""Damage that isn't caused by a hit, but by something else that raises the percent of a fighter."""

from __future__ import annotations

HURT_THEMSELVES = frozenset({23, 24, 26})
"""Internal character ids of Pichu, Mr. Game & Watch and Roy."""


def is_magnifying_glass(damage: float) -> bool:
    """Whether damage without hitstun comes from the magnifying glass, which is the case if it is 1 % (within the
    precision of a replay).
    """
    return abs(damage - 1.0) < 1e-4
