"""The score of a player in a game that takes no stocks."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType


class PlayerScore(msgspec.Struct, rename="camel", gc=False):
    """The falls and KOs of a player."""

    player_index: int
    kos: int
    """Opponents that fell after being hit last by this player."""
    falls: int
    """Lives that ended, self-destructs included."""
    self_destructs: int
    score: int | UnsetType = UNSET
    """Absent in modes other than time mode, whose scores no replay has."""
