"""Situations in the frames of games: actions of players, with places and percents, in order and within a time."""

from slpstream.search.situations.live import LiveSituations
from slpstream.search.situations.messages import frame_of, setup_of
from slpstream.search.situations.parser import described, parse, parsed, shown
from slpstream.search.situations.query import Query
from slpstream.search.situations.steps import Occurrence

__all__ = ["LiveSituations", "Occurrence", "Query", "described", "frame_of", "parse", "parsed", "setup_of", "shown"]
