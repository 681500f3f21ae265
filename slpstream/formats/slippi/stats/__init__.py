"""The stats of Melee games, which are computed from final frames.

`GameState` is the state of a game. Most other modules contain one computer, or the rules for a part of the state. None
of them does I/O.
"""

from slpstream.formats.slippi.stats.game import SlippiStats

__all__ = ["SlippiStats"]
