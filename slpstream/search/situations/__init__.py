"""Situations: who does what, where and at which percent, in order and within a time, found in the frames of games."""

from slpstream.search.situations.live import LiveSituations
from slpstream.search.situations.messages import frame_of, setup_of
from slpstream.search.situations.parser import described, parse, parsed, shown
from slpstream.search.situations.query import Query
from slpstream.search.situations.steps import Occurrence

__all__ = ["LiveSituations", "Occurrence", "Query", "described", "frame_of", "parse", "parsed", "setup_of", "shown"]
