"""The stats of Melee games, which are computed from final frames.

Each module contains one computer, and none of them does I/O.
"""

from slpstream.formats.slippi.stats.game import SlippiStats

__all__ = ["SlippiStats"]
