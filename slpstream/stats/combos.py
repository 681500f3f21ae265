"""Combos: hits that leave the player no 45 frames out of hitstun, grabs, knockdowns and techs.

The counter is 0 while the player is damaged, grabbed, down, teching or dying, and grows in every other frame.
"""

from __future__ import annotations

from slpstream.stats.punishes import Punishes
from slpstream.stats.schema import Combo


class Combos(Punishes[Combo]):
    """Combos on one player."""

    __slots__ = ()

    shape = Combo
