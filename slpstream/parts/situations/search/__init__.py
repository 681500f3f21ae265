"""Situations in the frames of games.

A situation consists of actions of players, with places and percents, which happen in order and within a certain time.
"""

from slpstream.parts.situations.search.live import LiveSituations
from slpstream.parts.situations.search.messages import frame_of, setup_of
from slpstream.parts.situations.search.parser import described, parse, parsed, shown
from slpstream.parts.situations.search.query import Query
from slpstream.parts.situations.search.swings import is_within, span_of

__all__ = [
    "LiveSituations",
    "Query",
    "described",
    "frame_of",
    "is_within",
    "parse",
    "parsed",
    "setup_of",
    "shown",
    "span_of",
]
