"""How much a situation changes the odds, for queries with `swing:`."""

from __future__ import annotations

from collections.abc import Collection

from slpstream.model.occurrence import Occurrence
from slpstream.parts.services import Span, Swing
from slpstream.parts.situations.search.query import Bound


def span_of(occurrence: Occurrence, dying: Collection[int]) -> Span:
    """Return the part of the game in which a situation changes the odds of the player.

    `dying` contains those who are dying in the frame in which it's known.
    """
    return Span(occurrence.player_index, occurrence.frames[0], occurrence.known_frame, dying)


def is_within(bound: Bound, swing: Swing | None) -> bool:
    """Whether a swing is as large as wanted. No swing at all never is."""
    if swing is None:
        return False
    points = round(100 * swing.gained, 2)
    low, high = bound.low, bound.high
    if low is not None and not (low < points or (bound.low_included and low == points)):
        return False
    return high is None or points < high or (bound.high_included and points == high)
