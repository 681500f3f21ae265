"""The desk of a bracket. `desk` reads, matches and reports. `entries` are its queue, in memory as on the disk,
`known_bracket` is what was read, and `chores` says what to change in a bracket without anybody's click.
"""

from slpstream.tournament.bracket.desk.desk import BracketDesk, StationSet, Surroundings
from slpstream.tournament.bracket.desk.wishes import Wishes

__all__ = ["BracketDesk", "StationSet", "Surroundings", "Wishes"]
