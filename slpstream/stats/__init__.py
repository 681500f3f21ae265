"""All Melee stats, live and pure: one computer a module, fed with final frames."""

from slpstream.stats.game import SlippiStats

__all__ = ["SlippiStats"]
