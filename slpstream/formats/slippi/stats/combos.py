"""Combos, which are hits on a player with less than 45 frames outside of hitstun, grabs, knockdowns and techs in
between.

We use a counter for this. It is 0 while the player is damaged, grabbed, down, teching or dying, and grows in all other
frames.
"""

from __future__ import annotations

from slpstream.formats.slippi.stats.punishes import Punishes
from slpstream.formats.slippi.stats.schema import Combo


class Combos(Punishes[Combo]):
    """The combos on one player."""

    __slots__ = ()

    entry_type = Combo
