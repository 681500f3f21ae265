"""The desk of a bracket.

- `desk` reads the bracket, matches what is played, and reports
- `entries` is its queue, in memory and on the disk
- `known_bracket` is the bracket as it was read last
- `chores` lists the changes that the desk makes by itself
- `wishes` is its configured behaviour
"""

from slpstream.tournament.bracket.desk.desk import BracketDesk, StationSet, Surroundings
from slpstream.tournament.bracket.desk.wishes import Wishes

__all__ = ["BracketDesk", "StationSet", "Surroundings", "Wishes"]
