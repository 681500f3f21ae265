"""Stats of Melee games, computed from final frames. Each module has one computer. Pure."""

from slpstream.stats.game import SlippiStats

__all__ = ["SlippiStats"]
